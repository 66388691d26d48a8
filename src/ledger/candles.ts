/** One-minute candles: kept by settlement in its transaction, so that each execution counts once. */

import type pg from 'pg';
import { bucketStartMs, type Candle, candleOfTrade, joinCandles } from '../domain/candle.ts';
import type { Cursor } from '../domain/event.ts';
import { notionalAtoms, type Trade } from '../domain/order.ts';
import { readCursor } from './cursor.ts';
import { inSnapshot } from './pool.ts';

/** What one batch adds to a market's minute. */
interface Minute {
  readonly market: string;
  readonly candle: Candle;
  readonly quoteAtoms: bigint;
  readonly firstTradeId: number;
  readonly lastTradeId: number;
}

/** @param trades in the order of execution */
const minutesOf = (trades: readonly Trade[]): Minute[] => {
  const minutes = new Map<string, Minute>();
  for (const trade of trades) {
    const { market, tradeId } = trade;
    const openMs = bucketStartMs('1m', trade.timeMs);
    const key = `${market} ${openMs}`;
    const before = minutes.get(key);
    const candle = candleOfTrade(openMs, trade);
    minutes.set(key, {
      market,
      candle: before ? joinCandles(before.candle, candle) : candle,
      quoteAtoms: (before?.quoteAtoms ?? 0n) + notionalAtoms(trade),
      firstTradeId: before?.firstTradeId ?? tradeId,
      lastTradeId: tradeId,
    });
  }
  return [...minutes.values()];
};

/** @param trades new ones, which follow all that were written before, in the order of execution */
export const writeCandles = async (client: pg.PoolClient, trades: readonly Trade[]): Promise<void> => {
  if (trades.length === 0) return;
  const minutes = minutesOf(trades);
  const candles = minutes.map(({ candle }) => candle);
  await client.query(
    `insert into candles
     select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
       $7::numeric[], $8::numeric[], $9::bigint[], $10::bigint[])
     on conflict (market, open_ms) do update
     set high_ticks = greatest(candles.high_ticks, excluded.high_ticks),
         low_ticks = least(candles.low_ticks, excluded.low_ticks),
         close_ticks = excluded.close_ticks,
         volume_steps = candles.volume_steps + excluded.volume_steps,
         quote_atoms = candles.quote_atoms + excluded.quote_atoms,
         last_trade_id = excluded.last_trade_id`,
    [
      minutes.map(({ market }) => market),
      candles.map(({ openMs }) => openMs),
      candles.map(({ openTicks }) => openTicks),
      candles.map(({ highTicks }) => highTicks),
      candles.map(({ lowTicks }) => lowTicks),
      candles.map(({ closeTicks }) => closeTicks),
      candles.map(({ volumeSteps }) => volumeSteps),
      minutes.map(({ quoteAtoms }) => quoteAtoms),
      minutes.map(({ firstTradeId }) => firstTradeId),
      minutes.map(({ lastTradeId }) => lastTradeId),
    ],
  );
};

interface CandleRow {
  is_last: boolean;
  open_ms: bigint;
  open_ticks: bigint;
  high_ticks: bigint;
  low_ticks: bigint;
  close_ticks: bigint;
  volume_steps: string;
}

const candleOf = (row: CandleRow): Candle => ({
  openMs: Number(row.open_ms),
  openTicks: row.open_ticks,
  highTicks: row.high_ticks,
  lowTicks: row.low_ticks,
  closeTicks: row.close_ticks,
  volumeSteps: BigInt(row.volume_steps),
});

export interface SettledMinutes {
  readonly cursor: Cursor;
  /** The minutes from `fromMs` on but for the last, as one; they can change no more. */
  readonly closed: Candle | null;
  /** The last minute of all, which may lie before `fromMs`; null: the market never traded. */
  readonly last: Candle | null;
}

/** @param fromMs the start of a minute */
export const minutesOfMarket = (pool: pg.Pool, market: string, fromMs: number): Promise<SettledMinutes> =>
  inSnapshot(pool, async (ask) => {
    const cursor = await readCursor(ask);
    // min and max of [time, price] is the price at the first and at the last time, without a sort.
    const rows = await ask<CandleRow>(
      `select candles.open_ms = last.open_ms as is_last, min(candles.open_ms) as open_ms,
         (min(array[candles.open_ms, open_ticks]))[2] as open_ticks, max(high_ticks) as high_ticks,
         min(low_ticks) as low_ticks, (max(array[candles.open_ms, close_ticks]))[2] as close_ticks,
         sum(volume_steps) as volume_steps
       from (select max(open_ms) as open_ms from candles where market = $1) as last
       join candles on market = $1 and candles.open_ms >= least($2, last.open_ms)
       group by is_last`,
      [market, fromMs],
    );
    const found = (isLast: boolean): Candle | null => {
      const row = rows.find(({ is_last }) => is_last === isLast);
      return row ? candleOf(row) : null;
    };
    return { cursor, closed: found(false), last: found(true) };
  });
