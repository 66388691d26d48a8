/** Reads settled candles: the minutes of the current bucket, and the history of every timeframe. */

import {
  bucketEndMs,
  bucketGrid,
  bucketStartMs,
  type Candle,
  TIMEFRAMES,
  type Timeframe,
} from '../domain/candle.ts';
import type { Cursor } from '../domain/event.ts';
import type { KeptTimeframe } from './candle-rows.ts';
import {
  placeParameters,
  type ReadOn,
  readCursorText,
  readOn,
  type SettledPlace,
  segmentsOfPlace,
  withCursor,
  withPlace,
} from './cursor.ts';
import { joinedLines, lineOf, rowsOf } from './lines.ts';
import type { Moments } from './moment.ts';
import type { Pools } from './pools.ts';
import { askForTexts, type PreparedQuery, prepared } from './queries.ts';
import type { Direction } from './walk.ts';

/** SQL that merges several candles: min and max of [time, price] are the first and the last price, without a sort. */
const FOLDED = [
  '(min(array[candles.open_ms, open_ticks]))[2]',
  'max(high_ticks)',
  'min(low_ticks)',
  '(max(array[candles.open_ms, close_ticks]))[2]',
  'sum(volume_steps)',
  'sum(quote_atoms)',
];

/** @param fields start of the bucket, followed by the fields of `FOLDED` */
const readCandle = (fields: readonly string[]): Candle => ({
  openMs: Number(fields[0]),
  openTicks: BigInt(fields[1]!),
  highTicks: BigInt(fields[2]!),
  lowTicks: BigInt(fields[3]!),
  closeTicks: BigInt(fields[4]!),
  volumeSteps: BigInt(fields[5]!),
  quoteAtoms: BigInt(fields[6]!),
});

interface SettledMinutes extends ReadOn {
  /** The minutes from `fromMs` on except the last, merged; they can change no more. */
  readonly closed: Candle | null;
  /** The market's last minute, which may lie before `fromMs`; null if the market never traded. */
  readonly last: Candle | null;
}

const MINUTES = withPlace(
  `select ${joinedLines('line', 'is_last')} from (
    select candles.open_ms = last.open_ms as is_last,
      ${lineOf('candles.open_ms = last.open_ms', 'min(candles.open_ms)', ...FOLDED)} as line
    from (select max(open_ms) as open_ms from public.candles where market = $1 and timeframe = '1m') as last
    join public.candles on market = $1 and timeframe = '1m' and candles.open_ms >= least($2, last.open_ms)
    group by is_last) as minutes`,
  3,
);

export interface CandleRange {
  /** Maximum candles. */
  readonly limit: number;
  /** The end of the range from which the candles are taken, the newest unless given. */
  readonly pick?: 'newest' | 'oldest' | undefined;
  /** Unix milliseconds, inclusive, of a candle's start. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

interface SettledCandles {
  readonly cursor: Cursor;
  /** Oldest first; buckets without executions are left out. */
  readonly candles: Candle[];
}

/** Candles from which a longer one is merged, and their greatest number. */
interface CandleSource {
  readonly kept: KeptTimeframe;
  readonly max: number;
}

const SOURCES: Readonly<Record<Timeframe, CandleSource>> = {
  '1m': { kept: '1m', max: 1 },
  '5m': { kept: '1m', max: 5 },
  '15m': { kept: '1m', max: 15 },
  '1h': { kept: '1h', max: 1 },
  '4h': { kept: '1h', max: 4 },
  '1D': { kept: '1D', max: 1 },
  '1W': { kept: '1D', max: 7 },
  '1M': { kept: '1D', max: 31 },
};

/** Returns the SQL of the start of the bucket that a candle belongs to. */
function startSql(timeframe: Timeframe): string {
  const grid = bucketGrid(timeframe);
  return grid === null
    ? `(extract(epoch from date_trunc('month', to_timestamp(open_ms / 1000) at time zone 'UTC')) * 1000)::bigint`
    : `open_ms - (open_ms - ${grid.originMs}) % ${grid.lengthMs}`;
}

/**
 * Reads as many rows, from one end, as the requested buckets can have. If the rows cover more buckets, only the last that
 * was reached can be incomplete, and it is past the limit.
 */
const historyOf = (timeframe: Timeframe, direction: Direction): PreparedQuery =>
  prepared(
    withCursor(`select ${joinedLines('line', 'start_ms')} from (
      select start_ms, ${lineOf('start_ms', ...FOLDED)} as line
      from (
        select *, ${startSql(timeframe)} as start_ms from public.candles
        where market = $1 and timeframe = '${SOURCES[timeframe].kept}' and open_ms >= $2 and open_ms < $3
        order by open_ms ${direction} limit $4 * ${SOURCES[timeframe].max}
      ) as candles
      group by start_ms order by start_ms ${direction} limit $4) as buckets`),
  );

const HISTORIES = Object.fromEntries(
  TIMEFRAMES.map((timeframe) => [
    timeframe,
    { newest: historyOf(timeframe, 'desc'), oldest: historyOf(timeframe, 'asc') },
  ]),
) as Readonly<Record<Timeframe, Readonly<Record<'newest' | 'oldest', PreparedQuery>>>>;

export type CandleQueries = ReturnType<typeof candleQueries>;

/** Reads of settled candles. */
export function candleQueries({ public: reading }: Pick<Pools, 'public'>, moments: Moments) {
  return {
    /**
     * Returns the one-minute candles of a market from a minute on.
     * @param fromMs the start of a minute in Unix milliseconds
     * @param from the place of an earlier read on which this one goes on
     */
    async minutes(market: string, fromMs: number, from: SettledPlace | null = null): Promise<SettledMinutes> {
      const parameters = [market, fromMs, ...placeParameters(from)];
      const answer = await moments.read(reading, (moment) =>
        moment.ask(MINUTES, segmentsOfPlace(moment, from), parameters),
      );
      const rows = rowsOf(answer.lines);
      const found = (isLast: string): Candle | null => {
        const fields = rows.find(([is]) => is === isLast);
        return fields === undefined ? null : readCandle(fields.slice(1));
      };
      return { ...readOn(answer), closed: found('f'), last: found('t') };
    },

    /**
     * Returns the newest or the oldest candles of a market whose start lies in a range, oldest first. Buckets without executions are
     * left out.
     */
    async history(
      market: string,
      timeframe: Timeframe,
      { limit, pick = 'newest', fromMs = 0, toMs }: CandleRange,
    ): Promise<SettledCandles> {
      const startMs = bucketStartMs(timeframe, fromMs);
      const firstMs = startMs === fromMs ? fromMs : bucketEndMs(timeframe, fromMs);
      const endMs = toMs === undefined ? Number.MAX_SAFE_INTEGER : bucketEndMs(timeframe, toMs);
      const [cursor, lines] = await askForTexts(reading, HISTORIES[timeframe][pick], [
        market,
        firstMs,
        endMs,
        limit,
      ]);
      return { cursor: readCursorText(cursor), candles: rowsOf(lines).map(readCandle) };
    },
  };
}
