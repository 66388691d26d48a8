/**
 * Carries frames from the snapshot worker to every stream replica, with pub/sub of the queue's Redis. Redis writes no
 * frame to disk. Frames sent while a connection is broken are lost.
 */

export { type BeatClaim, framesAgeMs } from './beats.ts';
export { type FrameFollower, openFollower } from './follower.ts';
export { GENERAL, type MarketView, marketChannel, viewOf } from './keys.ts';
export { writeMessage } from './message.ts';
export { openPublisher, type Publisher } from './publisher.ts';
