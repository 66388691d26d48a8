/** Tests the queue of commands that wait for their call against scripts that skip commands, are slow, and fail. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import type { Refusal } from '../../src/domain/errors.ts';
import type { Market } from '../../src/domain/market.ts';
import { CommandQueue, Ticket, UNTOUCHED } from '../../src/engine/command-queue.ts';
import { WaitingCommands } from '../../src/engine/waiting-commands.ts';
import { random, runSeed } from '../support/seed.ts';

/** Exports of the source, unchanged or with one mutation. */
interface Queues {
  readonly CommandQueue: typeof CommandQueue;
  readonly Ticket: typeof Ticket;
  readonly UNTOUCHED: typeof UNTOUCHED;
}

const SOURCES = ['command-queue.ts', 'turns.ts'];
const MAX_TOGETHER = 64;
const COMMANDS = 900;
const MAX_TURNS = 5_000;

/** Mutations of the queue. Each text occurs in its sources exactly once. */
const MUTATIONS = [
  [
    'loses commands that were left out',
    'this.#size -= costs.length;',
    'this.#size -= this.#plan.length;',
    'a command without an answer',
  ],
  [
    'puts commands that were left out behind the others',
    'lane.items.shift();',
    'lane.items.push(lane.items.splice(0, 2).pop()!);',
    'another order',
  ],
  [
    'sends all that waits in one call',
    'plan(MAX_TOGETHER - again.length, MAX_OF_WALLET)',
    'plan(1_000, 1_000)',
    'more than 64 commands',
  ],
  [
    'begins a call while one is on its way',
    'if (queue === undefined) {',
    'if (true) {',
    'two calls of a market',
  ],
  [
    'waits for a timer',
    'setImmediate(() => this.#begin())',
    'setTimeout(() => this.#begin(), 60_000).unref()',
    'nothing was sent',
  ],
  [
    'ends with a call that fails',
    'for (const one of call) one.reject(error);',
    'for (const one of call) one.reject(error); return;',
    'a command without an answer',
  ],
  [
    'begins every round with the same wallet',
    '[...this.#ring.slice(last.at + 1), ...this.#ring.slice(0, last.at + 1)]',
    '[...this.#ring]',
    'a wallet served out of turn',
  ],
  ['lets a wallet arrive in front', 'this.#ring.push(lane)', 'this.#ring.unshift(lane)', 'out of turn'],
] as const;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Checks that no wallet is served twice while another one waits that was not served between. */
class Fairness {
  #clock = 0;
  /** Commands that wait, in order of arrival: the wallet and the time of each. */
  readonly #waiting = new Map<number, { readonly wallet: string; readonly at: number }>();
  /** The last command of each wallet that was served: the time of its call, and of the command itself. */
  readonly #served = new Map<string, { readonly call: number; readonly at: number }>();

  added(command: number, wallet: string): void {
    this.#clock += 1;
    this.#waiting.set(command, { wallet, at: this.#clock });
  }

  /** @returns true if all commands of the call were taken in turn */
  took(commands: readonly number[]): boolean {
    this.#clock += 1;
    const call = this.#clock;
    return commands.every((command) => {
      const { wallet } = this.#waiting.get(command)!;
      const before = this.#served.get(wallet) ?? { call: 0, at: 0 };
      this.#waiting.delete(command);
      this.#clock += 1;
      this.#served.set(wallet, { call, at: this.#clock });
      return [...this.#waiting.values()].every(
        (other) =>
          other.wallet === wallet ||
          other.at > before.call ||
          (this.#served.get(other.wallet)?.at ?? 0) > before.at,
      );
    });
  }
}

/** @throws Error naming the rules that the queue breaks */
async function runQueue(queues: Queues, seed: number): Promise<void> {
  const dice = random(seed);
  const markets = ['a', 'b'].map((symbol) => ({ symbol }) as Market);
  const busy = new Set<Market>();
  const broken = new Set<string>();
  const wallets = ['attacker', 'bot', 'maker', 'one', 'two', 'three', 'four'];
  const fairness = new Map(markets.map((market) => [market, new Fairness()]));
  const walletOf: string[] = [];
  /** The last command of each wallet in each market that a script has executed. */
  const last = new Map<string, number>();
  let sent = 0;
  let answered = 0;
  let calls = 0;

  const take = (market: Market, commands: readonly number[]): void => {
    if (!fairness.get(market)!.took(commands)) broken.add('a wallet served out of turn');
    for (const command of commands) {
      const lane = `${market.symbol} ${walletOf[command]}`;
      if (command < (last.get(lane) ?? -1)) broken.add('another order');
      last.set(lane, command);
    }
  };
  const run = async (market: Market, commands: number[]): Promise<(number | typeof UNTOUCHED)[]> => {
    calls += 1;
    if (commands.length > MAX_TOGETHER) broken.add('more than 64 commands in a call');
    if (busy.has(market)) broken.add('two calls of a market at once');
    busy.add(market);
    const isLost = dice.chance(0.1);
    const reached = isLost || dice.chance(0.5) ? commands.length : 1 + dice.below(commands.length);
    take(market, commands.slice(0, reached));
    for (let turns = dice.below(4); turns > 0; turns -= 1) await turn();
    busy.delete(market);
    if (isLost) throw new Error('no answer');
    return commands.map((command, index): number | typeof UNTOUCHED =>
      index < reached ? command : queues.UNTOUCHED,
    );
  };
  const queue = new queues.CommandQueue<number, number>({
    run,
    late: () => new Error('late'),
    cost: () => 0,
    now: () => 0,
  });
  const add = (command: number): void => {
    const done = (value: unknown): void => {
      answered += 1;
      if (value !== command && !(value instanceof Error)) broken.add('the answer of another command');
    };
    const market = dice.pick(markets);
    const wallet = dice.chance(0.5) ? wallets[0]! : dice.pick(wallets);
    walletOf[command] = wallet;
    fairness.get(market)!.added(command, wallet);
    queue.add(market, command, new queues.Ticket(wallet)).then(done, done);
  };

  while (sent < COMMANDS) {
    const before = { calls, isIdle: answered === sent };
    for (let together = 1 + dice.below(dice.pick([3, 300])); together > 0; together -= 1) add(sent++);
    await turn();
    await turn();
    if (before.isIdle && calls === before.calls) broken.add('nothing was sent at the end of the turn');
  }
  for (let turns = 0; turns < MAX_TURNS && answered < sent; turns += 1) await turn();
  if (answered !== sent) broken.add('a command without an answer');
  if (broken.size > 0) throw new Error([...broken].join('; '));
}

/** A queue whose calls end when the test says so. */
class Steps {
  readonly calls: string[][] = [];
  readonly outcomes: Record<string, string> = {};
  now = 0;
  readonly market = { symbol: 'a' } as Market;
  readonly #queue: CommandQueue<string, string>;
  #finish = (): void => undefined;

  /** @param outcomeOf returns the outcome of a command in a call, counted from 1 */
  constructor(
    outcomeOf: (command: string, call: number) => string | typeof UNTOUCHED,
    cost: (command: string) => number = () => 0,
  ) {
    this.#queue = new CommandQueue<string, string>({
      run: async (_market, commands) => {
        this.calls.push([...commands]);
        const call = this.calls.length;
        await new Promise<void>((resolve) => {
          this.#finish = resolve;
        });
        return commands.map((command) => outcomeOf(command, call));
      },
      late: () => new Error('late'),
      cost,
      now: () => this.now,
    });
  }

  /** Adds commands; each begins with its wallet, as in `alice 1`. */
  add(...commands: string[]): void {
    for (const command of commands) this.put(command, new Ticket(command.split(' ')[0]!));
  }

  put(command: string, ticket: Ticket): void {
    this.#queue.add(this.market, command, ticket).then(
      (outcome) => {
        this.outcomes[command] = outcome;
      },
      (error: Error) => {
        this.outcomes[command] = error.message;
      },
    );
  }

  /** Ends the call under way. */
  async finish(): Promise<void> {
    this.#finish();
    await turn();
  }
}

describe('the queue of a market', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-queues-'));
  after(() => rmSync(folder, { recursive: true }));

  /** Returns the queue with one mutation. */
  const broken = async (index: number, from: string, to: string): Promise<Queues> => {
    const place = join(folder, `${index}`);
    mkdirSync(place);
    let found = 0;
    for (const source of SOURCES) {
      const [before, ...after] = readFileSync(
        new URL(`../../src/engine/${source}`, import.meta.url),
        'utf8',
      ).split(from);
      found += after.length;
      writeFileSync(join(place, source), [before, ...after].join(to));
    }
    if (found !== 1) throw new Error(`the queue must hold exactly once: ${from}`);
    return import(pathToFileURL(join(place, SOURCES[0]!)).href);
  };

  it('takes wallets in turn and sends each command once, at most 64 in a call, one call after the other', async () => {
    for (const seed of [runSeed(), 1]) await runQueue({ CommandQueue, Ticket, UNTOUCHED }, seed);
  });

  it('rejects commands that have waited for over a second, and sends later ones', async () => {
    const steps = new Steps((command, call) => (call === 1 && command === 'left out' ? UNTOUCHED : command));
    steps.add('first', 'left out');
    await turn();
    steps.add('late');
    steps.now = 500;
    steps.add('in time');
    steps.now = 1_400;
    await steps.finish();
    expect(steps.calls).to.deep.equal([
      ['first', 'left out'],
      ['left out', 'in time'],
    ]);
    await steps.finish();
    expect(steps.outcomes).to.deep.equal({
      first: 'first',
      late: 'late',
      'left out': 'left out',
      'in time': 'in time',
    });
  });

  it('never sends an order that was given up while it waited, and answers one that was sent', async () => {
    const waiting = new WaitingCommands({ ofHolder: 4, inAll: 4 });
    const steps = new Steps((command) => command);
    const codes: string[] = [];
    const order = (wallet: string, number: number): void => {
      const ticket = new Ticket(wallet);
      const command = `${wallet} ${number}`;
      try {
        waiting.admit(wallet, ticket);
        steps.put(command, ticket);
      } catch (refusal) {
        codes.push(`${command} ${(refusal as Refusal).code}`);
      }
    };
    order('greedy', 1);
    await turn();
    for (const number of [2, 3, 4, 5]) order('greedy', number);
    await turn();
    expect(codes, 'beyond its share').to.deep.equal(['greedy 5 SERVICE_UNAVAILABLE']);
    order('honest', 1);
    order('honest', 2);
    for (const wallet of ['greedy', 'honest', 'other']) waiting.admitCancel(wallet)?.giveBack();
    await steps.finish();
    await steps.finish();
    await turn();
    expect(steps.outcomes).to.include({ 'greedy 1': 'greedy 1', 'greedy 2': 'late' });
    expect(steps.calls.flat()).to.include.members(['honest 1', 'honest 2']).and.not.include('greedy 2');
  });

  it('takes at most 16 commands of a wallet in a call', async () => {
    const steps = new Steps((command) => command);
    steps.add('bob 0');
    await turn();
    steps.add(...Array.from({ length: 40 }, (_none, index) => `alice ${index}`), 'bob 1');
    await steps.finish();
    const [, call] = steps.calls;
    expect(call!.slice(0, 3)).to.deep.equal(['alice 0', 'bob 1', 'alice 1']);
    expect(call).to.have.length(17);
  });

  it('makes a wallet wait for as many rounds as its commands cost', async () => {
    const steps = new Steps(
      (command, call) => (call === 1 && command !== 'alice 0' ? UNTOUCHED : command),
      (command) => (command === 'alice 0' ? 3 : 0),
    );
    steps.add('alice 0', 'alice 1', 'bob 0', 'bob 1', 'bob 2', 'bob 3', 'bob 4', 'alice 2');
    await turn();
    await steps.finish();
    expect(steps.calls[1]).to.deep.equal(['bob 0', 'bob 1', 'bob 2', 'bob 3', 'alice 1', 'bob 4', 'alice 2']);
  });

  it('serves a wallet that owes turns at once when nobody else waits', async () => {
    const steps = new Steps(
      (command) => command,
      () => 1_000,
    );
    steps.add('alice 0');
    await turn();
    steps.add('alice 1', 'alice 2');
    await steps.finish();
    expect(steps.calls[1]).to.deep.equal(['alice 1', 'alice 2']);
  });

  it('keeps the turn of a command that is tried again', async () => {
    const steps = new Steps((command) => command);
    const first = new Ticket('alice');
    const second = new Ticket('bob');
    steps.put('alice 0', first);
    steps.put('bob 0', second);
    await turn();
    steps.add('carol 0', 'alice 1');
    steps.put('bob 0 again', second);
    steps.put('alice 0 again', first);
    await steps.finish();
    expect(steps.calls[1]).to.deep.equal(['alice 0 again', 'bob 0 again', 'carol 0', 'alice 1']);
  });

  for (const [index, [name, from, to, shown]] of MUTATIONS.entries()) {
    it(`is reported as broken when it ${name}`, async () => {
      const outcome = await runQueue(await broken(index, from, to), 1).then(
        () => 'nothing',
        (error: Error) => error.message,
      );
      expect(outcome).to.include(shown);
    });
  }
});
