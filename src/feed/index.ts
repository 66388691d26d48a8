/**
 * How frames get from the one snapshot worker that builds them to every stream replica: pub/sub of the queue's
 * Redis. Nothing of it is written to disk, and nothing is lost by a break but the frames of that time.
 */

export { type Follower, openFollower } from './follower.ts';
export { GENERAL, type MarketView, marketChannel, viewOf } from './keys.ts';
export { writeMessage } from './message.ts';
export { openPublisher, type Publisher } from './publisher.ts';
export { framesAgeMs, type TickClaim } from './ticks.ts';
