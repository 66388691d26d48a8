/** Tests days of trading on a real engine whose Redis has a faked clock, of which the service knows nothing. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Figures, MarketData } from '../../src/market-data/index.ts';
import { type FakedClock, fakedClock } from '../support/faked-clock.ts';
import { random, runSeed } from '../support/seed.ts';
import { freshRedisServer } from '../support/servers.ts';
import { figureRows, openExecutions, recomputedFigures } from './executions.ts';
import { openStage } from './stage.ts';

const STEPS = 40;
const DAY_SECONDS = 86_400;

describe('figures over several simulated days', () => {
  let clock: FakedClock | undefined;

  before(async () => {
    clock = await fakedClock();
  });

  after(() => clock?.remove());

  it('equal a recomputation, with processes and the engine restarted', async function () {
    if (clock === undefined) {
      console.log('      libfaketime cannot be had here');
      this.skip();
    }
    const seed = runSeed();
    const dice = random(seed);
    // Starts before a leap day; the first day is long over when the last begins.
    let ahead = Math.floor((Date.UTC(2028, 1, 27) - Date.now()) / 1000);
    clock.setAhead(ahead);
    const server = await freshRedisServer(clock.environment);
    const stage = await openStage(server.url);
    const executions = await openExecutions(stage.databaseUrl);
    const steady = stage.replica();

    const agree = async (data: MarketData, where: string): Promise<void> => {
      const nowMs = await stage.engine.reads.time();
      const figures = await notBefore(data, nowMs - (nowMs % 1000));
      expect(figureRows(figures), where).to.deep.equal(await recomputedFigures(executions, figures.asOfMs));
    };

    for (let step = 0; step < STEPS; step += 1) {
      const where = `SEED=${seed}, step ${step}`;
      for (let burst = dice.below(4); burst > 0; burst -= 1) {
        const prices = Array.from({ length: dice.below(6) }, () => 90 + dice.below(20));
        const market = dice.pick(['A/Q', 'B/Q']);
        const side = dice.pick(['buy', 'sell'] as const);
        await executions.add(await stage.trade(market, side, prices));
      }
      if (dice.chance(0.6)) await stage.settle(dice.pick([0, 0, 5]));
      ahead += dice.pick([1, 60, 3_600, 5 * 3_600, 20 * 3_600, DAY_SECONDS, DAY_SECONDS + 1]);
      clock.setAhead(ahead);
      if (step === STEPS / 2) {
        await server.kill();
        await server.start();
        while (!stage.engine.lifecycle.isOpen()) {
          await stage.engine.lifecycle.open(await stage.ledger.settlement.cursor()).catch(() => sleep(50));
        }
      }
      await agree(stage.replica(), `${where}, restarted`);
      if (step % 5 === 0) await agree(steady, where);
    }
    const { timeMs } = await stage.engine.reads.state();
    expect(timeMs).to.be.above(Date.UTC(2028, 2, 3));
    await executions.close();
    await stage.close();
  });
});

/** Returns figures of a given time or later, because a process may serve cached figures for a second. */
async function notBefore(data: MarketData, asOfMs: number): Promise<Figures> {
  for (;;) {
    const figures = await data.figures();
    if (figures.asOfMs >= asOfMs) return figures;
    await sleep(20);
  }
}
