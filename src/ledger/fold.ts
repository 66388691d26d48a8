/** Folds a batch of events into the rows to write. Each order and each setting is written once. */

import type { RecordedAct } from '../domain/act.ts';
import { type AccountMoved, type EngineEvent, isMovement } from '../domain/event.ts';
import type { Asset, Market } from '../domain/market.ts';
import { canonicalMarketRecord, writeMarketRecord } from '../domain/market-record.ts';
import { type ClosedOrder, isLive, type Trade } from '../domain/order.ts';
import {
  closeOrder,
  fillMaker,
  lifeOfPlaced,
  type OrderVisitor,
  type PlacedEvent,
  visitOrders,
} from '../domain/order-life.ts';
import { SwitchChanges } from '../domain/switches.ts';
import { endsWithdrawal, writeTake } from '../domain/withdrawal-states.ts';
import type { Progress } from '../order/fields.ts';
import { actRow, fieldsOfAct } from './act-rows.ts';
import { EventTexts } from './chain.ts';
import { CopyRows, nullableField as field, textField } from './copy.ts';
import { LedgerDiverged } from './diverged.ts';
import { type NewOrderRow, placedText } from './order-rows.ts';
import { storable } from './text.ts';
import { TradeRows } from './trade-rows.ts';

export interface FoldedBatch {
  readonly newOrders: NewOrderRow[];
  /** Orders of earlier batches, by id. */
  readonly changedOrders: Map<string, Progress>;
  /** Trades and candles. */
  readonly traded: TradeRows;
  readonly movements: CopyRows;
  /** Events of requested withdrawals that the batch does not end, by their stored references. */
  readonly requested: Map<string, number>;
  /** Events of announced deposits that the batch does not end, by their stored references. */
  readonly announced: Map<string, number>;
  /** Stored references of deposits that the batch ends, most of which were never announced. */
  readonly arrived: string[];
  /** Stored references of withdrawals of earlier batches that the batch ends. */
  readonly ended: string[];
  /** Changed markets by symbol, each as it was last. */
  readonly markets: Map<string, Market>;
  readonly assets: Map<string, Asset>;
  readonly switches: SwitchChanges;
  readonly marketVersions: CopyRows;
  readonly settingChanges: CopyRows;
  readonly acts: CopyRows;
  /** Sequence of the first event of each epoch in the batch. */
  readonly epochStarts: Map<number, number>;
  /** Texts of the events, by which they continue the chain. */
  readonly texts: EventTexts;
  /** Returns an order that the batch places or changes, as it is after the batch. */
  progressOf(id: string): Progress | undefined;
}

/** Returns the orders that the events change but did not place. `fold` needs them. */
export function ordersOfEarlierBatches(events: readonly EngineEvent[]): string[] {
  const placed = new Set<string>();
  const touched = new Set<string>();
  const touch = (id: string): void => {
    if (!placed.has(id)) touched.add(id);
  };
  const visitor: OrderVisitor = {
    placed: ({ order }) => void placed.add(order.id),
    filled: ({ makerOrderId }) => touch(makerOrderId),
    closed: ({ id }) => touch(id),
  };
  for (const event of events) visitOrders(event, visitor);
  return [...touched];
}

/**
 * Sums up events, in their order, into the rows that they write.
 * @param earlier orders of earlier batches as they stand, by id; changed in place
 * @throws LedgerDiverged on the fill or the end of an order that is unknown or no longer live, and on a fill beyond its
 *   size
 */
export function fold(events: readonly EngineEvent[], earlier: ReadonlyMap<string, Progress>): FoldedBatch {
  const fold = new Fold(earlier);
  for (const event of events) fold.apply(event);
  return fold.batch;
}

class Fold implements OrderVisitor {
  readonly #texts = new EventTexts();
  readonly batch: FoldedBatch = {
    newOrders: [],
    changedOrders: new Map(),
    traded: new TradeRows(),
    movements: new CopyRows(),
    requested: new Map(),
    announced: new Map(),
    arrived: [],
    ended: [],
    markets: new Map(),
    assets: new Map(),
    switches: new SwitchChanges(),
    marketVersions: new CopyRows(),
    settingChanges: new CopyRows(),
    acts: new CopyRows(),
    epochStarts: new Map(),
    texts: this.#texts,
    progressOf: (id) => this.#placed.get(id) ?? this.batch.changedOrders.get(id),
  };
  readonly #earlier: ReadonlyMap<string, Progress>;
  readonly #placed = new Map<string, Progress>();

  constructor(earlier: ReadonlyMap<string, Progress>) {
    this.#earlier = earlier;
  }

  apply(event: EngineEvent): void {
    const { epochStarts } = this.batch;
    if (!epochStarts.has(event.epoch)) epochStarts.set(event.epoch, event.sequence);
    if (isMovement(event)) this.#move(event);
    else this.#write(event);
    if (event.act !== undefined) this.#act({ ...event, act: event.act });
    this.#texts.end(this.batch.traded.trades.characters);
  }

  #write(event: EngineEvent): void {
    const { batch } = this;
    switch (event.kind) {
      case 'order_placed':
      case 'orders_closed':
        visitOrders(event, this);
        break;
      case 'market_changed':
        this.#changeMarket(event);
        // An asset that no operator set has the default scale, and only its first market carries it.
        for (const asset of [event.market.base, event.market.quote]) batch.assets.set(asset.symbol, asset);
        break;
      case 'asset_changed':
        batch.assets.set(event.asset.symbol, event.asset);
        this.#changeSetting(event, event.asset.symbol, `${event.asset.scale}`);
        break;
      case 'trading_paused':
      case 'trading_resumed':
        batch.switches.apply(event);
        this.#changeSetting(event, null, null);
        break;
      case 'terms_required':
        batch.switches.apply(event);
        this.#changeSetting(event, null, event.version);
        break;
      case 'terms_accepted':
        batch.switches.apply(event);
        this.#changeSetting(event, event.wallet, event.version);
        break;
      case 'account_held':
      case 'account_released':
        batch.switches.apply(event);
        this.#changeSetting(event, event.wallet, null);
        break;
      case 'withdrawal_taken':
      case 'withdrawal_released':
        batch.switches.apply(event);
        // JSON escapes what Postgres cannot store.
        this.#noteSetting(
          event,
          storable(event.reference),
          event.kind === 'withdrawal_taken' ? writeTake(event.take) : null,
        );
        break;
      case 'operator_acted':
        break;
      default:
        throw new LedgerDiverged(`event ${(event as EngineEvent).sequence} is of an unknown kind`);
    }
  }

  placed(event: PlacedEvent): void {
    const { order: terms, sequence, status } = event;
    const closedSequence = isLive(status) ? null : sequence;
    const progress: Progress = Object.assign(lifeOfPlaced(event), {
      updatedSequence: sequence,
      closedSequence,
    });
    this.#placed.set(terms.id, progress);
    const row: NewOrderRow = { terms, progress, placed: placedText({ terms, progress }) };
    this.batch.newOrders.push(row);
    this.#texts.place(row);
    this.batch.traded.add(event.trades);
    if (progress.closedSequence !== null) this.#texts.close(terms.id, progress);
  }

  filled(trade: Trade, event: PlacedEvent): void {
    const maker = this.#earlierOrder(event, trade.makerOrderId);
    if (!fillMaker(maker, trade)) throw refused(event, trade.makerOrderId, maker);
    this.#stamp(trade.makerOrderId, maker, event);
  }

  closed(ended: ClosedOrder, event: EngineEvent): void {
    const order = this.#earlierOrder(event, ended.id);
    if (!closeOrder(order, ended, event.timeMs)) throw refused(event, ended.id, order);
    this.#stamp(ended.id, order, event);
  }

  #earlierOrder(event: EngineEvent, id: string): Progress {
    const placed = this.#placed.get(id);
    if (placed !== undefined) return placed;
    const earlier = this.#earlier.get(id);
    if (earlier === undefined)
      throw new LedgerDiverged(`event ${event.sequence} changes order ${id}, which is not live`);
    this.batch.changedOrders.set(id, earlier);
    return earlier;
  }

  /** Records the event that changed the order. */
  #stamp(id: string, progress: Progress, { sequence }: EngineEvent): void {
    progress.updatedSequence = sequence;
    progress.closedSequence = isLive(progress.status) ? null : sequence;
    if (progress.closedSequence !== null) this.#texts.close(id, progress);
  }

  #changeMarket({ market, sequence, timeMs }: EngineEvent & { readonly market: Market }): void {
    this.batch.markets.set(market.symbol, market);
    const fields = `${textField(market.symbol)}\t${sequence}\t${market.feeBps}\t${timeMs}`;
    this.batch.marketVersions.add(`${fields}\t${textField(writeMarketRecord(market))}`);
    this.#texts.add('market', `${fields}\t${canonicalMarketRecord(market)}`);
  }

  #changeSetting(event: EngineEvent, subject: string | null, value: string | null): void {
    this.#noteSetting(event, subject, value === null ? null : storable(value));
  }

  /** @param value storable */
  #noteSetting({ kind, sequence, timeMs }: EngineEvent, subject: string | null, value: string | null): void {
    const row = `${sequence}\t${kind}\t${field(subject)}\t${field(value)}\t${timeMs}`;
    this.batch.settingChanges.add(row);
    this.#texts.add('setting', row);
  }

  #act(event: EngineEvent & { readonly act: RecordedAct }): void {
    const fields = fieldsOfAct(event);
    if (fields === null) return;
    const row = actRow(event.sequence, fields, event.timeMs);
    this.batch.acts.add(row);
    this.#texts.add('act', row);
  }

  #move(event: EngineEvent & AccountMoved): void {
    const { sequence, timeMs, kind } = event;
    const { requested, ended, announced, arrived } = this.batch;
    const storedReference = storable(event.reference);
    const reference = textField(storedReference);
    const wallet = textField(event.wallet);
    const asset = textField(event.asset);
    const reverses = event.reverses === undefined ? null : storable(event.reverses);
    const txid = event.txid === undefined ? null : storable(event.txid);
    if (kind === 'requested') requested.set(storedReference, sequence);
    else if (endsWithdrawal(kind)) {
      if (!requested.delete(storedReference)) ended.push(storedReference);
      this.batch.switches.apply(event);
    }
    if (kind === 'announced') announced.set(storedReference, sequence);
    else if (kind === 'credited' || kind === 'dropped')
      if (!announced.delete(storedReference)) arrived.push(storedReference);
    const ends = `${field(reverses)}\t${field(txid)}\t${event.owedAtoms ?? 0n}`;
    const row = `${sequence}\t${kind}\t${wallet}\t${asset}\t${event.amountAtoms}\t${reference}\t${timeMs}\t${ends}`;
    this.batch.movements.add(row);
    this.#texts.add('movement', row);
  }
}

function refused({ sequence }: EngineEvent, id: string, { status, sizeSteps }: Progress): LedgerDiverged {
  const reason = isLive(status) ? `fills order ${id} beyond its size of ${sizeSteps}` : `changes order ${id}`;
  return new LedgerDiverged(`event ${sequence} ${reason}, which is ${status}`);
}
