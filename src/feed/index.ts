/**
 * Carries frames from the snapshot worker to every stream replica, by pub/sub of the queue's Redis. Redis writes none of
 * them to disk. A broken connection loses the frames of that time.
 */

export { type Follower, openFollower } from './follower.ts';
export { GENERAL, type MarketView, marketChannel, viewOf } from './keys.ts';
export { writeMessage } from './message.ts';
export { openPublisher, type Publisher } from './publisher.ts';
export { framesAgeMs, type TickClaim } from './ticks.ts';
