/** Tests the queue of commands that wait for their call against scripts that skip commands, are slow, and fail. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import type { Market } from '../../src/domain/market.ts';
import { Batches, UNTOUCHED } from '../../src/engine/batches.ts';
import { random, runSeed } from '../support/seed.ts';

/** Exports of the source, unchanged or with one mutation. */
interface Queues {
  readonly Batches: typeof Batches;
  readonly UNTOUCHED: typeof UNTOUCHED;
}

const SOURCE = new URL('../../src/engine/batches.ts', import.meta.url);
const MOST_TOGETHER = 64;
const COMMANDS = 600;
const MOST_TURNS = 5_000;

/** Mutations of the queue. Each text occurs in its source exactly once. */
const MUTATIONS = [
  [
    'loses commands that were left out',
    'queue.waiting = [...rest, ...queue.waiting]',
    'void rest',
    'a command without an answer',
  ],
  [
    'puts commands that were left out behind the others',
    '[...rest, ...queue.waiting]',
    '[...queue.waiting, ...rest]',
    'another order',
  ],
  ['sends all that waits in one call', 'splice(0, MOST_TOGETHER)', 'splice(0)', 'more than 64 commands'],
  [
    'begins a call while one is on its way',
    'if (queue === undefined) {',
    'if (true) {',
    'two calls of a market',
  ],
  [
    'waits for a timer',
    'setImmediate(() => this.#begin())',
    'setTimeout(() => this.#begin(), 5)',
    'nothing was sent',
  ],
  [
    'ends with a call that fails',
    'for (const one of call) one.reject(error);',
    'for (const one of call) one.reject(error); return;',
    'a command without an answer',
  ],
] as const;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** @throws Error naming the rules that the queue breaks */
async function runQueue(queues: Queues, seed: number): Promise<void> {
  const dice = random(seed);
  const markets = ['a', 'b'].map((symbol) => ({ symbol }) as Market);
  const [busy, broken] = [new Set<Market>(), new Set<string>()];
  /** Commands in the order in which scripts have executed them. */
  const taken = new Map(markets.map((market) => [market, [] as number[]]));
  let [sent, answered, calls] = [0, 0, 0];

  const run = async (market: Market, commands: number[]): Promise<(number | typeof UNTOUCHED)[]> => {
    calls += 1;
    if (commands.length > MOST_TOGETHER) broken.add('more than 64 commands in a call');
    if (busy.has(market)) broken.add('two calls of a market at once');
    busy.add(market);
    for (let turns = dice.below(4); turns > 0; turns -= 1) await turn();
    busy.delete(market);
    const isLost = dice.chance(0.1);
    const reached = isLost || dice.chance(0.5) ? commands.length : 1 + dice.below(commands.length);
    taken.get(market)!.push(...commands.slice(0, reached));
    if (isLost) throw new Error('no answer');
    return commands.map((command, index): number | typeof UNTOUCHED =>
      index < reached ? command : queues.UNTOUCHED,
    );
  };
  const queue = new queues.Batches<number, number>(
    run,
    () => new Error('late'),
    () => 0,
  );
  const add = (command: number): void => {
    const done = (value: unknown): void => {
      answered += 1;
      if (value !== command && !(value instanceof Error)) broken.add('the answer of another command');
    };
    queue.add(dice.pick(markets), command).then(done, done);
  };

  while (sent < COMMANDS) {
    const before = { calls, isIdle: answered === sent };
    for (let together = 1 + dice.below(dice.pick([3, 200])); together > 0; together -= 1) add(sent++);
    await turn();
    await turn();
    if (before.isIdle && calls === before.calls) broken.add('nothing was sent at the end of the turn');
  }
  for (let turns = 0; turns < MOST_TURNS && answered < sent; turns += 1) await turn();
  if (answered !== sent) broken.add('a command without an answer');
  for (const commands of taken.values())
    if (commands.some((command, index) => index > 0 && command <= commands[index - 1]!))
      broken.add('another order');
  if (broken.size > 0) throw new Error([...broken].join('; '));
}

describe('the queue of a market', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-queues-'));
  after(() => rmSync(folder, { recursive: true }));

  /** Returns the queue with one mutation. */
  const broken = async (index: number, from: string, to: string): Promise<Queues> => {
    const [before, after, ...more] = readFileSync(SOURCE, 'utf8').split(from);
    if (before === undefined || after === undefined || more.length > 0)
      throw new Error(`batches.ts must hold exactly once: ${from}`);
    const file = join(folder, `batches-${index}.mts`);
    writeFileSync(file, before + to + after);
    return import(pathToFileURL(file).href);
  };

  it('sends commands first come first, each once, 64 at a time, one call after the other', async () => {
    for (const seed of [runSeed(), 1]) await runQueue({ Batches, UNTOUCHED }, seed);
  });

  it('refuses what has waited for over a second, and sends what came later or was left out', async () => {
    const market = { symbol: 'a' } as Market;
    let [now, finish] = [0, (): void => undefined];
    const calls: string[][] = [];
    const queue = new Batches<string, string>(
      async (_market, commands) => {
        calls.push([...commands]);
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return commands.map((command, index) => (calls.length === 1 && index === 1 ? UNTOUCHED : command));
      },
      () => new Error('late'),
      () => now,
    );
    const outcomes: Record<string, string> = {};
    const add = (command: string): void => {
      queue.add(market, command).then(
        (outcome) => {
          outcomes[command] = outcome;
        },
        (error: Error) => {
          outcomes[command] = error.message;
        },
      );
    };
    add('first');
    add('left out');
    await turn();
    add('late');
    now = 500;
    add('in time');
    now = 1_400;
    finish();
    await turn();
    expect(calls).to.deep.equal([
      ['first', 'left out'],
      ['left out', 'in time'],
    ]);
    finish();
    await turn();
    expect(outcomes).to.deep.equal({
      first: 'first',
      late: 'late',
      'left out': 'left out',
      'in time': 'in time',
    });
  });

  for (const [index, [name, from, to, shown]] of MUTATIONS.entries()) {
    it(`is found out when it ${name}`, async () => {
      const outcome = await runQueue(await broken(index, from, to), 1).then(
        () => 'nothing',
        (error: Error) => error.message,
      );
      expect(outcome).to.include(shown);
    });
  }
});
