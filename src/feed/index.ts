/**
 * Carries frames from the snapshot worker to every stream replica, with pub/sub of the queue's Redis. Redis writes no
 * frame to disk. Frames sent while a connection is broken are lost.
 *
 * Uses: redis, domain.
 * Begin at `publisher.ts` for what a beat sends, `follower.ts` for who receives it.
 */

export { type BeatClaim, framesAgeMs } from './beats.ts';
export { type FrameFollower, openFollower } from './follower.ts';
export { GENERAL, type MarketView, marketChannel, viewOf } from './keys.ts';
export { writeMessage } from './message.ts';
export { openPublisher, type Publisher } from './publisher.ts';
