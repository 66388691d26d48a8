/** Sums up a batch of events into the rows to write, with each order and each setting once. */

import type { AccountMoved, EngineEvent, OrderPlaced } from '../domain/event.ts';
import type { Asset, Market } from '../domain/market.ts';
import { type ClosedOrder, isLive, type OrderStatus, statusAfterFill, type Trade } from '../domain/order.ts';
import { CopyRows, textField } from './copy.ts';
import { LedgerDiverged } from './diverged.ts';
import { entriesOfMovement } from './entries.ts';
import type { NewOrder, Progress } from './order-rows.ts';
import { storable } from './text.ts';
import { entryRow, TradeRows } from './trade-rows.ts';

/** The columns of the rows of `movements`. */
export const MOVEMENT_COLUMNS = 'sequence, kind, wallet, asset, amount_atoms, reference, time_ms';

export interface Batch {
  readonly newOrders: NewOrder[];
  /** Orders of earlier batches, by id. */
  readonly changedOrders: Map<string, Progress>;
  /** Trades, their entries and those of movements, and candles. */
  readonly traded: TradeRows;
  readonly movements: CopyRows;
  /** Changed markets by symbol, each as it was last. */
  readonly markets: Map<string, Market>;
  readonly assets: Map<string, Asset>;
  /** Accepted terms by wallet. */
  readonly terms: Map<string, { version: string; timeMs: number }>;
  /** Time at which each wallet was set on hold; null when it was released. */
  readonly holds: Map<string, number | null>;
  /** Undefined: unchanged. */
  paused: boolean | undefined;
  termsVersion: string | null | undefined;
}

/** Orders that the events change and did not place themselves. `fold` must be given them. */
export const ordersOfEarlierBatches = (events: readonly EngineEvent[]): string[] => {
  const placed = new Set<string>();
  const touched = new Set<string>();
  const touch = (id: string): unknown => placed.has(id) || touched.add(id);
  for (const event of events) {
    if (event.kind === 'order_placed') {
      placed.add(event.order.id);
      for (const trade of event.trades) touch(trade.makerOrderId);
      for (const order of event.expired) touch(order.id);
    } else if (event.kind === 'orders_closed') {
      for (const order of event.orders) touch(order.id);
    }
  }
  return [...touched];
};

/**
 * Sums up events, in their order, into the rows that they write.
 * @param earlier Orders of earlier batches as they stand, by id; changed in place.
 * @throws LedgerDiverged on the fill or the end of an order that is unknown or no longer live.
 */
export const fold = (events: readonly EngineEvent[], earlier: ReadonlyMap<string, Progress>): Batch => {
  const fold = new Fold(earlier);
  for (const event of events) fold.apply(event);
  return fold.batch;
};

class Fold {
  readonly batch: Batch = {
    newOrders: [],
    changedOrders: new Map(),
    traded: new TradeRows(),
    movements: new CopyRows(),
    markets: new Map(),
    assets: new Map(),
    terms: new Map(),
    holds: new Map(),
    paused: undefined,
    termsVersion: undefined,
  };
  readonly #earlier: ReadonlyMap<string, Progress>;
  readonly #placed = new Map<string, Progress>();

  constructor(earlier: ReadonlyMap<string, Progress>) {
    this.#earlier = earlier;
  }

  apply(event: EngineEvent): void {
    const { batch } = this;
    switch (event.kind) {
      case 'order_placed':
        this.#place(event);
        break;
      case 'orders_closed':
        this.#end(event, event.orders);
        break;
      case 'credited':
      case 'debited':
        this.#move(event);
        break;
      case 'account_held':
        batch.holds.set(event.wallet, event.timeMs);
        break;
      case 'account_released':
        batch.holds.set(event.wallet, null);
        break;
      case 'terms_accepted':
        batch.terms.set(event.wallet, { version: event.version, timeMs: event.timeMs });
        break;
      case 'terms_required':
        batch.termsVersion = event.version;
        break;
      case 'trading_paused':
      case 'trading_resumed':
        batch.paused = event.kind === 'trading_paused';
        break;
      case 'market_changed':
        batch.markets.set(event.market.symbol, event.market);
        // An asset that no operator set has the default scale, and only its first market says so.
        for (const asset of [event.market.base, event.market.quote]) batch.assets.set(asset.symbol, asset);
        break;
      case 'asset_changed':
        batch.assets.set(event.asset.symbol, event.asset);
        break;
    }
  }

  #place(event: EngineEvent & OrderPlaced): void {
    const progress: Progress = {
      sizeSteps: event.order.sizeSteps,
      filledSteps: event.filledSteps,
      fillCount: event.trades.length,
      status: event.status,
      updatedAtMs: event.timeMs,
      updatedSequence: event.sequence,
      closedSequence: isLive(event.status) ? null : event.sequence,
    };
    this.#placed.set(event.order.id, progress);
    this.batch.newOrders.push({ terms: event.order, rejectReason: event.rejectReason, progress });
    for (const trade of event.trades) this.#fillMaker(event, trade);
    this.batch.traded.add(event.trades);
    this.#end(event, event.expired);
  }

  #fillMaker(event: EngineEvent, trade: Trade): void {
    const maker = this.#liveOrder(event, trade.makerOrderId);
    maker.filledSteps += trade.sizeSteps;
    maker.fillCount += 1;
    setStatus(event, maker, statusAfterFill(maker.filledSteps, maker.sizeSteps));
  }

  #end(event: EngineEvent, orders: readonly ClosedOrder[]): void {
    for (const order of orders) setStatus(event, this.#liveOrder(event, order.id), order.status);
  }

  #liveOrder(event: EngineEvent, id: string): Progress {
    const placed = this.#placed.get(id);
    const progress = placed ?? this.#earlier.get(id);
    if (!progress)
      throw new LedgerDiverged(`event ${event.sequence} changes order ${id}, which was never placed`);
    if (!isLive(progress.status))
      throw new LedgerDiverged(`event ${event.sequence} changes order ${id}, which is ${progress.status}`);
    if (placed === undefined) this.batch.changedOrders.set(id, progress);
    progress.updatedAtMs = event.timeMs;
    progress.updatedSequence = event.sequence;
    return progress;
  }

  #move(event: EngineEvent & AccountMoved): void {
    const { sequence, timeMs } = event;
    const reference = textField(storable(event.reference));
    const [wallet, asset] = [textField(event.wallet), textField(event.asset)];
    this.batch.movements.add(
      `${sequence}\t${event.kind}\t${wallet}\t${asset}\t${event.amountAtoms}\t${reference}\t${timeMs}`,
    );
    entriesOfMovement(event).forEach((entry, line) => {
      const account = textField(entry.account);
      const fields = { ...entry, account, asset, reference, amount: entry.amountAtoms };
      this.batch.traded.entries.add(entryRow(event, line, fields));
    });
  }
}

const setStatus = (event: EngineEvent, progress: Progress, status: OrderStatus): void => {
  progress.status = status;
  progress.closedSequence = isLive(status) ? null : event.sequence;
};
