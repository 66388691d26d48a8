/**
 * An order that fails inside a batch leaves nothing, and touches no other. `SEED=… npx mocha …` repeats a run. Scripts
 * that are broken on purpose in this respect are found.
 */

import { expect } from 'chai';
import { runSeed } from '../support/seed.ts';
import { sharedRedis } from '../support/servers.ts';
import { Divergence } from './divergence.ts';
import { runIsolation } from './isolation.ts';
import { loadBroken, MUTATIONS_OF_ERRORS } from './mutations.ts';

/** Each of seven damages meets orders three times and cancels once. */
const ROUNDS = 28;
/** A damage that only one kind of order meets needs more than one run. */
const MOST_SEEDS = 6;
/** Parts of the outcomes that a run must have met. */
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

describe('isolation of the orders of a batch', function () {
  this.timeout(300_000);

  it('holds over random batches with errors planted in them', async () => {
    await runIsolation({ url: await sharedRedis(), seed: runSeed(), rounds: ROUNDS });
  });

  it('holds in the batches that broken scripts are given, which meet every error', async () => {
    const counts = await runIsolation({ url: await sharedRedis(), seed: 1, rounds: ROUNDS });
    const met = [...counts.keys()];
    const missing = WANTED.filter((word) => !met.some((outcome) => outcome.includes(word)));
    expect(missing, met.join('\n')).to.deep.equal([]);
  });

  for (const mutation of MUTATIONS_OF_ERRORS) {
    it(`finds a script that ${mutation.name}`, async () => {
      const load = loadBroken(mutation);
      load(mutation.script); // fails by itself where the script no longer holds what is to be broken
      let found: Error | undefined;
      for (let seed = 1; seed <= MOST_SEEDS && found === undefined; seed += 1)
        found = await runIsolation({ url: await sharedRedis(), seed, rounds: ROUNDS, load }).then(
          () => undefined,
          (error: Error) => error,
        );
      expect(found, 'no round showed it').to.be.instanceOf(Divergence);
    });
  }
});
