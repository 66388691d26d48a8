/** Holds candles and 24-hour figures against the trades of the journal. */

import { bucketStartMs, type Candle, type Timeframe } from '../../../src/domain/candle.ts';
import type { EngineEvent } from '../../../src/domain/event.ts';
import type { Trade } from '../../../src/domain/order.ts';
import type { DayFigures, Figures } from '../../../src/market-data/index.ts';
import { MARKETS } from './world.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

const json = (value: unknown): string =>
  JSON.stringify(value, (_name, part) => (typeof part === 'bigint' ? `${part}` : part));

const tradesOf = (events: readonly EngineEvent[], market: string): Trade[] =>
  events.flatMap((event) =>
    event.kind === 'order_placed' && event.order.market === market ? event.trades : [],
  );

/** Ticks and steps of the simulated markets are one, so price times size is in atoms. */
const sums = (trades: readonly Trade[]): readonly [steps: bigint, atoms: bigint] => [
  trades.reduce((sum, { sizeSteps }) => sum + sizeSteps, 0n),
  trades.reduce((sum, { sizeSteps, priceTicks }) => sum + sizeSteps * priceTicks, 0n),
];

function extremes(
  trades: readonly Trade[],
): readonly [first: bigint, high: bigint, low: bigint, last: bigint] {
  const prices = trades.map(({ priceTicks }) => priceTicks);
  const sorted = prices.toSorted((one, other) => Number(one - other));
  return [prices[0]!, sorted.at(-1)!, sorted[0]!, prices.at(-1)!];
}

function expectedCandles(trades: readonly Trade[], timeframe: Timeframe): unknown[] {
  const buckets = new Map<number, Trade[]>();
  for (const trade of trades) {
    const openMs = bucketStartMs(timeframe, trade.timeMs);
    buckets.set(openMs, [...(buckets.get(openMs) ?? []), trade]);
  }
  return [...buckets].map(([openMs, found]) => [openMs, ...extremes(found), ...sums(found)]);
}

const candleLine = ({
  openMs,
  openTicks,
  highTicks,
  lowTicks,
  closeTicks,
  volumeSteps,
  quoteAtoms,
}: Candle) => [...[openMs, openTicks, highTicks, lowTicks, closeTicks, volumeSteps, quoteAtoms]];

/**
 * Compares candles with the trades of the first `count` events, for each count between the two that the engine had
 * before and after the answer.
 * @returns the difference, or undefined
 */
export function candleDifference(
  candles: readonly Candle[],
  { market, timeframe }: { readonly market: string; readonly timeframe: Timeframe },
  { events, from }: { readonly events: readonly EngineEvent[]; readonly from: number },
): string | undefined {
  const found = json(candles.map(candleLine));
  return noneIs(found, from, events, (some) => expectedCandles(tradesOf(some, market), timeframe));
}

/** Compares 24-hour figures in the same way. */
export function figuresDifference(
  { asOfMs, bySymbol }: Figures,
  { events, from }: { readonly events: readonly EngineEvent[]; readonly from: number },
): string | undefined {
  const found = json([...bySymbol].sort().map(([symbol, figures]) => [symbol, figuresLine(figures)]));
  return noneIs(found, from, events, (some) => expectedFigures(some, asOfMs));
}

const figuresLine = (figures: DayFigures): unknown[] => {
  const { trades, baseSteps, quoteAtoms, firstPriceTicks, highTicks, lowTicks, lastPriceTicks } = figures;
  return [trades, baseSteps, quoteAtoms, firstPriceTicks, highTicks, lowTicks, lastPriceTicks];
};

function expectedFigures(events: readonly EngineEvent[], asOfMs: number): unknown[] {
  return [...MARKETS].sort().flatMap((market) => {
    const before = tradesOf(events, market).filter(({ timeMs }) => timeMs < asOfMs);
    const last = before.at(-1)?.priceTicks;
    if (last === undefined) return [];
    const trades = before.filter(({ timeMs }) => timeMs >= asOfMs - DAY_MS);
    const [first, high, low] = trades.length > 0 ? extremes(trades) : [null, null, null];
    return [[market, [trades.length, ...sums(trades), first, high, low, last]]];
  });
}

function noneIs(
  found: string,
  from: number,
  events: readonly EngineEvent[],
  expectedOf: (events: readonly EngineEvent[]) => unknown,
): string | undefined {
  let expected = '';
  for (let count = from; count <= events.length; count += 1) {
    expected = json(expectedOf(events.slice(0, count)));
    if (expected === found) return undefined;
  }
  return `expected ${expected}, found ${found}`;
}
