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

/** Parts of the simulated engine that a process reads. */
interface SimulatedEngine {
  readonly lifecycle: { isOpen(): boolean };
  readonly reads: { time(): Promise<number> };
  readonly outbox: { readEvents(after: Cursor, count: number): Promise<EngineEvent[]> };
}

export interface SimulatedMarket {
  readonly engine: SimulatedEngine;
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

  const engine: SimulatedEngine = {
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
  const replica = (of: Ledger = ledger): Replica => replicaOn(engine, of);
  return {
    settle,
    replica,
    engine,
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

function replicaOn(
  engine: SimulatedEngine,
  ledger: Pick<Ledger, 'settlement' | 'trades' | 'candles'>,
): Replica {
  const unsettled = new UnsettledReader(engine, ledger);
  return {
    figures: new RollingFigures(unsettled, ledger),
    candles: new CurrentCandles(unsettled, ledger),
    history: (symbol, timeframe, range) => readCandles(unsettled, ledger, symbol, timeframe, range),
  };
}

/** Starts a process whose servers may be put back while it runs: it reads whichever market is the present one. */
export function restoredReplica(present: () => SimulatedMarket): Replica {
  /** An object whose members are those of the present market at each access. */
  const now = <Part extends object>(partOf: (market: SimulatedMarket) => Part): Part =>
    new Proxy({} as Part, { get: (_none, name) => Reflect.get(partOf(present()), name) });
  const { settlement, trades, candles } = present().ledger;
  return replicaOn(
    now(({ engine }) => engine),
    {
      settlement: now<typeof settlement>(({ ledger }) => ledger.settlement),
      trades: now<typeof trades>(({ ledger }) => ledger.trades),
      candles: now<typeof candles>(({ ledger }) => ledger.candles),
    },
  );
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
