/** Orders: placing them, finding them by their client order ids, and closing them. */

import { Refusal } from '../domain/errors.ts';
import type { Market } from '../domain/market.ts';
import type { ClosedOrder } from '../domain/order.ts';
import { measureOrder, type OrderRefusal } from '../domain/placing.ts';
import type { OrderCancels } from './cancelling.ts';
import { checkedAtMs, orderClaim } from './claims.ts';
import { readBookMember, walletBytes } from './codec.ts';
import { type EngineCore, type Reply, refusalOf, Stale } from './core.ts';
import { scriptClaim } from './filter-layout.ts';
import { KEYS } from './keys.ts';
import type { EngineMarkets } from './markets.ts';
import type { EnginePages, MemberPage } from './pages.ts';
import { claimOf, type OrderLimits, type Placement, type PlaceOrder, PlacingCalls } from './placing.ts';

/** Result of a look for a used id: the order it stands for, a new id, or an id that only Postgres can tell. */
export type Claimed =
  | { readonly outcome: 'claimed'; readonly orderId: string }
  | { readonly outcome: 'unclaimed' | 'unchecked' };

export class EngineOrders {
  readonly #core: EngineCore;
  readonly #markets: EngineMarkets;
  readonly #pages: EnginePages;
  readonly #cancels: OrderCancels;
  readonly #placing: PlacingCalls;

  constructor(
    core: EngineCore,
    subjects: {
      readonly markets: EngineMarkets;
      readonly pages: EnginePages;
      readonly cancels: OrderCancels;
    },
    limits: OrderLimits,
  ) {
    this.#core = core;
    this.#markets = subjects.markets;
    this.#pages = subjects.pages;
    this.#cancels = subjects.cancels;
    this.#placing = new PlacingCalls(core, limits);
  }

  /**
   * Places an order.
   * @throws Refusal with the first code of the documented precedence; nothing was written then. SERVICE_UNAVAILABLE
   * leaves the outcome unknown: placing again under the same client order id finds it
   */
  place(command: PlaceOrder): Promise<Placement> {
    return this.#core.whileCurrent(
      async () => {
        const market = await this.#markets.bySymbol(command.request.market);
        const measured = measureOrder(command.request, market);
        return 'refusal' in measured
          ? this.#refuse(command, market, measured.refusal)
          : this.#placing.place(market!, { command, amounts: measured.amounts });
      },
      async () => void (await this.#markets.refresh()),
    );
  }

  /** Looks for the order that a wallet placed under a client order id. */
  async find(wallet: string, clientOrderId: string): Promise<Claimed> {
    const run = async (): Promise<Reply> => {
      const { field, mask, layout, key, offset, last } = scriptClaim(
        orderClaim(wallet, clientOrderId),
        this.#core.filter,
      );
      const keys = [KEYS.engine, ...KEYS.claims, key];
      return (await this.#core.run('find_claim', keys, [field, offset, mask, layout, last])) as Reply;
    };
    const [outcome, value] = (await this.#core.replyWhileCurrent(run)) as readonly Buffer[];
    const found = outcome!.toString();
    if (found === 'claimed') return { outcome: 'claimed', orderId: value!.toString('hex') };
    return { outcome: found as 'unclaimed' | 'unchecked' };
  }

  /** @throws Refusal ORDER_NOT_FOUND when the id names no live order of the wallet */
  cancel(wallet: string, orderId: string): Promise<ClosedOrder> {
    return this.#cancels.closeOne(wallet, orderId, 'cancel');
  }

  /** Cancels the orders of a wallet that are live when the call starts, in one market or in all (null). */
  cancelAll(wallet: string, symbol: string | null): Promise<ClosedOrder[]> {
    return this.#cancels.closeAll(wallet, symbol, 'cancel');
  }

  /** Closes an order as failed. @throws Refusal ORDER_NOT_FOUND when the id names no live order */
  void(orderId: string): Promise<ClosedOrder> {
    return this.#cancels.closeOne(null, orderId, 'void');
  }

  /** Closes all orders that the book of a market has when its pages are read: first the bids, then the asks. */
  async clear(symbol: string): Promise<ClosedOrder[]> {
    const market = (await this.#markets.refresh()).bySymbol.get(symbol);
    if (market === undefined) return [];
    const references: Buffer[] = [];
    for (const side of ['buy', 'sell'] as const) {
      let page: MemberPage | undefined;
      do {
        page = await this.#pages.scanBook(symbol, side, page?.members.at(-1) ?? null);
        for (const member of page.members)
          references.push(Buffer.from(readBookMember(member, market.number, side).id, 'hex'));
      } while (!page.isLast);
    }
    return this.#cancels.close({ wallet: null, symbol }, 'clear', market.number, references);
  }

  /** Number of live orders of a wallet. */
  async liveCount(wallet: string): Promise<number> {
    return (await this.#cancels.liveReferences(wallet)).length;
  }

  /** Refuses an order that the replica cannot measure, unless the engine has a reason that comes first. */
  async #refuse(
    command: PlaceOrder,
    market: Market | undefined,
    { code, message }: OrderRefusal,
  ): Promise<Placement | Stale> {
    const { epoch } = this.#core;
    const reply = await this.#admit(command, market);
    switch (reply[0].toString()) {
      case 'claimed':
        return { outcome: 'claimed', orderId: (reply[1] as Buffer).toString('hex') };
      case 'unchecked':
        return { outcome: 'unchecked', moment: { epoch, timeMs: Number(reply[1]) } };
      case 'stale':
        return new Stale(String(reply[1]));
      case 'refused':
        throw refusalOf(String(reply[1]));
      default:
        throw new Refusal(code, message);
    }
  }

  #admit(command: PlaceOrder, market: Market | undefined): Promise<Reply> {
    const { wallet, request, restricted } = command;
    const claim = scriptClaim(claimOf(command), this.#core.filter);
    const keys = [KEYS.engine, ...KEYS.claims, claim.key];
    return this.#core.run('admit_order', keys, [
      this.#core.epoch,
      market?.version ?? '',
      market?.number ?? '',
      walletBytes(wallet),
      request.clientOrderId ?? '',
      claim.offset,
      claim.mask,
      checkedAtMs(command.checked, this.#core),
      restricted ? 1 : 0,
      claim.field,
      claim.layout,
      market?.symbol ?? '',
      claim.last,
    ]) as Promise<Reply>;
  }
}
