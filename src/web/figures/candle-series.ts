/**
 * The candles of the chart: history of the REST route, joined with the current candle of the stream. The texts of the
 * wire are kept; only the drawing converts them to doubles.
 */

/** A candle of either source. Amounts are plain decimals. */
export interface ChartCandle {
  /** Unix seconds of the bucket's start. */
  readonly time: number;
  readonly open: string;
  readonly high: string;
  readonly low: string;
  readonly close: string;
  /** Base units; zero for a bucket without executions, which only the current candle can be. */
  readonly volume: string;
}

/** Oldest first, one candle a bucket. Buckets without executions have none. */
export type CandleSeries = readonly ChartCandle[];

const hasExecutions = (candle: ChartCandle): boolean => /[1-9]/.test(candle.volume);

const same = (one: ChartCandle, other: ChartCandle): boolean =>
  one.open === other.open &&
  one.high === other.high &&
  one.low === other.low &&
  one.close === other.close &&
  one.volume === other.volume;

/**
 * Adds candles of the REST route, older or newer than those of the series. They replace candles of the same bucket,
 * except for the last of the series: there the stream is as new as the route. History that begins after the series
 * has ended replaces the series, for what lies between them is unknown.
 * @param history oldest first
 */
export function addHistory(series: CandleSeries, history: CandleSeries): CandleSeries {
  const [first] = history;
  const current = series.at(-1);
  if (first === undefined) return series;
  if (current === undefined || first.time > current.time) return history;
  const byTime = new Map(series.map((candle) => [candle.time, candle]));
  for (const candle of history) {
    const known = byTime.get(candle.time);
    if (candle.time === current.time || (known !== undefined && same(known, candle))) continue;
    byTime.set(candle.time, candle);
  }
  return [...byTime.values()].sort((one, other) => one.time - other.time);
}

interface Joined {
  readonly series: CandleSeries;
  /**
   * Start of a bucket that has ended, in Unix seconds, when it may have had executions after its last frame, so that
   * the route must be asked for it; null otherwise.
   */
  readonly ended: number | null;
}

/**
 * Joins the current candle of a frame to the series. Frames that are older than the series or equal to its end change
 * nothing. A bucket without executions leaves no candle behind when it ends.
 */
export function joinFrame(series: CandleSeries, current: ChartCandle): Joined {
  const last = series.at(-1);
  if (last === undefined) return { series: [current], ended: null };
  if (current.time < last.time || (current.time === last.time && same(current, last))) {
    return { series, ended: null };
  }
  if (current.time === last.time) return { series: [...series.slice(0, -1), current], ended: null };
  const before = hasExecutions(last) ? series : series.slice(0, -1);
  return { series: [...before, current], ended: last.time };
}

/** Returns the smallest redraw that is needed: the last candle is drawn anew or added, or everything is drawn. */
export function drawingStep(drawn: CandleSeries, next: CandleSeries): 'none' | 'last' | 'all' {
  if (drawn === next) return 'none';
  const added = next.length - drawn.length;
  if (drawn.length === 0 || added < 0 || added > 1) return 'all';
  const unchanged = next.length - 1;
  for (let at = 0; at < unchanged; at += 1) if (drawn[at] !== next[at]) return 'all';
  return 'last';
}
