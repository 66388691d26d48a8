/** A `fetch` with injected faults, between a client and the model of the service. */

import type { Fetch } from '../../src/client/index.ts';
import type { Fate, FateKind } from './fates.ts';
import type { OrderRoute, RouteAnswer, RouteRequest } from './order-route.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** An order or a look-up, as the network recorded it. */
export interface Sighting {
  readonly atMs: number;
  readonly request: RouteRequest;
  readonly fate: FateKind;
  /** Undefined if no answer reached the client. */
  answeredStatus?: number;
}

export class FaultyNetwork {
  readonly sightings: Sighting[] = [];
  readonly #clock: VirtualClock;
  readonly #route: OrderRoute;
  readonly #fateOf: (request: RouteRequest) => Fate;
  /** The second copy of an answer that is delivered twice. The next request receives it. */
  #leftOver: RouteAnswer | undefined;

  constructor(clock: VirtualClock, route: OrderRoute, fateOf: (request: RouteRequest) => Fate) {
    this.#clock = clock;
    this.#route = route;
    this.#fateOf = fateOf;
  }

  readonly fetch: Fetch = async (url, init) => {
    const request: RouteRequest = {
      method: init.method,
      path: new URL(url).pathname,
      body: init.body,
      token: init.headers.Authorization?.replace('Bearer ', ''),
      requestId: init.headers['X-Request-Id'],
    };
    const fate = this.#fateOf(request);
    const sighting: Sighting = { atMs: this.#clock.now(), request, fate: fate.kind };
    this.sightings.push(sighting);
    const answer = await this.#carry(request, fate);
    sighting.answeredStatus = answer.status;
    return {
      status: answer.status,
      headers: { get: (name) => answer.headers[name] ?? null },
      text: async () => answer.text,
    };
  };

  async #carry(request: RouteRequest, fate: Fate): Promise<RouteAnswer> {
    const left = this.#leftOver;
    this.#leftOver = undefined;
    switch (fate.kind) {
      case 'pass':
        await this.#clock.sleep(fate.delayMs);
        return left === undefined ? this.#route.handle(request) : this.#swap(request, left);
      case 'lose request':
        return never();
      case 'refuse connection':
        throw cut();
      case 'delay request':
        await this.#clock.sleep(fate.delayMs);
        return this.#route.handle(request);
      case 'lose answer':
        this.#route.handle(request);
        return never();
      case 'cut answer':
        this.#route.handle(request);
        throw cut();
      case 'half answer': {
        const whole = this.#route.handle(request);
        return { ...whole, text: whole.text.slice(0, whole.text.length / 2) };
      }
      case 'delay answer': {
        const answer = this.#route.handle(request);
        await this.#clock.sleep(fate.delayMs);
        return answer;
      }
      case 'repeat request':
        this.#route.handle(request);
        await this.#clock.sleep(fate.delayMs);
        return this.#route.handle(request);
      case 'repeat answer':
        this.#leftOver = this.#route.handle(request);
        return this.#leftOver;
      case 'proxy answer':
        if (fate.arrives) this.#route.handle(request);
        return proxyAnswer(fate.status);
      case 'end session':
        this.#route.endSessions();
        return this.#route.handle(request);
    }
  }

  /** Delivers the request, and answers it with the answer to another request. */
  #swap(request: RouteRequest, left: RouteAnswer): RouteAnswer {
    this.#route.handle(request);
    return left;
  }
}

const never = (): Promise<never> => new Promise(() => undefined);

const cut = (): TypeError => new TypeError('fetch failed');

export const proxyAnswer = (status: number): RouteAnswer => ({
  status,
  headers: status === 429 ? { 'Retry-After': '1' } : {},
  text: '<html>a proxy’s own words</html>',
});
