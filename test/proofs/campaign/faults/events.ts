/** Deletes events from the engine's stream before they are settled. */

import { eventually } from '../../../support/eventually.ts';
import { type Cluster, moment, PATIENCE_MS, settledIn } from '../cluster.ts';
import type { Fault, Scene } from './fault.ts';
import { expectClosed, LOST, loseEngine, rebuild } from './recovery.ts';
import { pauseSettlement } from './settlement-points.ts';

const EVENTS = '{redbook}:events';
/** Fewest events that settlement leaves unsettled for the choice. */
const WAITING = 6;

const sequenceOf = (id: string): number => Number(id.split('-')[1]);

/** Returns ids of the events that Postgres does not have, oldest first. */
async function unsettledIds({ redis }: Cluster, settled: number): Promise<string[]> {
  const entries = await redis.xrange(EVENTS, '-', '+');
  return entries.map(([id]) => id).filter((id) => sequenceOf(id) > settled);
}

/** Recovers as the runbook says when nothing can be repaired: rebuilds an empty Redis, and restarts settlement. */
async function rebuildAnew(scene: Scene): Promise<void> {
  const { processes } = scene.cluster;
  await loseEngine(scene.cluster);
  await expectClosed(scene);
  await rebuild(scene);
  for (const slot of scene.cluster.of('settlement')) await processes.roll(slot);
}

const deleted: Fault = {
  name: 'an event that is not settled is deleted (XDEL)',
  rounds: 5,
  shortRounds: 0,
  mayBreak: LOST,
  mayLose: true,
  async inject(scene) {
    const { cluster, dice, round, note, violation } = scene;
    const pause = await pauseSettlement(cluster);
    await moment(dice, 1_000);
    let ids: string[] = [];
    await eventually('events wait', async () => {
      ids = await unsettledIds(cluster, pause.settled);
      return ids.length >= WAITING;
    });
    // In every second round no later event shows the gap.
    const isNewest = round % 2 === 0;
    if (isNewest) {
      await scene.quiet();
      ids = await unsettledIds(cluster, pause.settled);
    }
    const id = isNewest ? ids.at(-1)! : dice.pick(ids.slice(0, -1));
    await scene.untilEventsAreRead();
    await cluster.redis.xdel(EVENTS, id);
    note(`event ${sequenceOf(id)} of ${pause.settled + 1} to ${sequenceOf(ids.at(-1)!)}`);
    await pause.end();
    await eventually('settlement stops', cluster.hasDiverged, PATIENCE_MS);
    const [slot] = cluster.of('settlement');
    if (!cluster.processes.log(slot!).includes(`event ${sequenceOf(id)} is missing`))
      violation('settlement', `it does not name event ${sequenceOf(id)}, which is missing`);
    const settled = await settledIn(cluster);
    if (settled >= sequenceOf(id))
      violation('settlement', `it went past event ${sequenceOf(id)}, which is missing, to ${settled}`);
    return () => rebuildAnew(scene);
  },
};

export const EVENT_LOSS: readonly Fault[] = [deleted];
