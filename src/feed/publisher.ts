/** The feed in the snapshot worker: publishes frames. */

import type { Redis } from 'ioredis';
import { type BeatClaim, claimBeat, framesAgeMs, notePublished } from './beats.ts';
import { ANY_MARKET, type MarketView, viewOf, WANTED } from './keys.ts';
import { openSubscription, type Subscription } from './subscription.ts';

export interface Publisher {
  claim(): Promise<BeatClaim>;
  /** Returns the market views that some replica follows. Redis tracks the subscribers, so dead replicas drop out. */
  watched(): Promise<MarketView[]>;
  publish(channel: string, message: string): Promise<void>;
  /** Records that the frames of a claimed beat are published. */
  finish(claim: BeatClaim): Promise<void>;
  ageMs(): Promise<number | null>;
  /** Calls `answer` with each channel that a replica starts to follow. */
  onWanted(answer: (channel: string) => void): void;
  close(): void;
}

/** @param subscriber a connection used for nothing else; the caller must close both connections */
export function openPublisher({ redis, subscriber }: { redis: Redis; subscriber: Redis }): Publisher {
  const subscription: Subscription = openSubscription(subscriber);
  return {
    claim: () => claimBeat(redis),
    async watched() {
      const channels = (await redis.pubsub('CHANNELS', ANY_MARKET)) as string[];
      return channels.map(viewOf).filter((view) => view !== undefined);
    },
    async publish(channel, message) {
      await redis.publish(channel, message);
    },
    finish: (claim) => notePublished(redis, claim),
    ageMs: () => framesAgeMs(redis),
    onWanted: (answer) => subscription.hear(WANTED, { message: (channel) => answer(channel.toString()) }),
    close: () => subscription.close(),
  };
}
