/** Computes the current candle of any timeframe from settled minutes and unsettled executions. */

import {
  bucketStartMs,
  type Candle,
  candleOfSum,
  flatCandle,
  joinCandles,
  type Timeframe,
} from '../domain/candle.ts';
import type { Ledger, SettledPlace } from '../ledger/index.ts';
import { sumsBeyond, type UnsettledReader } from './unsettled-trades.ts';

/** Cache of a bucket's closed minutes. A month is folded once, and then each new minute is added. */
interface KeptMinutes {
  readonly bucketMs: number;
  readonly closed: Candle | null;
  /** Start of the first minute that `closed` does not contain. */
  readonly fromMs: number;
  /** Place of the ledger at the last read; null before the first. */
  readonly place: SettledPlace | null;
}

export class CurrentCandles {
  readonly #unsettled: Pick<UnsettledReader, 'read'>;
  readonly #ledger: Pick<Ledger, 'candles'>;
  /** Closed parts by market and timeframe. */
  readonly #kept = new Map<string, KeptMinutes>();

  constructor(unsettled: Pick<UnsettledReader, 'read'>, ledger: Pick<Ledger, 'candles'>) {
    this.#unsettled = unsettled;
    this.#ledger = ledger;
  }

  /** @param notBeforeMs lower bound of the current time */
  async read(symbol: string, timeframe: Timeframe, notBeforeMs = 0): Promise<Candle | null> {
    const unsettled = await this.#unsettled.read();
    const bucketMs = bucketStartMs(timeframe, Math.max(unsettled.timeMs, notBeforeMs));
    const kept = this.#keptOf(symbol, timeframe, bucketMs);
    const read = await this.#ledger.candles.minutes(symbol, kept.fromMs, kept.place);
    const { place, closed, last } = read;
    if (!read.goesOn) {
      this.#kept.clear();
      return this.read(symbol, timeframe, notBeforeMs);
    }
    // The next bucket began between the two reads, and an execution in it is already settled.
    if (last !== null && bucketStartMs(timeframe, last.openMs) > bucketMs) {
      return this.read(symbol, timeframe, last.openMs);
    }
    const isOver = last === null || last.openMs < bucketMs;
    const settled = isOver ? kept.closed : joined([kept.closed, closed]);
    if (!isOver) {
      this.#kept.set(`${symbol} ${timeframe}`, { bucketMs, closed: settled, fromMs: last.openMs, place });
    }
    const further = sumsBeyond(place, unsettled, symbol);
    const candle = joined([
      settled,
      isOver ? null : last,
      ...further.filter(({ second }) => second * 1_000 >= bucketMs).map((sum) => candleOfSum(bucketMs, sum)),
    ]);
    if (candle !== null) return { ...candle, openMs: bucketMs };
    const priceTicks = further.at(-1)?.lastTicks ?? last?.closeTicks;
    return priceTicks === undefined ? null : flatCandle(bucketMs, priceTicks);
  }

  #keptOf(symbol: string, timeframe: Timeframe, bucketMs: number): KeptMinutes {
    const kept = this.#kept.get(`${symbol} ${timeframe}`);
    return kept?.bucketMs === bucketMs ? kept : { bucketMs, closed: null, fromMs: bucketMs, place: null };
  }
}

/** Joins consecutive candles into one. Returns null if all are null. */
const joined = (candles: readonly (Candle | null)[]): Candle | null =>
  candles.reduce((whole, part) => (whole && part ? joinCandles(whole, part) : (whole ?? part)), null);
