/** Fates of a request and its answer between a client and the service. */

import type { Random } from '../support/seed.ts';

export type Fate =
  | { readonly kind: 'pass'; readonly delayMs: number }
  /** It is never heard of again. */
  | { readonly kind: 'lose request' }
  /** The connection fails before the request is on its way. */
  | { readonly kind: 'refuse connection' }
  /** It arrives when nobody waits for the answer any more, or only just. */
  | { readonly kind: 'delay request'; readonly delayMs: number }
  | { readonly kind: 'lose answer' }
  | { readonly kind: 'cut answer' }
  /** The first half of the answer comes, and the end of the connection. */
  | { readonly kind: 'half answer' }
  | { readonly kind: 'delay answer'; readonly delayMs: number }
  /** A proxy misses the answer, sends the request once more, and passes the second answer on. */
  | { readonly kind: 'repeat request'; readonly delayMs: number }
  /** The answer comes twice, the second time in place of the next one. */
  | { readonly kind: 'repeat answer' }
  /** A proxy answers in place of the service. */
  | { readonly kind: 'proxy answer'; readonly status: 408 | 429 | 502 | 503 | 504; readonly arrives: boolean }
  /** The service does not accept the token any more. */
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

/** @param faultiness probability that something goes wrong */
export const drawFate = (random: Random, faultiness: number): Fate =>
  random.chance(faultiness) ? random.pick(FAULTS)(random) : { kind: 'pass', delayMs: random.below(50) };

export const FAULT_COUNT = FAULTS.length;
