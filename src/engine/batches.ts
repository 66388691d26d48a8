/**
 * Groups the commands of one turn of the event loop by market, and runs each group as one script.
 *
 * Commands are sent at the end of the turn in which they came. While a call for a market is in flight, new commands for
 * that market wait and form the next call, in order of arrival. A command that has waited for longer than its sender
 * waits is refused and never sent.
 */

import type { Market } from '../domain/market.ts';

/** Most commands in one call. */
const MOST_TOGETHER = 64;
/**
 * Longest wait for a call. Together with the call itself, it stays below the time within which clients get an answer.
 */
const PATIENCE_MS = 1_000;

/** The script stopped before this command: the command heads the next call. */
export const UNTOUCHED = Symbol('untouched');

interface Waiting<Command, Outcome> {
  readonly command: Command;
  /** Milliseconds, by the queue's clock. */
  since: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

interface Queue<Command, Outcome> {
  waiting: Waiting<Command, Outcome>[];
}

export class Batches<Command, Outcome> {
  readonly #run: (market: Market, commands: Command[]) => Promise<(Outcome | Error | typeof UNTOUCHED)[]>;
  readonly #late: () => Error;
  readonly #now: () => number;
  /** Keyed by market record, because a call has one set of rules. */
  readonly #queues = new Map<Market, Queue<Command, Outcome>>();
  /** Markets whose first commands came in this turn. */
  #fresh: Market[] = [];

  /**
   * @param run makes one call and returns an outcome for each command, in order; its error rejects all of them
   * @param late creates the error for a command that was never sent
   * @param now returns milliseconds; tests pass a clock of their own
   */
  constructor(
    run: (market: Market, commands: Command[]) => Promise<(Outcome | Error | typeof UNTOUCHED)[]>,
    late: () => Error,
    now: () => number = () => performance.now(),
  ) {
    this.#run = run;
    this.#late = late;
    this.#now = now;
  }

  add(market: Market, command: Command): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      let queue = this.#queues.get(market);
      if (queue === undefined) {
        queue = { waiting: [] };
        this.#queues.set(market, queue);
        this.#fresh.push(market);
        if (this.#fresh.length === 1) setImmediate(() => this.#begin());
      }
      queue.waiting.push({ command, since: this.#now(), resolve, reject });
    });
  }

  #begin(): void {
    const markets = this.#fresh;
    this.#fresh = [];
    for (const market of markets) void this.#drain(market, this.#queues.get(market)!);
  }

  /** Runs calls one after the other until no command of the market waits. */
  async #drain(market: Market, queue: Queue<Command, Outcome>): Promise<void> {
    while (queue.waiting.length > 0) {
      this.#refuseLate(queue);
      const call = queue.waiting.splice(0, MOST_TOGETHER);
      if (call.length === 0) break;
      try {
        const outcomes = await this.#run(
          market,
          call.map(({ command }) => command),
        );
        if (outcomes[0] === UNTOUCHED) throw new Error('a script ran none of its commands');
        const rest = call.filter((one, index) => {
          const outcome = outcomes[index]!;
          if (outcome === UNTOUCHED) return true;
          if (outcome instanceof Error) one.reject(outcome);
          else one.resolve(outcome);
          return false;
        });
        for (const one of rest) one.since = this.#now();
        if (rest.length > 0) queue.waiting = [...rest, ...queue.waiting];
      } catch (error) {
        for (const one of call) one.reject(error);
      }
    }
    this.#queues.delete(market);
  }

  #refuseLate(queue: Queue<Command, Outcome>): void {
    const oldest = this.#now() - PATIENCE_MS;
    if (queue.waiting.every(({ since }) => since >= oldest)) return;
    const waiting = queue.waiting;
    queue.waiting = waiting.filter(({ since }) => since >= oldest);
    for (const { since, reject } of waiting) if (since < oldest) reject(this.#late());
  }
}
