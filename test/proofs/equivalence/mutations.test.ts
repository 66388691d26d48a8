/** Proves that the equivalence detects mistakes: every script broken on purpose differs from the reference. */

import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { loadPlanted, plantedFor } from '../../planted/planted.ts';
import { openRedis } from '../../support/redis-server.ts';
import { freshRedis } from '../../support/servers.ts';
import { Divergence } from './divergence.ts';
import { type RunOptions, runEquivalence } from './equivalence.ts';

/** Tried in turn until one shows the fault: the sound scripts pass them all. */
const SEEDS = [1, 7, 25, 2, 5, 6, 10] as const;
const LONG = { operations: 700, turns: 0 };
/** Many turns. At the end, every event must be among the unsettled ones. */
const TURNS = { operations: 60, turns: 0.5 };
/** Low limits, so that short runs reach them. */
const LIMITS = { maxMakers: 3, maxLiveOrders: 8 };

describe('equivalence: detection of broken scripts', function () {
  this.timeout(300_000);
  let redis: Redis;

  before(async () => {
    redis = openRedis(await freshRedis());
  });
  after(() => redis.disconnect());

  /** Returns the difference that the seeds find, if any. */
  const findIn = async (run: typeof LONG, load?: RunOptions['load']): Promise<Divergence | undefined> => {
    for (const seed of SEEDS) {
      try {
        await runEquivalence({ redis, seed, limits: LIMITS, ...run, ...(load && { load }) });
      } catch (error) {
        if (!(error instanceof Divergence)) throw error;
        return error;
      }
    }
    return undefined;
  };

  for (const [run, proof] of [
    [LONG, 'equivalence'],
    [TURNS, 'calls'],
  ] as const) {
    it(`the unchanged scripts pass ${run.operations} operations`, async () => {
      expect((await findIn(run))?.message).to.equal(undefined);
    });

    for (const fault of plantedFor(proof)) {
      it(fault.name, async function () {
        const found = await findIn(run, loadPlanted(fault));
        if (found === undefined) throw new Error('no operation showed it');
        expect(found.what, 'a broken script must answer wrongly, not fail').to.not.equal('error');
        this.test!.title += ` — found in ${found.what}, ${found.message.split(/[:\n]/)[0]}`;
      });
    }
  }
});
