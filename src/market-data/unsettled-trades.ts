/** Reads executions that Postgres may not have yet from the end of the engine's event stream, each event once. */

import { Refusal } from '../domain/errors.ts';
import { type Cursor, type EngineEvent, type EntryDigest, totalWeight } from '../domain/event.ts';
import type { Trade } from '../domain/order.ts';
import type { PlacedEvent } from '../domain/order-life.ts';
import { type SecondOfTrades, sumOfTrades } from '../domain/rolling-day.ts';
import { oneAtATime } from '../domain/shared-read.ts';
import type { Engine } from '../engine/index.ts';
import type { Ledger } from '../ledger/index.ts';
import {
  type Backlog,
  backlogAfter,
  EMPTY,
  executionsAfter,
  longerBacklog,
  sumsAfter,
  type UnsettledExecution,
} from './backlog.ts';

/** Executions after a Postgres cursor, up to the end of the stream at one time. */
interface UnsettledTrades {
  /** Time of the read by the engine's clock. Every earlier execution is in Postgres or in this object. */
  readonly timeMs: number;
  readonly after: Cursor;
  readonly backlogs: ReadonlyMap<string, Backlog>;
}

/** Limits of events and executions per read: some 20 ms of decoding, so that other requests are not delayed. */
const PAGE_EVENTS = 1_000;
const PAGE_WEIGHT = 5_000;
/**
 * Number of single trades that are kept of a backlog, newest first, and twice as many during a read. Lists rarely need
 * more, except with rare filters.
 */
const TRADES_KEPT = 20_000;

/** Number of executions beyond which nothing more is read while Postgres is away: some 100 MB. */
const HELD_WHILE_AWAY = 300_000;

/** Refusal if Postgres and the stream contradict each other. Settlement alerts the operator. */
const contradiction = (): Refusal =>
  new Refusal('SERVICE_UNAVAILABLE', 'market data is unavailable until the ledger has caught up');

/** The cursor could not be read from Postgres; `cause` holds the error. */
class NoCursor {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/** Parts of the engine that the reader uses. */
interface UnsettledSource {
  readonly lifecycle: Pick<Engine['lifecycle'], 'isOpen'>;
  readonly reads: Pick<Engine['reads'], 'time'>;
  readonly outbox: Pick<Engine['outbox'], 'readEvents'>;
}

/** Parts of the ledger that the reader uses. */
interface SettledPosition {
  readonly settlement: Pick<Ledger['settlement'], 'cursor'>;
}

export class UnsettledReader {
  readonly #engine: UnsettledSource;
  readonly #ledger: SettledPosition;
  /** Cursor that Postgres has reached for certain. */
  #settled: Cursor = { epoch: 0, sequence: 0 };
  /** Last event that was read. It has a digest if Postgres does not have it yet. */
  #last: Cursor & { readonly digest?: EntryDigest } = this.#settled;
  /**
   * Executions between `#settled` and `#last`, without `#fresh`, by market. Answers hold these lists, so they never
   * change.
   */
  #backlogs: ReadonlyMap<string, Backlog> = new Map();
  /** Executions of the pages read since. Joining them page by page would copy a backlog once for each page. */
  #fresh: UnsettledExecution[] = [];
  #freshTrades = 0;
  /** The newest executions of all markets, which have their trades. */
  #listed: readonly UnsettledExecution[] = [];
  #timeMs = 0;

  constructor(engine: UnsettledSource, ledger: SettledPosition) {
    this.#engine = engine;
    this.#ledger = ledger;
  }

  /**
   * Reads the unsettled trades. Callers must read them before Postgres: an event settled in between is then in both,
   * and the cursor of the Postgres snapshot identifies it. In the other order it would be in neither.
   */
  readonly read = oneAtATime(async (): Promise<UnsettledTrades> => {
    // A closed engine may now be another server, so its events are not read.
    if (!this.#engine.lifecycle.isOpen()) throw new Refusal('SERVICE_UNAVAILABLE');
    const [timeMs, settled] = await Promise.all([
      this.#engine.reads.time(),
      this.#ledger.settlement.cursor().catch((error: unknown) => new NoCursor(error)),
    ]);
    if (!(settled instanceof NoCursor)) this.#forgetSettled(settled);
    // The events of an outage of Postgres are read during it, up to a limit. Otherwise all processes would read all of
    // them at its end, when settlement needs the processors.
    else if (this.#settled.sequence === 0 || this.#held() >= HELD_WHILE_AWAY) throw settled.cause;
    try {
      while (await this.#readPage());
    } finally {
      this.#join();
    }
    this.#timeMs = Math.max(this.#timeMs, timeMs);
    if (settled instanceof NoCursor) throw settled.cause;
    return { timeMs: this.#timeMs, after: this.#settled, backlogs: this.#backlogs };
  });

  #forgetSettled(settled: Cursor): void {
    const isBehind = settled.sequence < this.#settled.sequence;
    this.#settled = settled;
    if (isBehind || settled.sequence >= this.#last.sequence) this.#beginAgain();
    else {
      const left = [...this.#backlogs].map(
        ([symbol, backlog]) => [symbol, backlogAfter(settled, backlog)] as const,
      );
      this.#backlogs = new Map(left.filter(([, { executions }]) => executions.length > 0));
      this.#listed = executionsAfter(settled, this.#listed);
    }
  }

  #held(): number {
    return [...this.#backlogs.values()].reduce((sum, { executions }) => sum + executions.length, 0);
  }

  #beginAgain(): void {
    this.#last = { epoch: this.#settled.epoch, sequence: this.#settled.sequence };
    this.#backlogs = new Map();
    this.#listed = [];
    this.#fresh = [];
    this.#freshTrades = 0;
  }

  #join(): void {
    if (this.#fresh.length === 0) return;
    this.#listed = newestListed([...this.#listed, ...this.#fresh]);
    const joined = new Map(this.#backlogs);
    for (const [symbol, executions] of byMarket(this.#fresh))
      joined.set(symbol, longerBacklog(joined.get(symbol) ?? EMPTY, executions));
    this.#backlogs = joined;
    this.#fresh = [];
    this.#freshTrades = 0;
  }

  /** Reads a page. Returns true if there may be more. */
  async #readPage(): Promise<boolean> {
    const events = await this.#engine.outbox.readEvents(this.#last, PAGE_EVENTS, PAGE_WEIGHT);
    if (!this.#isStillThere(events)) {
      // The engine restarted without events that Postgres lacks too, so the reader restarts from the current stream.
      this.#beginAgain();
      return true;
    }
    const fresh = events.filter((event) => isAfter(event, this.#last));
    if (fresh[0] !== undefined && fresh[0].sequence !== this.#last.sequence + 1) throw contradiction();
    for (const event of fresh) {
      if (event.kind !== 'order_placed' || event.trades.length === 0) continue;
      this.#fresh.push(executionOf(event));
      this.#freshTrades += event.trades.length;
    }
    if (this.#freshTrades > TRADES_KEPT) this.#join();
    this.#last = fresh.at(-1) ?? this.#last;
    this.#timeMs = Math.max(this.#timeMs, fresh.at(-1)?.timeMs ?? 0);
    return fresh.length >= PAGE_EVENTS || totalWeight(fresh) >= PAGE_WEIGHT;
  }

  /** Returns the trades of an execution, in order. Reads them from the stream if they are no longer in memory. */
  async readTrades(execution: UnsettledExecution): Promise<readonly Trade[]> {
    if (execution.list !== null) return execution.list;
    const [event] = await this.#engine.outbox.readEvents(execution, 0, 1);
    // The event is gone from the stream, because it was settled seconds ago.
    if (event?.sequence !== execution.sequence || event.epoch !== execution.epoch) throw contradiction();
    return event.kind === 'order_placed' ? event.trades : [];
  }

  /** True if the last event that was read is settled, or is still at the start of the next page. */
  #isStillThere([first]: readonly EngineEvent[]): boolean {
    const { epoch, sequence, digest } = this.#last;
    if (digest === undefined) return true;
    return first?.epoch === epoch && first.sequence === sequence && first.digest.hex === digest.hex;
  }
}

/** Without a spread, because Node 20 takes a microsecond for each member that follows one. */
const executionOf = ({ epoch, sequence, timeMs, order, trades }: PlacedEvent): UnsettledExecution =>
  Object.assign(sumOfTrades(trades), { epoch, sequence, timeMs, takerSide: order.side, list: trades });

/** Returns the newest executions, up to `TRADES_KEPT` trades. The others let go of their trades. */
function newestListed(executions: readonly UnsettledExecution[]): readonly UnsettledExecution[] {
  let from = executions.length;
  let kept = 0;
  while (from > 0 && kept + executions[from - 1]!.trades <= TRADES_KEPT) {
    from -= 1;
    kept += executions[from]!.trades;
  }
  for (const execution of executions.slice(0, from)) execution.list = null;
  return from === 0 ? executions : executions.slice(from);
}

function byMarket(executions: readonly UnsettledExecution[]): Map<string, UnsettledExecution[]> {
  const lists = new Map<string, UnsettledExecution[]>();
  for (const execution of executions) {
    const list = lists.get(execution.market);
    if (list === undefined) lists.set(execution.market, [execution]);
    else list.push(execution);
  }
  return lists;
}

const isAfter = (event: Cursor, other: Cursor): boolean =>
  event.epoch > other.epoch || event.sequence > other.sequence;

/**
 * Returns the executions of a market that a Postgres snapshot does not have.
 * @param cursor of that snapshot, which must be taken after `unsettled` was read
 */
export const executionsBeyond = (
  cursor: Cursor,
  unsettled: UnsettledTrades,
  symbol: string,
): readonly UnsettledExecution[] => executionsAfter(cursor, backlogOf(cursor, unsettled, symbol).executions);

/** Returns sums of the same executions. Each sum is of one second; several may be of the same one. */
export const sumsBeyond = (
  cursor: Cursor,
  unsettled: UnsettledTrades,
  symbol: string,
): readonly SecondOfTrades[] => sumsAfter(cursor, backlogOf(cursor, unsettled, symbol));

function backlogOf(cursor: Cursor, { after: settled, backlogs }: UnsettledTrades, symbol: string): Backlog {
  if (cursor.sequence < settled.sequence) throw contradiction();
  return backlogs.get(symbol) ?? EMPTY;
}
