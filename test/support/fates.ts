/** Faults that a request or its answer can meet between a client and the service. */

import type { Random } from './seed.ts';

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

/** The way in which a network carries one request and its answer. */
export interface Way<Answer> {
  /** The service receives the request, with its session or with one that has ended. */
  arrive(hasSession: boolean): Promise<Answer>;
  answer(answer: Answer): void;
  /** The client receives the first half of the answer. */
  half(answer: Answer): void;
  twice(answer: Answer): void;
  /** The client's connection breaks. */
  cut(): void;
  wait(ms: number): Promise<unknown>;
  /** The answer of a proxy. */
  proxied(status: number): Answer;
}

/** Carries a request and its answer as its fate wants it. */
export async function carry<Answer>(fate: Fate, way: Way<Answer>): Promise<void> {
  const arrive = (): Promise<Answer> => way.arrive(true);
  switch (fate.kind) {
    case 'pass':
      return way.answer(await arrive());
    case 'lose request':
      return;
    case 'refuse connection':
      return way.cut();
    case 'delay request':
      await way.wait(fate.delayMs);
      return way.answer(await arrive());
    case 'lose answer':
      return void (await arrive());
    case 'cut answer':
      await arrive();
      return way.cut();
    case 'half answer':
      return way.half(await arrive());
    case 'delay answer': {
      const late = await arrive();
      await way.wait(fate.delayMs);
      return way.answer(late);
    }
    case 'repeat request':
      await arrive();
      await way.wait(fate.delayMs);
      return way.answer(await arrive());
    case 'repeat answer':
      return way.twice(await arrive());
    case 'proxy answer':
      if (fate.arrives) await arrive();
      return way.answer(way.proxied(fate.status));
    case 'end session':
      return way.answer(await way.arrive(false));
  }
}

export const PROXY_TEXT = '<html>a proxy’s own words</html>';
export const proxyHeaders = (status: number): Record<string, string> =>
  status === 429 ? { 'Retry-After': '1' } : {};
