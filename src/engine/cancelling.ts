/** Closes orders: the TypeScript side of `cancel_orders.lua`, used by everything that takes orders off a book. */

import { Refusal } from '../domain/errors.ts';
import type { Market } from '../domain/market.ts';
import type { ClosedOrder } from '../domain/order.ts';
import {
  CANCELLING_CALL,
  CANCELLING_REQUEST,
  CAUSES,
  type Cause,
  CLOSE_OUTCOMES,
} from './cancelling-call.ts';
import { exactNumber, REFERENCE_BYTES, readClosed, readOrderId, walletBytes } from './codec.ts';
import { CommandQueue, Ticket, UNTOUCHED } from './command-queue.ts';
import type { EngineCore } from './core.ts';
import { neverSent } from './failures.ts';
import { marketKeys } from './keys.ts';
import type { EngineMarkets } from './markets.ts';
import { Stale, sequenceIn } from './outcomes.ts';
import type { UntilCopied } from './script-runner.ts';
import { CANCEL_ORDERS, FIND_LIVE_ORDERS } from './scripts.ts';
import { rulesText } from './state.ts';

/** Outcome of cancelling one page of a wallet's live orders. */
export interface CancelledPage {
  readonly closed: readonly ClosedOrder[];
  /** One error for each market whose orders could not be cancelled because a reservation is missing. */
  readonly failures: readonly Error[];
  /** Reference after which the next page begins; null after the last page. */
  readonly next: Buffer | null;
}

/** A page of a wallet's live orders. */
interface LivePage {
  /** Stamp of the last event when the page was read. */
  readonly stamp: Buffer;
  readonly references: readonly Buffer[];
  /** Like that of `CancelledPage`. */
  readonly next: Buffer | null;
}

/** Outcome of one request. */
interface Outcome {
  readonly bytes: Buffer;
  readonly untilCopied: UntilCopied | undefined;
}

/** Wallet and market whose orders are closed; null: any. */
interface Scope {
  readonly wallet: string | null;
  readonly symbol: string | null;
}

/** Maximum orders of one request and of one page. Scripts run alone, so each must stay short. */
const CANCELS_TOGETHER = 100;
/** Number of named orders after which a call begins no further request. */
const MAX_ORDERS_OF_CALL = 200;
/** Offset of epoch and sequence in a reference. */
const STAMP_AT = 9;
/** Offset of the closed records in an outcome, after its code and the sequence. */
const RECORDS_AT = 7;
const ANY_WALLET = Buffer.alloc(20);
/** Bytes of a request that names no order. */
const EMPTY_REQUEST_BYTES = CANCELLING_REQUEST.pack({
  any: 1,
  owner: ANY_WALLET,
  cause: 0,
  references: Buffer.alloc(0),
}).length;
/** Stands for operators among the wallets that take turns. */
const OPERATORS = '';

export class OrderCancels {
  readonly #core: EngineCore;
  readonly #markets: EngineMarkets;
  readonly #queue: CommandQueue<Buffer, Outcome>;
  readonly #refreshMarkets = async (): Promise<void> => void (await this.#markets.refresh());

  constructor(core: EngineCore, markets: EngineMarkets) {
    this.#core = core;
    this.#queue = new CommandQueue({
      run: (market, requests) => this.#call(market, requests),
      late: neverSent,
      // A request costs a turn for each order that it names.
      cost: (request) => (request.length - EMPTY_REQUEST_BYTES) / REFERENCE_BYTES - 1,
      here: core.here,
      patienceMs: core.patienceMs,
    });
    this.#markets = markets;
  }

  /**
   * Closes one order.
   * @throws Refusal ORDER_NOT_FOUND when the id names no live order of the wallet (null: of any wallet)
   */
  async closeOne(wallet: string | null, orderId: string, cause: Cause): Promise<ClosedOrder> {
    const reference = readOrderId(orderId);
    if (reference === undefined) throw new Refusal('ORDER_NOT_FOUND');
    const { marketNumber, bytes } = reference;
    const [closed] = await this.#closeTogether({ wallet, symbol: null }, cause, marketNumber, bytes);
    if (closed === undefined) throw new Refusal('ORDER_NOT_FOUND');
    return closed;
  }

  /**
   * Cancels named orders of a wallet: those of one market as one change. Ids that name no live order of the wallet are
   * left out.
   */
  async cancelNamed(wallet: string, orderIds: readonly string[]): Promise<ClosedOrder[]> {
    const references = [...new Set(orderIds)].flatMap((id) => readOrderId(id)?.bytes ?? []);
    const closed: ClosedOrder[] = [];
    for (const [number, group] of byMarketNumber(references))
      closed.push(...(await this.close({ wallet, symbol: null }, 'user_cancelled', number, group)));
    return closed;
  }

  /** Closes the orders of a wallet that are live when the call starts, in one market or in all (null). */
  async closeAll(wallet: string, symbol: string | null, cause: Cause): Promise<ClosedOrder[]> {
    const market = symbol === null ? null : await this.#markets.bySymbol(symbol);
    if (market === undefined) return [];
    const closed: ClosedOrder[] = [];
    let newest: Buffer | undefined;
    for await (const page of this.#livePages(wallet, market?.number ?? null)) {
      newest ??= page.stamp;
      for (const [number, references] of byMarketNumber(upTo(newest, page.references)))
        closed.push(...(await this.close({ wallet, symbol }, cause, number, references)));
    }
    return closed;
  }

  /**
   * Cancels the orders of one page of a wallet's live orders that are not newer than a stamp. A market that fails does
   * not stop the others.
   * @param newest stamp of the newest order that is cancelled
   */
  async cancelPage(wallet: string, newest: Buffer, after: Buffer | null): Promise<CancelledPage> {
    const { references, next } = await this.#livePage(wallet, null, after);
    const closed: ClosedOrder[] = [];
    const failures: Error[] = [];
    for (const [number, group] of byMarketNumber(upTo(newest, references))) {
      try {
        closed.push(...(await this.close({ wallet, symbol: null }, 'cancel_after', number, group)));
      } catch (error) {
        if (error instanceof Refusal || !(error instanceof Error)) throw error;
        failures.push(error);
      }
    }
    return { closed, failures, next };
  }

  /** Returns the number of live orders of a wallet. */
  async countLive(wallet: string): Promise<number> {
    let count = 0;
    for await (const { references } of this.#livePages(wallet, null)) count += references.length;
    return count;
  }

  /** Reads all pages of a wallet's live orders, one after the other. */
  async *#livePages(wallet: string, marketNumber: number | null): AsyncGenerator<LivePage> {
    let after: Buffer | null = null;
    do {
      const page: LivePage = await this.#livePage(wallet, marketNumber, after);
      yield page;
      after = page.next;
    } while (after !== null);
  }

  /** Reads a page of a wallet's live orders, in one market or in all (null). */
  async #livePage(wallet: string, marketNumber: number | null, after: Buffer | null): Promise<LivePage> {
    const { stamp, references } = await this.#core.whileCurrent(() =>
      this.#core.scripts.run(FIND_LIVE_ORDERS, {
        epoch: this.#core.lifecycle.epoch,
        minSequence: this.#core.lifecycle.minSequence,
        wallet: walletBytes(wallet),
        marketNumber: marketNumber ?? '',
        after: after ?? '',
        count: CANCELS_TOGETHER,
      }),
    );
    const page = splitReferences(references);
    return { stamp, references: page, next: page.length < CANCELS_TOGETHER ? null : page.at(-1)! };
  }

  /** Takes orders of one market off the book. Skips orders that are not live or not in the scope. */
  async close(
    scope: Scope,
    cause: Cause,
    marketNumber: number,
    references: readonly Buffer[],
  ): Promise<ClosedOrder[]> {
    const closed: ClosedOrder[] = [];
    for (let at = 0; at < references.length; at += CANCELS_TOGETHER) {
      const together = Buffer.concat(references.slice(at, at + CANCELS_TOGETHER));
      closed.push(...(await this.#closeTogether(scope, cause, marketNumber, together)));
    }
    return closed;
  }

  #closeTogether(
    scope: Scope,
    cause: Cause,
    marketNumber: number,
    references: Buffer,
  ): Promise<ClosedOrder[]> {
    const ticket = new Ticket(scope.wallet ?? OPERATORS);
    return this.#core.whileCurrent(
      () => this.#closeOnce(scope, cause, marketNumber, references, ticket),
      this.#refreshMarkets,
    );
  }

  #marketOf(number: number): Promise<Market | undefined> {
    return this.#core.lifecycle.ofOpenEngine(
      () => this.#markets.byNumber(number),
      (found) => found === undefined,
    );
  }

  async #closeOnce(
    { wallet, symbol }: Scope,
    cause: Cause,
    marketNumber: number,
    references: Buffer,
    ticket: Ticket,
  ): Promise<ClosedOrder[] | Stale> {
    const market = this.#markets.knownByNumber(marketNumber) ?? (await this.#marketOf(marketNumber));
    if (market === undefined || (symbol ?? market.symbol) !== market.symbol) return [];
    const request = CANCELLING_REQUEST.pack({
      any: wallet === null ? 1 : 0,
      owner: wallet === null ? ANY_WALLET : walletBytes(wallet),
      cause: CAUSES.indexOf(cause),
      references,
    });
    const { bytes: outcome, untilCopied } = await this.#queue.add(market, request, ticket);
    if (untilCopied !== undefined && outcome[0] !== CLOSE_OUTCOMES.stale) await untilCopied();
    switch (outcome[0]) {
      case CLOSE_OUTCOMES.closed:
        return readClosed(outcome.subarray(RECORDS_AT), () => market, cause);
      case CLOSE_OUTCOMES.stale:
        return new Stale(outcome.toString('utf8', 1));
      case CLOSE_OUTCOMES.corrupt:
        throw new Error(
          `a reservation of ${market.symbol} is missing: nothing was cancelled; reconcile the ledger`,
        );
      default:
        throw this.#core.scripts.failureOf('cancel_orders', outcome.toString('utf8', 1));
    }
  }

  async #call(market: Market, requests: Buffer[]): Promise<(Outcome | typeof UNTOUCHED)[]> {
    const { epoch, minSequence, tenure } = this.#core.lifecycle;
    const call = CANCELLING_CALL.pack({
      epoch,
      minSequence,
      marketNumber: market.number,
      basePerStep: exactNumber(market.baseAtomsPerStep),
      quotePerLot: exactNumber(market.quoteAtomsPerLot),
      maxOrders: MAX_ORDERS_OF_CALL,
      rules: rulesText(market),
    });
    const input = { ...marketKeys(market), call, requests };
    const { reply, untilCopied } = await this.#core.scripts.runUncopied(CANCEL_ORDERS, input);
    return reply.map((bytes) => {
      if (bytes[0] === CLOSE_OUTCOMES.untouched) return UNTOUCHED;
      if (bytes[0] === CLOSE_OUTCOMES.closed) this.#core.lifecycle.saw(sequenceIn(bytes), tenure);
      return { bytes, untilCopied };
    });
  }
}

const splitReferences = (bytes: Buffer): Buffer[] =>
  Array.from({ length: bytes.length / REFERENCE_BYTES }, (_none, at) =>
    bytes.subarray(at * REFERENCE_BYTES, (at + 1) * REFERENCE_BYTES),
  );

/** Returns the references of orders that are not newer than a stamp. */
const upTo = (newest: Buffer, references: readonly Buffer[]): Buffer[] =>
  references.filter((reference) => Buffer.compare(reference.subarray(STAMP_AT), newest) <= 0);

function byMarketNumber(references: readonly Buffer[]): Map<number, Buffer[]> {
  const groups = new Map<number, Buffer[]>();
  for (const reference of references) {
    const number = reference.readUInt16BE(0) >> 1;
    const group = groups.get(number);
    if (group === undefined) groups.set(number, [reference]);
    else group.push(reference);
  }
  return groups;
}
