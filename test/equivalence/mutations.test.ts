/** The equivalence finds mistakes: every variant of the scripts that is broken on purpose differs from the reference. */

import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { openRedis } from '../support/redis-server.ts';
import { freshRedis } from '../support/servers.ts';
import { Divergence } from './divergence.ts';
import { type RunOptions, runEquivalence } from './equivalence.ts';
import { loadBroken, MUTATIONS } from './mutations.ts';

const SEEDS = [1, 2] as const;
const OPERATIONS = 1_000;
/** Tight, so that the bounds are met in short runs. */
const LIMITS = { maxMakers: 3, maxLiveOrders: 8 };

describe('equivalence: broken scripts are found', function () {
  this.timeout(300_000);
  let redis: Redis;

  before(async () => {
    redis = openRedis(await freshRedis());
  });
  after(() => redis.disconnect());

  /** The difference that the seeds find, if any. */
  const findIn = async (load?: RunOptions['load']): Promise<Divergence | undefined> => {
    for (const seed of SEEDS) {
      try {
        await runEquivalence({ redis, seed, operations: OPERATIONS, limits: LIMITS, ...(load && { load }) });
      } catch (error) {
        if (!(error instanceof Divergence)) throw error;
        return error;
      }
    }
    return undefined;
  };

  it('but the scripts as they are pass', async () => {
    expect((await findIn())?.message).to.equal(undefined);
  });

  for (const mutation of MUTATIONS) {
    it(mutation.name, async function () {
      const load = loadBroken(mutation);
      load(mutation.script); // fails by itself where the script no longer holds what is to be broken
      const found = await findIn(load);
      if (found === undefined) throw new Error('no operation showed it');
      expect(found.what, 'a broken script must answer wrongly, not fail').to.not.equal('error');
      this.test!.title += ` — found in ${found.what}, ${found.message.split(/[:\n]/)[0]}`;
    });
  }
});
