/** Orders: placing them, finding them by their client order ids, and closing them. */

import type { Act } from '../domain/act.ts';
import { Refusal } from '../domain/errors.ts';
import type { Market } from '../domain/market.ts';
import type { ClosedOrder } from '../domain/order.ts';
import { measureOrder, type OrderRefusal } from '../domain/placing.ts';
import type { EngineActs } from './acts.ts';
import type { OrderCancels } from './cancelling.ts';
import { type Claim, checkedAtMs, orderClaim } from './claims.ts';
import { type BookMember, readBookMember, readOrderId, walletBytes } from './codec.ts';
import { Ticket } from './command-queue.ts';
import type { EngineCore } from './core.ts';
import type { SealedLook } from './filter-in-force.ts';
import { scriptClaim } from './filter-layout.ts';
import type { EngineMarkets } from './markets.ts';
import { Stale } from './outcomes.ts';
import type { EnginePages, MemberPage } from './pages.ts';
import {
  claimOf,
  type OrderLimits,
  type Placement,
  type PlaceOrder,
  PlacingCalls,
  uncheckedAt,
} from './placing.ts';
import { ADMIT_ORDER, FIND_CLAIM } from './scripts.ts';
import { SharedRuns } from './shared-runs.ts';
import { WaitingCommands } from './waiting-commands.ts';

/** Result of looking up an id: the order that it belongs to, an unused id, or an id that only Postgres can decide. */
type Claimed =
  | { readonly outcome: 'claimed'; readonly orderId: string }
  | { readonly outcome: 'unclaimed' | 'unchecked' };

/** An order with what stays the same when placing it is tried again. */
interface AskedOrder {
  readonly command: PlaceOrder;
  readonly claim: Claim | null;
  readonly ticket: Ticket;
}

/** Bytes at the beginning of a reference that name the book; the rest is the beginning of its member. */
const BOOK_BYTES = 2;

export class EngineOrders {
  readonly #core: EngineCore;
  readonly #markets: EngineMarkets;
  readonly #pages: EnginePages;
  readonly #cancels: OrderCancels;
  readonly #acts: EngineActs;
  readonly #placing: PlacingCalls;
  readonly #waiting = new WaitingCommands();
  readonly #refreshMarkets = async (): Promise<void> => void (await this.#markets.refresh());
  readonly #cancelling = new SharedRuns<ClosedOrder[]>();

  constructor(
    core: EngineCore,
    subjects: {
      readonly markets: EngineMarkets;
      readonly pages: EnginePages;
      readonly cancels: OrderCancels;
      readonly acts: EngineActs;
    },
    limits: OrderLimits,
  ) {
    this.#core = core;
    this.#markets = subjects.markets;
    this.#pages = subjects.pages;
    this.#cancels = subjects.cancels;
    this.#acts = subjects.acts;
    this.#placing = new PlacingCalls(core, limits);
  }

  /** @throws Refusal SERVICE_UNAVAILABLE when so many commands of the wallet wait that `place` would refuse another */
  checkWaiting(wallet: string): void {
    this.#waiting.check(wallet);
  }

  /**
   * Places an order.
   * @throws Refusal with the first code of the documented precedence; nothing was written then. SERVICE_UNAVAILABLE
   * leaves the outcome unknown: placing again under the same client order id finds it
   */
  async place(command: PlaceOrder): Promise<Placement> {
    const { wallet, ticket = new Ticket(wallet) } = command;
    const waits = this.#waiting.admit(wallet, ticket);
    try {
      const asked = { command, claim: claimOf(command), ticket };
      // Without a function for each order, which only an order that is tried again needs.
      const placement = await this.#place(asked);
      return placement instanceof Stale
        ? await this.#core.repeat(placement, () => this.#place(asked), this.#refreshMarkets)
        : placement;
    } finally {
      waits.giveBack();
    }
  }

  /** Places an order at once if nothing has to be read for it, which is almost always so. */
  #place(asked: AskedOrder): Promise<Placement | Stale> {
    const look = this.#core.filter.withoutSealed();
    const market = this.#markets.knownBySymbol(asked.command.request.market);
    return look === undefined || market === undefined
      ? this.#readAndPlace(asked)
      : this.#placeIn(market, asked, look);
  }

  async #readAndPlace(asked: AskedOrder): Promise<Placement | Stale> {
    const { command, claim, ticket } = asked;
    const { filter, lifecycle } = this.#core;
    const look = await filter.lookInSealed(claim);
    if (claim !== null && look.timeMs !== null && checkedAtMs(command.checked, lifecycle) === 0) {
      const found = await this.#findIn(look, claim);
      return found instanceof Stale || found.outcome === 'claimed'
        ? found
        : uncheckedAt({ epoch: lifecycle.epoch, timeMs: look.timeMs }, ticket);
    }
    return this.#placeIn(await this.#markets.bySymbol(command.request.market), asked, look);
  }

  #placeIn(market: Market | undefined, asked: AskedOrder, look: SealedLook): Promise<Placement | Stale> {
    const { command, claim, ticket } = asked;
    const measured = measureOrder(command.request, market);
    return 'refusal' in measured
      ? this.#refuse(market, asked, measured.refusal, look)
      : this.#placing.place(market!, { command, amounts: measured.amounts, claim, look }, ticket);
  }

  /** Looks up the order that a wallet placed under a client order id. */
  find(wallet: string, clientOrderId: string): Promise<Claimed> {
    const claim = orderClaim(wallet, clientOrderId);
    return this.#core.whileCurrent(async () =>
      this.#findIn(await this.#core.filter.lookInSealed(claim), claim),
    );
  }

  #findIn({ filter, timeMs }: SealedLook, claim: Claim): Promise<Claimed | Stale> {
    const sealed = timeMs === null ? 0 : 1;
    return this.#core.scripts.run(FIND_CLAIM, { ...scriptClaim(claim, filter), sealed });
  }

  /** @throws Refusal ORDER_NOT_FOUND when the id names no live order of the wallet */
  cancel(wallet: string, orderId: string): Promise<ClosedOrder> {
    return this.#whileWaiting(wallet, () => this.#cancels.closeOne(wallet, orderId, 'user_cancelled'));
  }

  /** Cancels those of the named orders that are live orders of the wallet. */
  cancelNamed(wallet: string, orderIds: readonly string[]): Promise<ClosedOrder[]> {
    return this.#whileWaiting(wallet, () => this.#cancels.cancelNamed(wallet, orderIds));
  }

  /**
   * Cancels the orders of a wallet that are live when the call starts, in one market or in all (null). One such call of
   * a wallet runs at a time; those that wait for the same scope share the next one.
   */
  cancelAll(wallet: string, symbol: string | null): Promise<ClosedOrder[]> {
    return this.#whileWaiting(wallet, () =>
      this.#cancelling.run(wallet, symbol ?? '', () =>
        this.#cancels.closeAll(wallet, symbol, 'user_cancelled'),
      ),
    );
  }

  /** Runs a cancel of a wallet, which is counted meanwhile. */
  async #whileWaiting<T>(wallet: string, cancel: () => Promise<T>): Promise<T> {
    const waits = this.#waiting.admitCancel(wallet);
    try {
      return await cancel();
    } finally {
      waits?.giveBack();
    }
  }

  /** Closes an order as failed. @throws Refusal ORDER_NOT_FOUND when the id names no live order */
  async void(orderId: string, act?: Act): Promise<ClosedOrder> {
    if (act !== undefined) {
      const { market, wallet } = await this.#resting(orderId);
      await this.#acts.note({ name: 'order void', market: market.symbol, wallet, subject: orderId }, act);
    }
    return this.#cancels.closeOne(null, orderId, 'operator_voided');
  }

  /** Closes all orders that the book of a market has when its pages are read: first the bids, then the asks. */
  async clear(symbol: string, act?: Act): Promise<ClosedOrder[]> {
    const market = (await this.#markets.refresh()).bySymbol.get(symbol);
    if (market === undefined) return [];
    if (act !== undefined) await this.#acts.note({ name: 'market clear', market: symbol }, act);
    const references: Buffer[] = [];
    for (const side of ['buy', 'sell'] as const) {
      let page: MemberPage | undefined;
      do {
        page = await this.#pages.scanBook(symbol, side, page?.members.at(-1) ?? null);
        for (const member of page.members)
          references.push(Buffer.from(readBookMember(member, market.number, side).id, 'hex'));
      } while (!page.isLast);
    }
    return this.#cancels.close({ wallet: null, symbol }, 'market_cleared', market.number, references);
  }

  /** @throws Refusal ORDER_NOT_FOUND when the id names no order on a book */
  async #resting(orderId: string): Promise<BookMember & { readonly market: Market }> {
    const reference = readOrderId(orderId);
    const market = reference && (await this.#markets.byNumber(reference.marketNumber));
    if (market === undefined) throw new Refusal('ORDER_NOT_FOUND');
    const { side, bytes } = reference!;
    const { members } = await this.#pages.scanBook(market.symbol, side, bytes.subarray(BOOK_BYTES));
    const [member] = members.map((found) => readBookMember(found, market.number, side));
    if (member?.id !== orderId) throw new Refusal('ORDER_NOT_FOUND');
    return { ...member, market };
  }

  /** Returns the number of live orders of a wallet. */
  liveCount(wallet: string): Promise<number> {
    return this.#cancels.countLive(wallet);
  }

  /** Refuses an order that the replica cannot measure, unless the engine has a refusal of higher precedence. */
  async #refuse(
    market: Market | undefined,
    { command, claim, ticket }: AskedOrder,
    { code, message }: OrderRefusal,
    { filter }: SealedLook,
  ): Promise<Placement | Stale> {
    const { wallet, request, restricted } = command;
    const { epoch } = this.#core.lifecycle;
    const reply = await this.#core.scripts.run(ADMIT_ORDER, {
      epoch,
      marketVersion: market?.version ?? '',
      marketNumber: market?.number ?? '',
      symbol: market?.symbol ?? '',
      wallet: walletBytes(wallet),
      clientOrderId: request.clientOrderId ?? '',
      checkedAt: checkedAtMs(command.checked, this.#core.lifecycle),
      restricted: restricted ? 1 : 0,
      ...scriptClaim(claim, filter),
    });
    if (reply instanceof Stale || reply.outcome === 'claimed') return reply;
    if (reply.outcome === 'unchecked') return uncheckedAt({ epoch, timeMs: reply.timeMs }, ticket);
    throw new Refusal(code, message);
  }
}
