/** One-minute candles: kept by settlement in its transaction, so that each execution counts once. */

import type pg from 'pg';
import { bucketStartMs, type Candle, candleOfTrade, joinCandles } from '../domain/candle.ts';
import type { Cursor } from '../domain/event.ts';
import type { Trade } from '../domain/order.ts';
import { readCursorText, withCursor } from './cursor.ts';
import { joinedLines, lineOf, rowsOf } from './lines.ts';
import { askForTexts, prepared } from './pool.ts';
import { numberArray, type Statement, textArray } from './round-trip.ts';

/** Additions of one batch to one minute of a market. */
interface Minute {
  readonly market: string;
  candle: Candle;
  quoteAtoms: bigint;
  readonly firstTradeId: number;
  lastTradeId: number;
}

/** Additions of one batch to the one-minute candles of its markets. */
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

const readCandle = (fields: readonly string[]): Candle => ({
  openMs: Number(fields[1]),
  openTicks: BigInt(fields[2]!),
  highTicks: BigInt(fields[3]!),
  lowTicks: BigInt(fields[4]!),
  closeTicks: BigInt(fields[5]!),
  volumeSteps: BigInt(fields[6]!),
});

export interface SettledMinutes {
  readonly cursor: Cursor;
  /** The minutes from `fromMs` on but for the last, as one; they can change no more. */
  readonly closed: Candle | null;
  /** The last minute of all, which may lie before `fromMs`; null: the market never traded. */
  readonly last: Candle | null;
}

/** min and max of [time, price] are the prices at the first and at the last time, without a sort. */
const MINUTES = prepared(
  withCursor(`select ${joinedLines('line', 'is_last')} from (
    select candles.open_ms = last.open_ms as is_last, ${lineOf(
      ...['candles.open_ms = last.open_ms', 'min(candles.open_ms)'],
      ...['(min(array[candles.open_ms, open_ticks]))[2]', 'max(high_ticks)', 'min(low_ticks)'],
      ...['(max(array[candles.open_ms, close_ticks]))[2]', 'sum(volume_steps)'],
    )} as line
    from (select max(open_ms) as open_ms from candles where market = $1) as last
    join candles on market = $1 and candles.open_ms >= least($2, last.open_ms)
    group by is_last) as minutes`),
);

/** @param fromMs the start of a minute */
export const minutesOfMarket = async (
  pool: pg.Pool,
  market: string,
  fromMs: number,
): Promise<SettledMinutes> => {
  const [cursor, lines] = await askForTexts(pool, MINUTES, [market, fromMs]);
  const rows = rowsOf(lines);
  const found = (isLast: string): Candle | null => {
    const fields = rows.find(([is]) => is === isLast);
    return fields === undefined ? null : readCandle(fields);
  };
  return { cursor: readCursorText(cursor), closed: found('f'), last: found('t') };
};
