/** A request that passed the checks of its route, as handlers take it. */

import type { Request, Response } from 'express';
import type { RepeatedLines } from '../process/repeated-lines.ts';
import { announceOrders } from './limits/index.ts';
import type { CountOrders, OrderCount } from './limits/order-limit.ts';
import { report } from './middleware/errors.ts';
import { type ReplyState, stateOf } from './response/index.ts';
import type { HistoryReads, Query, WalletCall } from './route.ts';
import type { Services } from './services.ts';
import type { SignIns } from './sign-ins.ts';

/** Parts that all calls of a route share. */
export interface Serving {
  readonly services: Services;
  readonly reads: HistoryReads;
  readonly signIns: SignIns;
  readonly repeated: RepeatedLines;
  readonly countOrders: CountOrders | undefined;
}

const NO_QUERY: Query = Object.freeze({});

/** A class: an object literal with a function of its own costs each request a closure. */
export class ServedCall implements WalletCall {
  readonly services: Services;
  readonly reads: HistoryReads;
  readonly caller: Response;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly wallet: string;
  readonly restricted: boolean;
  readonly body: unknown;
  readonly countOrders: CountOrders | undefined;
  readonly #repeated: RepeatedLines;

  constructor(
    { services, reads, repeated, countOrders }: Serving,
    request: Request,
    response: Response,
    { wallet, restricted, body }: Pick<WalletCall, 'wallet' | 'restricted' | 'body'>,
  ) {
    this.services = services;
    this.reads = reads;
    this.caller = response;
    this.params = request.params as Record<string, string>;
    // Read once: Express parses the query string on each access.
    this.query = request.url.includes('?') ? (request.query as Query) : NO_QUERY;
    this.wallet = wallet;
    this.restricted = restricted;
    this.body = body;
    this.countOrders = countOrders;
    this.#repeated = repeated;
  }

  get clock(): ReplyState {
    return stateOf(this.caller);
  }

  announce(count: OrderCount, isRefused: boolean): void {
    announceOrders(this.caller, count, isRefused);
  }

  report(error: unknown): void {
    report(this.services.logger, this.#repeated, error, this.clock);
  }
}
