/** One-minute candles: kept by settlement in its transaction, so that each execution counts once. */

import type pg from 'pg';
import { bucketStartMs, type Candle, candleOfTrade, joinCandles } from '../domain/candle.ts';
import type { Cursor } from '../domain/event.ts';
import type { Trade } from '../domain/order.ts';
import { readCursor } from './cursor.ts';
import { inSnapshot } from './pool.ts';
import { numberArray, type Statement, textArray } from './round-trip.ts';

/** What one batch adds to a market's minute. */
interface Minute {
  readonly market: string;
  candle: Candle;
  quoteAtoms: bigint;
  readonly firstTradeId: number;
  lastTradeId: number;
}

/** What a batch adds to the candles of its markets. */
export class Minutes {
  readonly #minutes = new Map<string, Minute>();

  /** @param trade follows all that were added before, and all that were written */
  add(trade: Trade, notional: bigint): void {
    const { market, tradeId } = trade;
    const openMs = bucketStartMs('1m', trade.timeMs);
    const candle = candleOfTrade(openMs, trade);
    const key = `${market} ${openMs}`;
    const minute = this.#minutes.get(key);
    if (minute === undefined) {
      this.#minutes.set(key, {
        market,
        candle,
        quoteAtoms: notional,
        firstTradeId: tradeId,
        lastTradeId: tradeId,
      });
      return;
    }
    minute.candle = joinCandles(minute.candle, candle);
    minute.quoteAtoms += notional;
    minute.lastTradeId = tradeId;
  }

  /** Null: there was no trade. */
  statement(): Statement | null {
    if (this.#minutes.size === 0) return null;
    const minutes = [...this.#minutes.values()];
    const candles = minutes.map(({ candle }) => candle);
    return {
      name: 'write candles',
      text: WRITE_CANDLES,
      values: [
        textArray(minutes.map(({ market }) => market)),
        numberArray(candles.map(({ openMs }) => openMs)),
        numberArray(candles.map(({ openTicks }) => openTicks)),
        numberArray(candles.map(({ highTicks }) => highTicks)),
        numberArray(candles.map(({ lowTicks }) => lowTicks)),
        numberArray(candles.map(({ closeTicks }) => closeTicks)),
        numberArray(candles.map(({ volumeSteps }) => volumeSteps)),
        numberArray(minutes.map(({ quoteAtoms }) => quoteAtoms)),
        numberArray(minutes.map(({ firstTradeId }) => firstTradeId)),
        numberArray(minutes.map(({ lastTradeId }) => lastTradeId)),
      ],
    };
  }
}

const WRITE_CANDLES = `
  insert into candles
  select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::numeric[], $8::numeric[], $9::bigint[], $10::bigint[])
  on conflict (market, open_ms) do update
  set high_ticks = greatest(candles.high_ticks, excluded.high_ticks),
      low_ticks = least(candles.low_ticks, excluded.low_ticks),
      close_ticks = excluded.close_ticks,
      volume_steps = candles.volume_steps + excluded.volume_steps,
      quote_atoms = candles.quote_atoms + excluded.quote_atoms,
      last_trade_id = excluded.last_trade_id`;

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
