/** The feed in a stream replica: receives frames. */

import type { Redis } from 'ioredis';
import { WANTED } from './keys.ts';
import { readMessage } from './message.ts';
import { openSubscription } from './subscription.ts';

/** A beat this far behind the last one is not late: the beats were restarted in another Redis. */
const COUNT_BEGAN_ANEW_BEATS = 30;

export interface FrameFollower {
  /**
   * Receives the frames of a channel in order of beats, none twice and none older than the last. If a snapshot worker
   * is running, the newest frames arrive at once.
   */
  follow(channel: string, receive: (frames: readonly Buffer[]) => void): void;
  leave(channel: string): void;
  isOpen(): boolean;
  close(): void;
}

/** @param subscriber a connection used for nothing else; the caller must close both connections */
export function openFollower({ redis, subscriber }: { redis: Redis; subscriber: Redis }): FrameFollower {
  const subscription = openSubscription(subscriber);
  return {
    follow(channel, receive) {
      let lastBeat = 0;
      subscription.hear(channel, {
        // The worker resends its newest frames. Frames stored in Redis would be written to its disk.
        begun: () => void redis.publish(WANTED, channel).catch(() => undefined),
        message(bytes) {
          const message = readMessage(bytes);
          if (message === undefined) return;
          const { beat, frames } = message;
          if (beat <= lastBeat && beat > lastBeat - COUNT_BEGAN_ANEW_BEATS) return;
          lastBeat = beat;
          receive(frames);
        },
      });
    },
    leave: (channel) => subscription.leave(channel),
    isOpen: () => subscription.isOpen(),
    close: () => subscription.close(),
  };
}
