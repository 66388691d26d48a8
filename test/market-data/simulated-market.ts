/**
 * Days of trading in seconds: a valid stream of events at times of our choosing, an engine that serves it as far
 * as its clock has come, a real ledger that is as far behind as we want, and all executions once more in a plain
 * table of NUMERICs for recomputing.
 */

import type { Candle, Timeframe } from '../../src/domain/candle.ts';
import type { Cursor, EngineEvent } from '../../src/domain/event.ts';
import { type CandleRange, type Ledger, openLedger } from '../../src/ledger/index.ts';
import { readCandles } from '../../src/market-data/candle-history.ts';
import { CurrentCandles } from '../../src/market-data/current-candles.ts';
import { RollingFigures } from '../../src/market-data/rolling-figures.ts';
import { UnsettledReader } from '../../src/market-data/unsettled-trades.ts';
import type { Random } from '../support/seed.ts';
import { seededEvents } from '../support/seeded-events.ts';
import { freshLedgerDatabase } from '../support/servers.ts';
import { type Executions, openExecutions } from './executions.ts';

/** One process' market data over the simulated engine. */
export interface Replica {
  readonly figures: RollingFigures;
  readonly candles: CurrentCandles;
  history(symbol: string, timeframe: Timeframe, range: CandleRange): Promise<Candle[]>;
}

export interface SimulatedMarket {
  readonly ledger: Ledger;
  /** Moves the engine's clock on. */
  advanceTo(timeMs: number): void;
  nowMs(): number;
  /** The engine's next events, one at each of the times; the clock ends at the last. */
  happen(timesMs: readonly number[]): Promise<void>;
  /** Settles all but the last `behind` events, and trims what was settled before. */
  settle(behind?: number): Promise<void>;
  /** A process that starts now. */
  replica(ledger?: Ledger): Replica;
  /** A process between whose reads of the engine and of Postgres some events are settled. */
  racingReplica(dice: Random): Replica;
  readonly executions: Executions;
  close(): Promise<void>;
}

/**
 * @param startMs the clock at the beginning; nothing has happened before
 * @param databaseUrl an empty database; a fresh one of the test servers when left out
 */
export async function simulatedMarket(
  seed: number,
  startMs: number,
  databaseUrl?: string,
): Promise<SimulatedMarket> {
  const connectionString = databaseUrl ?? (await freshLedgerDatabase());
  const ledger = openLedger({ databaseUrl: connectionString });
  if (databaseUrl !== undefined) await ledger.migrate();
  const executions = await openExecutions(connectionString);
  const source = seededEvents(seed);
  let stream: EngineEvent[] = [];
  let clockMs = startMs;

  const engine = {
    lifecycle: { isOpen: () => true },
    snapshots: { time: async () => clockMs },
    outbox: {
      readEvents: async (after: Cursor, count: number) =>
        stream.filter(({ sequence }) => sequence >= after.sequence).slice(0, count + 1),
    },
  };
  const settle: SimulatedMarket['settle'] = async (behind = 0) => {
    const settled = await ledger.settlement.settle(stream.slice(0, Math.max(0, stream.length - behind)));
    stream = stream.filter(({ sequence }) => sequence >= settled.sequence);
  };
  const replica = (of: Ledger = ledger): Replica => {
    const unsettled = new UnsettledReader(engine, of);
    return {
      figures: new RollingFigures(unsettled, of),
      candles: new CurrentCandles(unsettled, of),
      history: (symbol, timeframe, range) => readCandles(unsettled, of, symbol, timeframe, range),
    };
  };
  return {
    settle,
    replica,
    racingReplica(dice) {
      const after =
        <Args extends unknown[], Result>(read: (...args: Args) => Promise<Result>) =>
        async (...args: Args): Promise<Result> => {
          if (dice.chance(0.5)) await settle(dice.below(stream.length + 1));
          return read(...args);
        };
      return replica({
        ...ledger,
        trades: { ...ledger.trades, secondsAfter: after(ledger.trades.secondsAfter) },
        candles: { minutes: after(ledger.candles.minutes), history: after(ledger.candles.history) },
      });
    },
    ledger,
    executions,
    nowMs: () => clockMs,
    advanceTo(timeMs) {
      clockMs = Math.max(clockMs, timeMs);
    },
    async happen(timesMs) {
      const events = source.next(timesMs.length).map((event, index) => at(event, timesMs[index]!));
      stream.push(...events);
      clockMs = Math.max(clockMs, ...timesMs);
      const trades = events.flatMap((event) => (event.kind === 'order_placed' ? event.trades : []));
      await executions.add(trades);
    },
    async close() {
      await executions.close();
      await ledger.close();
    },
  };
}

/** The same event at another time. */
function at(event: EngineEvent, timeMs: number): EngineEvent {
  if (event.kind !== 'order_placed') return { ...event, timeMs };
  return {
    ...event,
    timeMs,
    order: { ...event.order, createdAtMs: timeMs },
    trades: event.trades.map((trade) => ({ ...trade, timeMs })),
  };
}
