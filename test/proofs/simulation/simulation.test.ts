/** The short form of `npm run simulation`: seeded histories, and proof that it finds what is broken. */

import { expect } from 'chai';
import { plantedFor } from '../../planted/planted.ts';
import { freshDatabase, freshLedgerDatabase, loneRedis } from '../../support/servers.ts';
import { History } from './history.ts';
import { openWorld, simulate } from './simulate.ts';
import type { World, WorldOptions } from './world.ts';

const STEPS = 200;
/** Builds that are found within few histories. */
const QUICK = ['settles in two processes at once', 'trims events that are not settled'];
/** As many as 8 s of processor time allow, with fewer decisions than those of the command. */
const HISTORIES = 150;
const FEW_STEPS = 40;
/** Histories of an engine with copies, of some 500 ms each. */
const COPIES_HISTORIES = 100;
const COPIES_STEPS = 250;

describe('simulated histories', function () {
  this.timeout(600_000);
  let servers: WorldOptions;
  let world: World;

  before(async () => {
    servers = {
      redisUrl: await loneRedis(),
      databaseUrl: await freshDatabase(),
      freshDatabase: freshLedgerDatabase,
    };
    world = await openWorld(servers);
  });
  after(() => world.close());

  describe('of an engine with copies', () => {
    let copies: World;

    before(async () => {
      copies = await openWorld({ ...servers, copies: 3 });
    });
    after(() => copies.close());

    it('repeats a history by its seed', async () => {
      const run = (seed: number) => new History({ world: copies, seed, steps: COPIES_STEPS }).run();
      const first = await run(1);
      await run(2);
      const second = await run(1);
      expect(second.trace).to.equal(first.trace);
    });

    it(`breaks no invariant in ${COPIES_HISTORIES} histories, with primaries that are replaced`, async () => {
      let epochs = 0;
      for (let seed = 1; seed <= COPIES_HISTORIES; seed += 1) {
        const { failure } = await simulate({
          world: copies,
          histories: 1,
          seed,
          steps: COPIES_STEPS,
          maxReplays: 100,
        });
        expect(failure, JSON.stringify(failure)).to.equal(undefined);
        epochs += copies.journal.losses;
      }
      expect(epochs).to.be.above(0);
    });
  });

  it('repeats a history by its seed', async () => {
    const run = (seed: number) => new History({ world, seed, steps: STEPS }).run();
    const first = await run(5);
    await run(6);
    const second = await run(5);
    expect(second.trace).to.equal(first.trace);
  });

  it(`breaks no invariant in ${HISTORIES} histories`, async () => {
    const { failure } = await simulate({
      world,
      histories: HISTORIES,
      seed: 1,
      steps: FEW_STEPS,
      maxReplays: 200,
    });
    expect(failure, JSON.stringify(failure)).to.equal(undefined);
  });

  for (const fault of plantedFor('simulation').filter(({ name }) => QUICK.includes(name)))
    it(`finds a build that ${fault.name}`, async () => {
      const broken = await openWorld(servers, fault);
      try {
        const found = await simulate({
          world: broken,
          histories: 100,
          seed: 1,
          steps: STEPS,
          fault,
          maxReplays: 0,
        });
        expect(found.failure, 'a broken invariant').to.not.equal(undefined);
      } finally {
        await broken.close();
      }
    });
});
