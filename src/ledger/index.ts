/** The permanent memory: engine events settled into Postgres, and everything that is read back from it. */

import type { Timeframe } from '../domain/candle.ts';
import type { AccountMoved, Cursor, EngineEvent } from '../domain/event.ts';
import type { Asset } from '../domain/market.ts';
import type { Fill, LiveOrder, PublicTrade, Trade, WalletTrade } from '../domain/order.ts';
import type { Switches } from '../domain/switches.ts';
import { type AccountBalance, balancesAt, liveOrdersAt } from './as-of-event.ts';
import { type Audit, audit } from './audit.ts';
import { refusedWhileAway } from './away.ts';
import {
  type CandleRange,
  candlesOfMarket,
  minutesOfMarket,
  type SettledCandles,
  type SettledMinutes,
} from './candles.ts';
import { type Check, checkLedger } from './checks/index.ts';
import { cursorNow, type SettledCursor } from './cursor.ts';
import { type EntriesFilter, entries, type LedgerEntry } from './export.ts';
import { fillsOf } from './fills.ts';
import { migrate } from './migrate.ts';
import { movementByReference } from './movements.ts';
import { type OrdersPage, orderById, orderIdByClientId, ordersOf, type SettledOrder } from './orders.ts';
import { askOnce, type MakePool, openPool } from './pool.ts';
import { type AtRest, assets, atRest, clientOrderIds, movementReferences } from './rebuild.ts';
import {
  type LastReconciliation,
  lastReconciliation,
  noteReconciliation,
  type ReconciliationNote,
} from './reconciliations.ts';
import { settle } from './settle.ts';
import { readSwitches } from './switches.ts';
import {
  lastTradesBefore,
  type MarketTradesFilter,
  type SettledSeconds,
  secondsAfter,
  tradesOf,
  tradesOfMarket,
  type WalletTradesFilter,
} from './trades.ts';

export type { AccountBalance } from './as-of-event.ts';
export type { Audit, AuditedAccount, AuditedId, AuditedOrder, AuditSummary } from './audit.ts';
export type { CandleRange, SettledCandles, SettledMinutes } from './candles.ts';
export type { Check, Violation } from './checks/index.ts';
export type { SettledCursor } from './cursor.ts';
export { LedgerDiverged } from './diverged.ts';
export { CUSTODY, type EntryKind, entriesOfMovement, entriesOfTrade, HOUSE } from './entries.ts';
export type { EntriesFilter, LedgerEntry } from './export.ts';
export type { OrdersPage, SettledOrder } from './orders.ts';
export type { LastReconciliation } from './reconciliations.ts';
export { storable } from './text.ts';
export type { MarketTradesFilter, SettledSeconds, WalletTradesFilter } from './trades.ts';

/**
 * Every read answers with the cursor it is as of, from the same snapshot, so that a reader can add what
 * the engine did since. Reads throw `Refusal` SERVICE_UNAVAILABLE when Postgres is away.
 */
export interface Ledger {
  /** Asks Postgres for nothing. Rejects with `Refusal` SERVICE_UNAVAILABLE when it is away. */
  ping(): Promise<void>;
  /** Brings the database to the schema of this release; any number of processes may do so at once. */
  migrate(): Promise<void>;
  /** `{ epoch: 0, sequence: 0, digest: null, … }` while nothing is settled. */
  cursor(): Promise<SettledCursor>;
  /**
   * Settles the events after the cursor in one transaction. The returned cursor is short of the last
   * event only when another process is settling right now; then nothing was done.
   * @throws LedgerDiverged when the events do not follow from what is settled.
   */
  settle(events: readonly EngineEvent[]): Promise<Cursor>;
  /** A page of the wallet's orders, newest first, with the fills that the page asks for. */
  ordersOf(wallet: string, page: OrdersPage): Promise<{ cursor: Cursor; orders: SettledOrder[] }>;
  /** The newest fills of orders, by order id: as many as the counts say, and none after the cursor. */
  fillsOf(counts: ReadonlyMap<string, number>, cursor: Cursor): Promise<Map<string, Fill[]>>;
  /** An order of the wallet, with its newest fills up to a number. */
  orderById(
    wallet: string,
    id: string,
    mostFills: number,
  ): Promise<{ cursor: Cursor; order: SettledOrder | null }>;
  /** The id of the wallet's order with this client order id, or null; for those who read an order. */
  orderIdByClientId(wallet: string, clientOrderId: string): Promise<string | null>;
  /** The same for those who place one: nobody who reads can keep them from a connection. */
  placedOrderId(wallet: string, clientOrderId: string): Promise<string | null>;
  /** The wallet's latest trades, as maker or taker, newest first. */
  tradesOf(wallet: string, filter: WalletTradesFilter): Promise<{ cursor: Cursor; trades: WalletTrade[] }>;
  /** A market's trades, newest first. */
  tradesOfMarket(
    market: string,
    filter: MarketTradesFilter,
  ): Promise<{ cursor: Cursor; trades: PublicTrade[] }>;
  /** The last trade before a time (Unix milliseconds) of each market that has one. */
  lastTradesBefore(timeMs: number): Promise<Trade[]>;
  /**
   * Returns at most `limit` trades of all markets after a trade and before a time (Unix milliseconds), summed by
   * second.
   */
  secondsAfter(tradeId: number, beforeMs: number, limit: number): Promise<SettledSeconds>;
  /** The one-minute candles of a market from a minute's start on (Unix milliseconds). */
  minutesOfMarket(market: string, fromMs: number): Promise<SettledMinutes>;
  /** The newest candles of a market in a range, oldest first; buckets without executions are left out. */
  candlesOfMarket(market: string, timeframe: Timeframe, range: CandleRange): Promise<SettledCandles>;
  movementByReference(
    kind: AccountMoved['kind'],
    reference: string,
  ): Promise<(AccountMoved & { sequence: number }) | null>;
  /** Every account's sum of an asset up to and including the event; the event must be settled. */
  balancesAt(asset: string, sequence: number): AsyncIterable<AccountBalance>;
  /** The orders that were live right after the event; the event must be settled. */
  liveOrdersAt(sequence: number): AsyncIterable<LiveOrder>;
  /** Runs `work` on the ledger as it is now, whatever is settled meanwhile. */
  audit<Result>(work: (audit: Audit) => Promise<Result>): Promise<Result>;
  /** Runs the checks within the ledger alone. Returns the event up to which they hold. */
  check(): Promise<{ sequence: number; checks: Check[] }>;
  switches(): Promise<Switches & { readonly cursor: Cursor }>;
  /** Runs `work` while nothing is settled. @throws OperatorRefusal LEDGER_BUSY */
  atRest<Result>(work: (rest: AtRest) => Promise<Result>): Promise<Result>;
  /** Every asset, as last settled. */
  assets(): Promise<Asset[]>;
  /** All that were ever used; in no order. */
  clientOrderIds(): AsyncIterable<{ wallet: string; clientOrderId: string }>;
  /** Yields the references of all deposits and withdrawals, in no order. */
  movementReferences(): AsyncIterable<Pick<AccountMoved, 'kind' | 'reference'>>;
  /** Keeps what a reconcile found. */
  noteReconciliation(note: ReconciliationNote): Promise<void>;
  lastReconciliation(): Promise<LastReconciliation | null>;
  /** @throws RangeError when `after` is no entry id. */
  entries(filter: EntriesFilter): AsyncIterable<LedgerEntry>;
  close(): Promise<void>;
}

/** Reads are a client's waiting time, of three seconds at most; settlement may take its while, a reconcile what it needs. */
const PATIENCE_MS = { reading: 2_100, settling: 60_000, auditing: 0 };

/**
 * Most connections of each kind of work. Every kind has a pool of its own, so that none can keep another from a
 * connection: `lists` and `orders` are for wallets that read, `placing` looks up client order ids, `public` is market
 * data and whatever else is short.
 */
const POOL_SIZES = { lists: 3, orders: 2, placing: 2, public: 3, settling: 1, auditing: 4 };

type Work = keyof typeof POOL_SIZES;

/** Reads of wallet lists that one process makes at a time: more would wait for a connection. */
export const LISTS_AT_ONCE = POOL_SIZES.lists;
/** Reads of single orders that one process makes at a time. */
export const ORDERS_AT_ONCE = POOL_SIZES.orders;

/**
 * Connects when first asked; Postgres may be away, then and at any later time.
 * @param options.poolSize most connections of each kind of reading; for tests
 * @param options.makePool makes the pools; for tests
 */
export const openLedger = (options: {
  databaseUrl: string;
  poolSize?: number;
  makePool?: MakePool;
}): Ledger => {
  const { databaseUrl, poolSize, makePool } = options;
  const open = (work: Work, patienceMs: number) =>
    openPool({ databaseUrl, work, size: POOL_SIZES[work], patienceMs, makePool });
  const openForReads = (work: Work) =>
    openPool({
      ...{ databaseUrl, work, size: poolSize ?? POOL_SIZES[work], makePool },
      ...{ patienceMs: PATIENCE_MS.reading, byIndexAlone: true },
    });
  const lists = openForReads('lists');
  const orders = openForReads('orders');
  const placing = openForReads('placing');
  const reading = openForReads('public');
  const settling = open('settling', PATIENCE_MS.settling);
  const auditing = open('auditing', PATIENCE_MS.auditing);
  const pools = [lists, orders, placing, reading, settling, auditing];
  return {
    ping: async () => void (await askOnce(reading, 'select 1')),
    migrate: () => migrate(databaseUrl),
    cursor: () => cursorNow(reading),
    settle: (events) => settle(settling, events),
    ordersOf: (wallet, page) => ordersOf(lists, wallet, page),
    fillsOf: (counts, cursor) => fillsOf(lists, counts, cursor),
    orderById: (wallet, id, mostFills) => orderById(orders, wallet, id, mostFills),
    orderIdByClientId: (wallet, clientOrderId) => orderIdByClientId(orders, wallet, clientOrderId),
    placedOrderId: refusedWhileAway(
      (wallet: string, clientOrderId: string) => orderIdByClientId(placing, wallet, clientOrderId),
      () => askOnce(placing, 'select 1'),
    ),
    tradesOf: (wallet, filter) => tradesOf(lists, wallet, filter),
    tradesOfMarket: (market, filter) => tradesOfMarket(reading, market, filter),
    lastTradesBefore: (timeMs) => lastTradesBefore(reading, timeMs),
    secondsAfter: (tradeId, beforeMs, limit) => secondsAfter(reading, tradeId, beforeMs, limit),
    minutesOfMarket: (market, fromMs) => minutesOfMarket(reading, market, fromMs),
    candlesOfMarket: (market, timeframe, range) => candlesOfMarket(reading, market, timeframe, range),
    movementByReference: (kind, reference) => movementByReference(reading, kind, reference),
    balancesAt: (asset, sequence) => balancesAt(auditing, asset, sequence),
    liveOrdersAt: (sequence) => liveOrdersAt(auditing, sequence),
    audit: (work) => audit(auditing, work),
    check: () => checkLedger(auditing),
    switches: () => readSwitches(auditing),
    atRest: (work) => atRest(auditing, work),
    assets: () => assets(auditing),
    clientOrderIds: () => clientOrderIds(auditing),
    movementReferences: () => movementReferences(auditing),
    noteReconciliation: (note) => noteReconciliation(reading, note),
    lastReconciliation: () => lastReconciliation(reading),
    entries: (filter) => entries(auditing, filter),
    close: async () => {
      await Promise.all(pools.map((pool) => pool.end()));
    },
  };
};
