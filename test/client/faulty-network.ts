/** A `fetch` with injected faults, between a client and the model of the service. */

import type { Fetch } from '../../src/client/index.ts';
import { carry, type Fate, type FateKind, PROXY_TEXT, proxyHeaders } from '../support/fates.ts';
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
    if (fate.kind === 'pass') {
      await this.#clock.sleep(fate.delayMs);
      return left === undefined ? this.#route.handle(request) : this.#swap(request, left);
    }
    return new Promise((resolve, reject) => {
      const carried = carry<RouteAnswer>(fate, {
        arrive: async (hasSession) => {
          if (!hasSession) this.#route.endSessions();
          return this.#route.handle(request);
        },
        answer: resolve,
        half: (whole) => resolve({ ...whole, text: whole.text.slice(0, whole.text.length / 2) }),
        twice: (answer) => {
          this.#leftOver = answer;
          resolve(answer);
        },
        cut: () => reject(new TypeError('fetch failed')),
        wait: (ms) => this.#clock.sleep(ms),
        proxied: (status) => ({ status, headers: proxyHeaders(status), text: PROXY_TEXT }),
      });
      carried.catch(reject);
    });
  }

  /** Delivers the request, and answers it with the answer to another request. */
  #swap(request: RouteRequest, left: RouteAnswer): RouteAnswer {
    this.#route.handle(request);
    return left;
  }
}
