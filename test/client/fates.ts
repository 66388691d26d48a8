/** Faults that a request or its answer can meet between a client and the service. */

import type { Random } from '../support/seed.ts';

export type Fate =
  | { readonly kind: 'pass'; readonly delayMs: number }
  /** The request is lost. */
  | { readonly kind: 'lose request' }
  /** The connection fails before the request is sent. */
  | { readonly kind: 'refuse connection' }
  /** The request arrives after the client has stopped waiting, or just before. */
  | { readonly kind: 'delay request'; readonly delayMs: number }
  | { readonly kind: 'lose answer' }
  | { readonly kind: 'cut answer' }
  /** The connection breaks in the middle of the answer. */
  | { readonly kind: 'half answer' }
  | { readonly kind: 'delay answer'; readonly delayMs: number }
  /** A proxy misses the answer, retries the request and forwards the second answer. */
  | { readonly kind: 'repeat request'; readonly delayMs: number }
  /** The answer is delivered twice, the second time in place of the next answer. */
  | { readonly kind: 'repeat answer' }
  /** A proxy answers instead of the service. */
  | { readonly kind: 'proxy answer'; readonly status: 408 | 429 | 502 | 503 | 504; readonly arrives: boolean }
  /** The service no longer accepts the token. */
  | { readonly kind: 'end session' };

export type FateKind = Fate['kind'];

const LATE_MS = 20_000;

const FAULTS: readonly ((random: Random) => Fate)[] = [
  () => ({ kind: 'lose request' }),
  () => ({ kind: 'refuse connection' }),
  (random) => ({ kind: 'delay request', delayMs: random.below(LATE_MS) }),
  () => ({ kind: 'lose answer' }),
  () => ({ kind: 'cut answer' }),
  () => ({ kind: 'half answer' }),
  (random) => ({ kind: 'delay answer', delayMs: random.below(LATE_MS) }),
  (random) => ({ kind: 'repeat request', delayMs: random.below(LATE_MS) }),
  () => ({ kind: 'repeat answer' }),
  () => ({ kind: 'proxy answer', status: 429, arrives: false }),
  (random) => ({
    kind: 'proxy answer',
    status: random.pick([408, 502, 503, 504]),
    arrives: random.chance(0.5),
  }),
  () => ({ kind: 'end session' }),
];

/** @param faultiness probability of a fault */
export const drawFate = (random: Random, faultiness: number): Fate =>
  random.chance(faultiness) ? random.pick(FAULTS)(random) : { kind: 'pass', delayMs: random.below(50) };

export const FAULT_COUNT = FAULTS.length;
