/** A stream replica's end of the feed. */

import type { Redis } from 'ioredis';
import { WANTED } from './keys.ts';
import { readMessage } from './message.ts';
import { openSubscription } from './subscription.ts';

/** A tick that is this far behind is no late one: the count began anew in another Redis. */
const COUNT_BEGAN_ANEW_TICKS = 30;

export interface Follower {
  /**
   * Receives the frames of a channel, tick by tick, none twice and none older than the last. The newest come at
   * once, when the snapshot worker is there to send them.
   */
  follow(channel: string, receive: (frames: readonly Buffer[]) => void): void;
  leave(channel: string): void;
  isOpen(): boolean;
  close(): void;
}

/** @param subscriber a connection of its own; both stay the caller's to close */
export function openFollower({ redis, subscriber }: { redis: Redis; subscriber: Redis }): Follower {
  const subscription = openSubscription(subscriber);
  return {
    follow(channel, receive) {
      let lastTick = 0;
      subscription.hear(channel, {
        // The worker is asked for its newest frames, because Redis would flush kept frames to its disk.
        begun: () => void redis.publish(WANTED, channel).catch(() => undefined),
        message(message) {
          const { tick, frames } = readMessage(message);
          if (tick <= lastTick && tick > lastTick - COUNT_BEGAN_ANEW_TICKS) return;
          lastTick = tick;
          receive(frames);
        },
      });
    },
    leave: (channel) => subscription.leave(channel),
    isOpen: () => subscription.isOpen(),
    close: () => subscription.close(),
  };
}
