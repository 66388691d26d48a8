/** Reads the events that the engine still has after those that are lost, as the sum of what they changed. */

import { OperatorRefusal } from '../../domain/errors.ts';
import { type AccountMoved, type Cursor, type EngineEvent, isMovement } from '../../domain/event.ts';
import type { ClosedOrder, Trade } from '../../domain/order.ts';
import { type OrderVisitor, type PlacedEvent, visitOrders } from '../../domain/order-life.ts';
import { SwitchChanges } from '../../domain/switches.ts';
import { endsWithdrawal } from '../../domain/withdrawal-states.ts';
import type { Engine } from '../../engine/index.ts';
import { entriesOfMovement, entriesOfTrade } from '../../ledger/index.ts';

/** Place of the event in the hex digits of an order's id. */
const SEQUENCE_AT = 22;
const EVENTS_TOGETHER = 500;

/** Returns the sequence of the event that placed an order. */
export const placeOf = (orderId: string): number => Number.parseInt(orderId.slice(SEQUENCE_AT), 16);

/** Atoms by asset and account. */
export class AccountSums {
  readonly #assets = new Map<string, Map<string, bigint>>();

  of(asset: string): Map<string, bigint> {
    const found = this.#assets.get(asset) ?? new Map<string, bigint>();
    this.#assets.set(asset, found);
    return found;
  }

  add(asset: string, account: string, atoms: bigint): void {
    const accounts = this.of(asset);
    accounts.set(account, (accounts.get(account) ?? 0n) + atoms);
  }
}

/** An order of before the tail that trades of the tail filled. */
interface Filled {
  readonly wallet: string;
  steps: bigint;
}

/** Sums of the tail: the events that settlement writes after the seam. */
export class Tail implements OrderVisitor {
  /** The last event before the tail. */
  readonly after: number;
  firstTimeMs: number | undefined;
  firstTradeId: number | undefined;
  readonly balances = new AccountSums();
  /** Orders of before the tail, by id. */
  readonly makers = new Map<string, Filled>();
  readonly ends = new Map<string, ClosedOrder>();
  readonly tradedMarkets = new Set<string>();
  readonly switches = new SwitchChanges();
  readonly assets = new Set<string>();
  /** Records of changed markets before their first change, as the engine told; null for none. */
  readonly markets = new Map<string, string | null>();
  /** Ends of withdrawals that no event of the tail requested. */
  readonly ended: AccountMoved[] = [];
  readonly #requested = new Set<string>();

  constructor(after: number) {
    this.after = after;
  }

  add(event: EngineEvent): void {
    this.firstTimeMs ??= event.timeMs;
    visitOrders(event, this);
    this.switches.apply(event);
    if (isMovement(event)) this.#move(event);
    switch (event.kind) {
      case 'asset_changed':
        this.assets.add(event.asset.symbol);
        break;
      case 'market_changed':
        if (!this.markets.has(event.market.symbol))
          this.markets.set(event.market.symbol, event.act?.before ?? null);
        break;
    }
  }

  placed({ trades }: PlacedEvent): void {
    this.firstTradeId ??= trades[0]?.tradeId;
  }

  filled(trade: Trade): void {
    for (const { account, asset, amountAtoms } of entriesOfTrade(trade))
      this.balances.add(asset, account, amountAtoms);
    this.tradedMarkets.add(trade.market);
    const { makerOrderId, makerWallet: wallet, sizeSteps } = trade;
    if (placeOf(makerOrderId) > this.after) return;
    const maker = this.makers.get(makerOrderId) ?? { wallet, steps: 0n };
    maker.steps += sizeSteps;
    this.makers.set(makerOrderId, maker);
  }

  closed(order: ClosedOrder): void {
    if (placeOf(order.id) <= this.after) this.ends.set(order.id, order);
  }

  #move(event: EngineEvent & AccountMoved): void {
    for (const { account, asset, amountAtoms } of entriesOfMovement(event))
      this.balances.add(asset, account, amountAtoms);
    if (event.kind === 'requested') this.#requested.add(event.reference);
    else if (endsWithdrawal(event.kind) && !this.#requested.has(event.reference)) this.ended.push(event);
  }
}

/**
 * Reads the events up to the end that follow each other without a gap.
 * @param settled the last event of the ledger
 * @param end the last event of the engine
 * @throws OperatorRefusal OTHER_HISTORY when the engine has another event in the place of the last settled one
 */
export async function readTail(
  engine: Engine,
  settled: Cursor & { readonly digest: string | null },
  end: number,
): Promise<Tail> {
  let tail = new Tail(settled.sequence);
  for (let at: Cursor = settled; at.sequence < end; ) {
    const read = await engine.outbox.readEvents(at, EVENTS_TOGETHER);
    const known = read.find(({ sequence }) => sequence === settled.sequence);
    if (known !== undefined && settled.digest !== null && known.digest.hex !== settled.digest)
      throw new OperatorRefusal(
        'OTHER_HISTORY',
        `event ${known.sequence} of the engine is not the one that Postgres has: they are not of one exchange`,
      );
    const fresh = read.filter(({ sequence }) => sequence > at.sequence && sequence <= end);
    // Where the stream ends before the engine does, nothing of it can be settled after the seam.
    if (fresh.length === 0) return new Tail(end);
    for (const event of fresh) {
      if (event.sequence > at.sequence + 1) tail = new Tail(event.sequence - 1);
      tail.add(event);
      at = event;
    }
  }
  return tail;
}
