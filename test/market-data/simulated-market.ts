/**
 * Simulates days of trading in seconds: a valid stream of events at chosen times, an engine that serves the events up
 * to its clock, a real ledger that lags as far as a test wants, and all executions in a plain table of NUMERICs for
 * recomputing.
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

/** The market data of one process over the simulated engine. */
export interface Replica {
  readonly figures: RollingFigures;
  readonly candles: CurrentCandles;
  history(symbol: string, timeframe: Timeframe, range: CandleRange): Promise<Candle[]>;
}

export interface SimulatedMarket {
  readonly ledger: Ledger;
  advanceTo(timeMs: number): void;
  nowMs(): number;
  /** Emits the engine's next events, one at each time, and sets the clock to the last time. */
  happen(timesMs: readonly number[]): Promise<void>;
  /** Settles all but the last `behind` events, and trims earlier settled events. */
  settle(behind?: number): Promise<void>;
  /** Starts a new process. */
  replica(ledger?: Ledger): Replica;
  /** Starts a process for which some events are settled between its reads of the engine and of Postgres. */
  racingReplica(dice: Random): Replica;
  readonly executions: Executions;
  close(): Promise<void>;
}

/**
 * @param startMs initial time of the clock; there are no earlier events
 * @param databaseUrl an empty database; by default a fresh one of the test servers
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
    reads: { time: async () => clockMs },
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
