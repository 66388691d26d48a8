/**
 * Proves that an order that fails inside a call leaves no trace and does not affect the others. `SEED=… npx mocha …`
 * repeats a run. The tests must also detect scripts that break this isolation.
 */

import { expect } from 'chai';
import { loadPlanted, plantedFor } from '../../planted/planted.ts';
import { runSeed } from '../../support/seed.ts';
import { sharedRedis } from '../../support/servers.ts';
import { Divergence } from './divergence.ts';
import { runIsolation } from './isolation.ts';

/** Each of seven kinds of damage occurs with orders three times and with cancels once. */
const ROUNDS = 28;
/** More than one run, because some damage affects only one kind of order. */
const MAX_SEEDS = 6;
/** Parts of outcomes that must occur in a run. */
const WANTED = [
  'not an amount',
  'data string too short',
  'WRONGTYPE',
  'planted',
  'a reservation of ETH/USD is missing',
  'SETTLEMENT_FAILED',
  'MARKET_NOT_TRADING',
  'INSUFFICIENT_BALANCE',
  'BAD_REQUEST',
];

describe('isolation of the orders of a call', function () {
  this.timeout(300_000);

  it('holds over random calls with injected errors', async () => {
    await runIsolation({ url: await sharedRedis(), seed: runSeed(), rounds: ROUNDS });
  });

  it('holds in the calls given to the broken scripts, which cover every error', async () => {
    const met = new Set<string>();
    const missing = (): string[] =>
      WANTED.filter((word) => ![...met].some((outcome) => outcome.includes(word)));
    for (let seed = 1; seed <= MAX_SEEDS && missing().length > 0; seed += 1) {
      const counts = await runIsolation({ url: await sharedRedis(), seed, rounds: ROUNDS });
      for (const outcome of counts.keys()) met.add(outcome);
    }
    expect(missing(), [...met].join('\n')).to.deep.equal([]);
  });

  for (const fault of plantedFor('isolation')) {
    it(`detects a script that ${fault.name}`, async () => {
      const load = loadPlanted(fault);
      let found: Error | undefined;
      for (let seed = 1; seed <= MAX_SEEDS && found === undefined; seed += 1)
        found = await runIsolation({ url: await sharedRedis(), seed, rounds: ROUNDS, load }).then(
          () => undefined,
          (error: Error) => error,
        );
      expect(found, 'no round showed it').to.be.instanceOf(Divergence);
    });
  }
});
