/** Sums the candles of a batch. Settlement writes them in its transaction, so that each execution counts once. */

import { bucketStartMs, type Candle, candleOfTrade, joinCandles, type Timeframe } from '../domain/candle.ts';
import type { Trade } from '../domain/order.ts';
import { numberArray, type Statement, textArray } from './round-trip.ts';

/** Timeframes that are stored. A bucket of each lies within one bucket of the next. */
const KEPT_TIMEFRAMES = ['1m', '1h', '1D'] as const satisfies readonly Timeframe[];
export type KeptTimeframe = (typeof KEPT_TIMEFRAMES)[number];

/** Additions of one batch to one candle. */
interface Addition {
  readonly market: string;
  readonly timeframe: KeptTimeframe;
  candle: Candle;
  readonly firstTradeId: number;
  lastTradeId: number;
}

/** Additions of one batch to the candles of its markets. */
export class CandleRows {
  readonly #minutes = new Map<string, Addition>();

  /** @param trade later than all trades that were added or written before */
  add(trade: Trade, notional: bigint): void {
    const { market, tradeId } = trade;
    const candle = candleOfTrade(bucketStartMs('1m', trade.timeMs), trade, notional);
    const firstTradeId = tradeId;
    addTo(this.#minutes, { market, timeframe: '1m', candle, firstTradeId, lastTradeId: tradeId });
  }

  /** Returns null when there was no trade. */
  statement(): Statement | null {
    if (this.#minutes.size === 0) return null;
    const rows: Addition[] = [];
    let finer = this.#minutes;
    for (const timeframe of KEPT_TIMEFRAMES) {
      finer = timeframe === '1m' ? finer : folded(finer, timeframe);
      rows.push(...finer.values());
    }
    const candles = rows.map(({ candle }) => candle);
    return {
      name: 'write candles',
      text: WRITE_CANDLES,
      values: [
        textArray(rows.map(({ market }) => market)),
        textArray(rows.map(({ timeframe }) => timeframe)),
        numberArray(candles.map(({ openMs }) => openMs)),
        numberArray(candles.map(({ openTicks }) => openTicks)),
        numberArray(candles.map(({ highTicks }) => highTicks)),
        numberArray(candles.map(({ lowTicks }) => lowTicks)),
        numberArray(candles.map(({ closeTicks }) => closeTicks)),
        numberArray(candles.map(({ volumeSteps }) => volumeSteps)),
        numberArray(candles.map(({ quoteAtoms }) => quoteAtoms)),
        numberArray(rows.map(({ firstTradeId }) => firstTradeId)),
        numberArray(rows.map(({ lastTradeId }) => lastTradeId)),
      ],
    };
  }
}

/** Returns the same additions for a longer timeframe. */
function folded(additions: ReadonlyMap<string, Addition>, timeframe: KeptTimeframe): Map<string, Addition> {
  const longer = new Map<string, Addition>();
  for (const addition of additions.values()) {
    const { candle } = addition;
    const openMs = bucketStartMs(timeframe, candle.openMs);
    const longerCandle = Object.assign({}, candle, { openMs });
    addTo(longer, Object.assign({}, addition, { timeframe, candle: longerCandle }));
  }
  return longer;
}

/** Joins an addition to the earlier additions of the same candle. */
function addTo(additions: Map<string, Addition>, addition: Addition): void {
  const key = `${addition.market} ${addition.candle.openMs}`;
  const found = additions.get(key);
  if (found === undefined) {
    additions.set(key, addition);
    return;
  }
  found.candle = joinCandles(found.candle, addition.candle);
  found.lastTradeId = addition.lastTradeId;
}

const WRITE_CANDLES = `
  insert into public.candles (market, timeframe, open_ms, open_ticks, high_ticks, low_ticks, close_ticks, volume_steps,
    quote_atoms, first_trade_id, last_trade_id)
  select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::bigint[], $8::numeric[], $9::numeric[], $10::bigint[], $11::bigint[])
  on conflict (market, timeframe, open_ms) do update
  set high_ticks = greatest(candles.high_ticks, excluded.high_ticks),
      low_ticks = least(candles.low_ticks, excluded.low_ticks),
      close_ticks = excluded.close_ticks,
      volume_steps = candles.volume_steps + excluded.volume_steps,
      quote_atoms = candles.quote_atoms + excluded.quote_atoms,
      last_trade_id = excluded.last_trade_id`;
