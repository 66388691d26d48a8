/** Executions as settled. */

import type pg from 'pg';
import type { Cursor } from '../domain/event.ts';
import type { Side, Trade } from '../domain/order.ts';
import type { SecondOfTrades } from '../domain/rolling-day.ts';
import { readCursor } from './cursor.ts';
import { LOT_COLUMNS, type LotRow, lotOf } from './lot.ts';
import { type Ask, inOrder, inSnapshot } from './pool.ts';
import { endOf } from './walk.ts';

export interface TradeRow extends LotRow {
  trade_id: bigint;
  sequence: bigint;
  market: string;
  taker_side: Side;
  price_ticks: bigint;
  size_steps: bigint;
  fee_atoms: bigint;
  taker_order_id: string;
  maker_order_id: string;
  taker_wallet: string;
  maker_wallet: string;
  time_ms: bigint;
}

const TRADE_COLUMNS = `trade_id, sequence, market, taker_side, price_ticks, size_steps, fee_atoms, taker_order_id,
  maker_order_id, taker_wallet, maker_wallet, time_ms, ${LOT_COLUMNS}`;

const tradeOf = (row: TradeRow): Trade => ({
  tradeId: Number(row.trade_id),
  market: row.market,
  takerSide: row.taker_side,
  priceTicks: row.price_ticks,
  sizeSteps: row.size_steps,
  feeAtoms: row.fee_atoms,
  takerOrderId: row.taker_order_id,
  makerOrderId: row.maker_order_id,
  takerWallet: row.taker_wallet,
  makerWallet: row.maker_wallet,
  timeMs: Number(row.time_ms),
  sequence: Number(row.sequence),
  lot: lotOf(row),
});

/** The newest trades of one role of a wallet or of an order. */
const walk = (columns: readonly string[], values: readonly string[], before: string, limit: string): string =>
  `(select ${TRADE_COLUMNS} from trades where true ${endOf(columns, 'trade_id', values, before)} limit ${limit})`;

/**
 * The newest fills of each order, as many as `counts` says, by order id and in the order of execution. An order is a
 * taker once and a maker afterwards: its newest fills are at the end of two short walks of an index.
 */
export const newestFills = async (
  ask: Ask,
  counts: ReadonlyMap<string, number>,
): Promise<Map<string, Trade[]>> => {
  const wanted = [...counts].filter(([, count]) => count > 0);
  const byOrder = new Map<string, Trade[]>(wanted.map(([id]) => [id, []]));
  if (wanted.length === 0) return byOrder;
  const rows = await ask<TradeRow & { asked_id: string }>(
    `select asked.id as asked_id, found.* from unnest($1::text[], $2::bigint[]) as asked (id, fills)
     cross join lateral (
       ${walk(['maker_order_id'], ['asked.id'], String(Number.MAX_SAFE_INTEGER), 'asked.fills')}
       union all
       ${walk(['taker_order_id'], ['asked.id'], String(Number.MAX_SAFE_INTEGER), 'asked.fills')}
       order by trade_id desc limit asked.fills
     ) as found
     order by found.trade_id`,
    [wanted.map(([id]) => id), wanted.map(([, count]) => count)],
  );
  for (const row of rows) byOrder.get(row.asked_id)!.push(tradeOf(row));
  return byOrder;
};

export interface WalletTradesFilter {
  /** Symbol. */
  readonly market?: string | undefined;
  /** Lists this order of the wallet alone; an order of another wallet lists nothing. */
  readonly orderId?: string | undefined;
  /** Only trades before this one. */
  readonly beforeTradeId?: number | undefined;
  readonly limit: number;
}

const OF_WALLET = `
  select own.* from (select symbol from markets where $2::text is null or symbol = $2) as listed
  cross join lateral (
    ${walk(['taker_wallet', 'market'], ['$1', 'listed.symbol'], '$3', '$4')}
    union all ${walk(['maker_wallet', 'market'], ['$1', 'listed.symbol'], '$3', '$4')}
  ) as own
  order by own.trade_id desc limit $4`;

const OF_ORDER = `
  select own.* from (
    select id from orders where id = $5 and wallet = $1 and ($2::text is null or market = $2)) as listed
  cross join lateral (
    ${walk(['taker_order_id'], ['listed.id'], '$3', '$4')}
    union all ${walk(['maker_order_id'], ['listed.id'], '$3', '$4')}
  ) as own
  order by own.trade_id desc limit $4`;

/**
 * The wallet's latest trades, as maker or taker, newest first.
 *
 * Each market and role is one short walk of an index from its end: a wallet with millions of trades in
 * one market costs no more than one with ten.
 */
export const tradesOf = (
  pool: pg.Pool,
  wallet: string,
  { market, orderId, beforeTradeId = Number.MAX_SAFE_INTEGER, limit }: WalletTradesFilter,
): Promise<{ cursor: Cursor; trades: Trade[] }> =>
  inOrder(pool, async (ask) => {
    const cursor = await readCursor(ask);
    const parameters = [wallet, market ?? null, beforeTradeId, limit];
    const rows = await (orderId === undefined
      ? ask<TradeRow>(OF_WALLET, parameters)
      : ask<TradeRow>(OF_ORDER, [...parameters, orderId]));
    return { cursor, trades: rows.map(tradeOf) };
  });

export interface MarketTradesFilter {
  /** The taker's. */
  readonly side?: Side | undefined;
  readonly limit: number;
  /** Unix milliseconds, inclusive. */
  readonly fromMs?: number | undefined;
  /** Unix milliseconds, exclusive. */
  readonly toMs?: number | undefined;
}

/** Newest first: an end of the index for each side. */
export const tradesOfMarket = (
  pool: pg.Pool,
  market: string,
  { side, limit, fromMs, toMs }: MarketTradesFilter,
): Promise<{ cursor: Cursor; trades: Trade[] }> =>
  inSnapshot(pool, async (ask) => {
    const cursor = await readCursor(ask);
    const rows = await ask<TradeRow>(
      `select found.* from unnest($2::text[]) as asked (side)
       cross join lateral (
         select ${TRADE_COLUMNS} from trades
         where market = $1 and taker_side = asked.side
           and time_ms >= coalesce($3::bigint, 0) and ($4::bigint is null or time_ms < $4)
         order by time_ms desc, trade_id desc limit $5
       ) as found
       order by trade_id desc limit $5`,
      [market, side === undefined ? ['buy', 'sell'] : [side], fromMs, toMs, limit],
    );
    return { cursor, trades: rows.map(tradeOf) };
  });

/** The last settled trade before a time (Unix milliseconds) of each market that has one. */
export const lastTradesBefore = (pool: pg.Pool, timeMs: number): Promise<Trade[]> =>
  inSnapshot(pool, async (ask) => {
    const rows = await ask<TradeRow>(
      `select distinct on (market) found.* from markets
       cross join (values ('buy'), ('sell')) as asked (side)
       cross join lateral (
         select ${TRADE_COLUMNS} from trades
         where market = markets.symbol and taker_side = asked.side and time_ms < $1
         order by time_ms desc, trade_id desc limit 1
       ) as found
       order by market, trade_id desc`,
      [timeMs],
    );
    return rows.map(tradeOf);
  });

interface SecondRow {
  market: string;
  second: bigint;
  first_ticks: bigint;
  last_ticks: bigint;
  high_ticks: bigint;
  low_ticks: bigint;
  size_steps: string;
  quote_atoms: string;
  trades: bigint;
  last_trade_id: bigint;
}

export interface SettledSeconds {
  readonly cursor: Cursor;
  /** By market in the order of time. */
  readonly seconds: SecondOfTrades[];
  /** Where the next read goes on; as given when there was nothing. */
  readonly lastTradeId: number;
  /** Whether the limit was reached, so that there may be more. */
  readonly isPart: boolean;
}

/** At most `limit` trades of all markets that follow a trade, before a time (Unix milliseconds), a second each. */
export const secondsAfter = (
  pool: pg.Pool,
  tradeId: number,
  beforeMs: number,
  limit: number,
): Promise<SettledSeconds> =>
  inSnapshot(pool, async (ask) => {
    const cursor = await readCursor(ask);
    // min and max of [id, price] is the price of the first and of the last trade, without a sort.
    const rows = await ask<SecondRow>(
      `select market, time_ms / 1000 as second, (min(array[trade_id, price_ticks]))[2] as first_ticks,
         (max(array[trade_id, price_ticks]))[2] as last_ticks, max(price_ticks) as high_ticks,
         min(price_ticks) as low_ticks, sum(size_steps)::text as size_steps,
         sum(notional_atoms)::text as quote_atoms, count(*) as trades, max(trade_id) as last_trade_id
       from (select * from trades where trade_id > $1 and time_ms < $2 order by trade_id limit $3) as fresh
       group by market, second order by second`,
      [tradeId, beforeMs, limit],
    );
    const seconds = rows.map(secondOf);
    return {
      cursor,
      seconds,
      lastTradeId: rows.reduce((last, row) => Math.max(last, Number(row.last_trade_id)), tradeId),
      isPart: seconds.reduce((count, { trades }) => count + trades, 0) === limit,
    };
  });

const secondOf = (row: SecondRow): SecondOfTrades => ({
  market: row.market,
  second: Number(row.second),
  firstTicks: row.first_ticks,
  lastTicks: row.last_ticks,
  highTicks: row.high_ticks,
  lowTicks: row.low_ticks,
  sizeSteps: BigInt(row.size_steps),
  quoteAtoms: BigInt(row.quote_atoms),
  trades: Number(row.trades),
});
