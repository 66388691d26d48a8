/**
 * Groups the commands of one turn of the event loop by market, and runs each group as one script.
 *
 * Commands are sent at the end of the turn in which they came. While a call for a market is in flight, new commands for
 * that market wait and form the next call. Wallets take turns, so that a wallet with many commands delays only itself. A
 * command that has waited for longer than its sender waits, or that was given up, is refused and never sent.
 */

import type { Taker } from '../domain/bound.ts';
import type { Market } from '../domain/market.ts';
import type { Resume } from '../process/spans.ts';
import { Turns } from './turns.ts';

const MAX_TOGETHER = 64;
/** Maximum commands of one wallet in one call, so that another wallet does not wait for the end of a long call. */
const MAX_OF_WALLET = 16;
/**
 * Longest wait for a call. Together with the call itself, it stays below the time within which clients get an answer.
 */
const PATIENCE_MS = 1_000;

/** The script stopped before this command: the command keeps its place and its turn. */
export const UNTOUCHED = Symbol('untouched');

/** The place of a command in its queue. A command that must be tried again keeps it by giving the same ticket again. */
export class Ticket implements Taker {
  /** Wallet whose turn the command takes; '' for operators. */
  readonly wallet: string;
  /** Number of the command in order of arrival; undefined until the command was queued. */
  arrival: number | undefined;
  /** True when the command must not be sent any more, if it still waits. */
  isGivenUp = false;

  constructor(wallet: string) {
    this.wallet = wallet;
  }

  giveWay(): void {
    this.isGivenUp = true;
  }
}

interface WaitingCommand<Command, Outcome> {
  readonly command: Command;
  readonly ticket: Ticket;
  /** Milliseconds, by the queue's clock. */
  since: number;
  /** Runs the call that this command begins as part of the command's trace. */
  readonly resume: Resume | undefined;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

interface Queue<Command, Outcome> {
  /** Commands that are tried again. */
  head: WaitingCommand<Command, Outcome>[];
  readonly turns: Turns<WaitingCommand<Command, Outcome>>;
}

interface CommandQueueOptions<Command, Outcome> {
  /** Makes one call and returns an outcome for each command, in order; its error rejects all of them. */
  run(market: Market, commands: Command[]): Promise<(Outcome | Error | typeof UNTOUCHED)[]>;
  /** Creates the error for a command that was never sent. */
  late(): Error;
  /** Returns the turns that a command costs its wallet besides its own; a whole number. */
  cost(command: Command, outcome: Outcome): number;
  /** Returns milliseconds; tests pass a clock of their own. */
  now?(): number;
  /** Longest wait for a call; a second by default. */
  readonly patienceMs?: number | undefined;
  /** Keeps the context of a command; undefined while nothing is traced. */
  here?: (() => Resume) | undefined;
}

const untraced: Resume = (work) => work();

export class CommandQueue<Command, Outcome> {
  readonly #options: CommandQueueOptions<Command, Outcome> & { now(): number };
  readonly #patienceMs: number;
  /** Keyed by market record, because a call has one set of rules. */
  readonly #queues = new Map<Market, Queue<Command, Outcome>>();
  /** Markets whose first commands came in this turn. */
  #fresh: Market[] = [];
  #arrivals = 0;

  constructor(options: CommandQueueOptions<Command, Outcome>) {
    this.#options = { now: () => performance.now(), ...options };
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS;
  }

  add(market: Market, command: Command, ticket: Ticket): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      let queue = this.#queues.get(market);
      if (queue === undefined) {
        queue = { head: [], turns: new Turns() };
        this.#queues.set(market, queue);
        this.#fresh.push(market);
        if (this.#fresh.length === 1) setImmediate(() => this.#begin());
      }
      const waiting = {
        command,
        ticket,
        since: this.#options.now(),
        resume: this.#options.here?.(),
        resolve,
        reject,
      };
      if (ticket.arrival === undefined) {
        this.#arrivals += 1;
        ticket.arrival = this.#arrivals;
        queue.turns.add(ticket.wallet, waiting);
      } else {
        insert(queue.head, waiting);
      }
    });
  }

  #begin(): void {
    const markets = this.#fresh;
    this.#fresh = [];
    for (const market of markets) void this.#drain(market, this.#queues.get(market)!);
  }

  /** Runs calls one after the other until no command of the market waits. */
  async #drain(market: Market, queue: Queue<Command, Outcome>): Promise<void> {
    while (queue.head.length + queue.turns.size > 0) {
      this.#refuseLate(queue);
      const again = queue.head.splice(0, MAX_TOGETHER);
      const call = [...again, ...queue.turns.plan(MAX_TOGETHER - again.length, MAX_OF_WALLET)];
      if (call.length === 0) break;
      const costs = await this.#run(market, call);
      const rest = call.slice(costs.length);
      for (const one of rest) one.since = this.#options.now();
      queue.head.unshift(...rest.slice(0, Math.max(0, again.length - costs.length)));
      queue.turns.use(costs.slice(again.length));
    }
    this.#queues.delete(market);
  }

  /** Makes one call and hands on its outcomes. Returns the costs of the commands that were run, which come first. */
  async #run(market: Market, call: readonly WaitingCommand<Command, Outcome>[]): Promise<number[]> {
    try {
      const commands = call.map(({ command }) => command);
      // A script that serves several requests is a span of the first one's trace.
      const { resume = untraced } = call[0]!;
      const outcomes = await resume(() => this.#options.run(market, commands));
      const left = outcomes.indexOf(UNTOUCHED);
      if (left === 0) throw new Error('a script ran none of its commands');
      const ran = left < 0 ? call : call.slice(0, left);
      return ran.map((one, index) => this.#answer(one, outcomes[index] as Outcome | Error));
    } catch (error) {
      for (const one of call) one.reject(error);
      return call.map(() => 0);
    }
  }

  /** Hands on an outcome, and returns the cost of its command. */
  #answer({ command, resolve, reject }: WaitingCommand<Command, Outcome>, outcome: Outcome | Error): number {
    if (outcome instanceof Error) {
      reject(outcome);
      return 0;
    }
    resolve(outcome);
    return this.#options.cost(command, outcome);
  }

  #refuseLate(queue: Queue<Command, Outcome>): void {
    const oldest = this.#options.now() - this.#patienceMs;
    const late = queue.turns.removeFront(({ since, ticket }) => since < oldest || ticket.isGivenUp);
    if (queue.head.some(({ since }) => since < oldest)) {
      late.push(...queue.head.filter(({ since }) => since < oldest));
      queue.head = queue.head.filter(({ since }) => since >= oldest);
    }
    for (const { reject } of late) reject(this.#options.late());
  }
}

/** Inserts a command that is tried again before those that arrived after it. */
function insert<Command, Outcome>(
  head: WaitingCommand<Command, Outcome>[],
  waiting: WaitingCommand<Command, Outcome>,
): void {
  let at = head.length;
  while (at > 0 && head[at - 1]!.ticket.arrival! > waiting.ticket.arrival!) at -= 1;
  head.splice(at, 0, waiting);
}
