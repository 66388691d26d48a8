/** Proves that candles from the engine and the ledger equal a recomputation from all executions. */

import { expect } from 'chai';
import { type Candle, TIMEFRAMES, type Timeframe } from '../../src/domain/candle.ts';
import type { CandleRange } from '../../src/ledger/index.ts';
import { type Random, random, runSeed } from '../support/seed.ts';
import { MARKETS } from '../support/seeded-events.ts';
import { type Replica, restoredReplica, type SimulatedMarket, simulatedMarket } from './simulated-market.ts';

/** Times at which buckets of many timeframes end together: leap and other Februaries, ends of years, Mondays. */
const ENDS = [
  '2023-02-28T00:00:00Z',
  '2023-03-01T00:00:00Z',
  '2023-03-06T00:00:00Z',
  '2023-12-31T00:00:00Z',
  '2024-01-01T00:00:00Z',
  '2024-02-29T00:00:00Z',
  '2024-03-01T00:00:00Z',
  '2024-03-31T01:00:00Z',
  '2024-03-31T04:00:00Z',
  '2024-04-01T00:00:00Z',
  '2024-12-30T00:00:00Z',
  '2025-01-01T00:00:00Z',
  '2025-01-01T00:05:00Z',
  '2025-01-01T00:15:00Z',
  '2025-01-01T00:16:00Z',
].map((time) => Date.parse(time));

/** SQL for the start of a time's bucket. */
const START_OF: Readonly<Record<Timeframe, (timeMs: string) => string>> = {
  '1m': (timeMs) => truncated('minute', timeMs),
  '5m': (timeMs) => binned('5 minutes', timeMs),
  '15m': (timeMs) => binned('15 minutes', timeMs),
  '1h': (timeMs) => truncated('hour', timeMs),
  '4h': (timeMs) => binned('4 hours', timeMs),
  '1D': (timeMs) => truncated('day', timeMs),
  '1W': (timeMs) => truncated('week', timeMs),
  '1M': (timeMs) => truncated('month', timeMs),
};
const timestamp = (timeMs: string): string => `(timestamp 'epoch' + ${timeMs} * interval '1 millisecond')`;
const truncated = (unit: string, timeMs: string): string =>
  `extract(epoch from date_trunc('${unit}', ${timestamp(timeMs)})) * 1000`;
const binned = (stride: string, timeMs: string): string =>
  `extract(epoch from date_bin('${stride}', ${timestamp(timeMs)}, timestamp '2001-01-01')) * 1000`;

type Row = Record<'start' | 'open' | 'high' | 'low' | 'close' | 'volume', number> | null;

/** Recomputes the candle at a time in NUMERIC from all earlier executions. */
async function recomputed(market: SimulatedMarket, symbol: string, timeframe: Timeframe): Promise<Row> {
  const startOf = START_OF[timeframe];
  const [row] = await market.executions.query<NonNullable<Row> & { last: number }>(
    `select ${startOf('$2::numeric')}::float8 as start,
       ((array_agg(price_ticks order by trade_id) filter (where at_ms >= ${startOf('$2::numeric')}))[1])::float8 as open,
       (max(price_ticks) filter (where at_ms >= ${startOf('$2::numeric')}))::float8 as high,
       (min(price_ticks) filter (where at_ms >= ${startOf('$2::numeric')}))::float8 as low,
       ((array_agg(price_ticks order by trade_id desc))[1])::float8 as close,
       coalesce(sum(size_steps) filter (where at_ms >= ${startOf('$2::numeric')}), 0)::float8 as volume
     from executions where market = $1`,
    [symbol, market.nowMs()],
  );
  if (!row || row.close === null) return null;
  const flat = row.close;
  return { ...row, open: row.open ?? flat, high: row.high ?? flat, low: row.low ?? flat };
}

const rowOf = (candle: Candle | null): Row =>
  candle && {
    start: candle.openMs,
    open: Number(candle.openTicks),
    high: Number(candle.highTicks),
    low: Number(candle.lowTicks),
    close: Number(candle.closeTicks),
    volume: Number(candle.volumeSteps),
  };

async function agree(market: SimulatedMarket, replicas: readonly Replica[], where: string): Promise<void> {
  for (const { symbol } of MARKETS) {
    for (const timeframe of TIMEFRAMES) {
      const expected = await recomputed(market, symbol, timeframe);
      for (const [index, { candles }] of replicas.entries()) {
        const read = rowOf(await candles.read(symbol, timeframe));
        expect(read, `${symbol} ${timeframe}, replica ${index}, ${where}`).to.deep.equal(expected);
      }
    }
  }
}

/** Recomputes every candle that starts in a range, in NUMERIC from all executions, oldest first. */
const recomputedHistory = async (
  market: SimulatedMarket,
  symbol: string,
  timeframe: Timeframe,
  { fromMs = 0, toMs = 1e15 }: Omit<CandleRange, 'limit'>,
): Promise<Record<string, string>[]> =>
  market.executions.query(
    `select * from (
       select (${START_OF[timeframe]('at_ms')})::bigint::text as start,
         (array_agg(price_ticks order by trade_id))[1] as open, max(price_ticks) as high, min(price_ticks) as low,
         (array_agg(price_ticks order by trade_id desc))[1] as close,
         sum(size_steps) as volume, sum(quote_atoms) as quote
       from executions where market = $1 group by 1) as candles
     where start::numeric between $2 and $3 order by start::numeric`,
    [symbol, fromMs, toMs],
  );

const historyRow = (candle: Candle): Record<string, string> => ({
  start: String(candle.openMs),
  open: String(candle.openTicks),
  high: String(candle.highTicks),
  low: String(candle.lowTicks),
  close: String(candle.closeTicks),
  volume: String(candle.volumeSteps),
  quote: String(candle.quoteAtoms),
});

/** A range between ends of buckets, times near them, or random times; one or both sides may be open. */
function anyRange(dice: Random, market: SimulatedMarket): CandleRange {
  const any = (): number | undefined =>
    dice.chance(0.4)
      ? undefined
      : dice.pick([...ENDS, market.nowMs()]) + dice.pick([0, 0, 1, -1, -60_000, 3_600_000, -86_400_000]);
  const one = any();
  const other = any();
  const limit = dice.pick([1, 2, 3, 10, 500]);
  return one !== undefined && other !== undefined
    ? { limit, fromMs: Math.min(one, other), toMs: Math.max(one, other) }
    : { limit, fromMs: one, toMs: other };
}

/**
 * Compares the histories of all timeframes with a recomputation.
 * @returns the number of candles compared
 */
async function historiesAgree(market: SimulatedMarket, replica: Replica, dice: Random, where: string) {
  let compared = 0;
  for (const timeframe of TIMEFRAMES) {
    const { symbol } = dice.pick(MARKETS);
    for (const range of [{ limit: 1_000 }, anyRange(dice, market)]) {
      const due = await recomputedHistory(market, symbol, timeframe, range);
      const found = await replica.history(symbol, timeframe, range);
      const what = `${symbol} ${timeframe} ${JSON.stringify(range)}, ${where}`;
      expect(found.map(historyRow), what).to.deep.equal(due.slice(-range.limit));
      compared += found.length;
    }
  }
  return compared;
}

describe('candles', () => {
  it('of all timeframes, present and past, equal a recomputation from the executions', async () => {
    const seed = runSeed();
    const dice = random(seed);
    const market = await simulatedMarket(seed, ENDS[0]! - 60_000);
    const steady = market.replica();
    const racing = market.racingReplica(dice);
    await agree(market, [steady], 'before anything happened');
    let compared = 0;
    for (const endMs of ENDS) {
      const untilEnd = [endMs - 61_000, endMs - 60_001, endMs - 2_000, endMs - 1].map((timeMs) =>
        Math.max(timeMs, market.nowMs()),
      );
      const where = `SEED=${seed}, ${new Date(endMs).toISOString()}`;
      await market.happen(untilEnd.flatMap((timeMs) => Array(10).fill(timeMs)));
      await market.settle(dice.pick([0, 5, 15, 35]));
      await agree(market, [steady, racing, market.replica()], `${where}, before`);
      market.advanceTo(endMs);
      await agree(market, [steady], `${where}, nothing executed yet`);
      await market.happen([endMs, ...Array(8).fill(endMs + 1), endMs + 59_999, endMs + 60_000]);
      await agree(market, [steady, racing, market.replica()], `${where}, after`);
      compared += await historiesAgree(market, dice.pick([steady, racing]), dice, where);
      if (dice.chance(0.7)) await market.settle(dice.pick([0, 0, 6, 12]));
      await agree(market, [steady, market.replica()], `${where}, settled`);
    }
    compared += await historiesAgree(market, steady, dice, `SEED=${seed}, unsettled at the end`);
    await market.settle();
    compared += await historiesAgree(market, steady, dice, `SEED=${seed}, all settled`);
    expect(compared).to.be.above(500);
    await market.close();
  });

  it('are those of the restored books when Postgres was put back', async () => {
    const startMs = ENDS[0]!;
    const lost = await simulatedMarket(2, startMs);
    const restored = await simulatedMarket(3, startMs);
    let present = lost;
    const replica = restoredReplica(() => present);
    for (const market of [lost, restored]) {
      const fromMs = Math.max(startMs, lost.nowMs());
      await market.happen(Array.from({ length: 90 }, (_, index) => fromMs + index * 3_000));
      await market.settle(10);
      present = market;
      await agree(market, [replica], market === lost ? 'before' : 'restored');
      await market.happen(Array.from({ length: 30 }, (_, index) => market.nowMs() + index * 3_000));
      await market.settle(5);
      await agree(market, [replica], market === lost ? 'later' : 'restored, later');
    }
    await Promise.all([lost.close(), restored.close()]);
  });

  it('of a market that never traded are null', async () => {
    const market = await simulatedMarket(1, ENDS[0]!);
    await market.happen(Array(23).fill(ENDS[0]!));
    await market.settle();
    const { candles } = market.replica();
    for (const timeframe of TIMEFRAMES) expect(await candles.read('NO/NE', timeframe)).to.equal(null);
    await market.close();
  });
});
