/** Servers of an engine with copies that are killed, hang, are cut off or come back. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cutReplication, hideFromKeepers } from '../../../support/copies.ts';
import { eventually } from '../../../support/eventually.ts';
import { APPENDED, copiesRowOf, moment, PATIENCE_MS } from '../cluster.ts';
import { COPIES_RESTARTED } from './copies-restarted.ts';
import {
  type CopiesScene,
  CUT_OFF_MS,
  faultOf,
  MAX_MOMENT_MS,
  nextOrder,
  ON_COPIES,
} from './copies-scene.ts';
import { COPIES_THAT_LACK } from './copies-that-lack.ts';
import type { Fault } from './fault.ts';
import { KILLS } from './kills.ts';

const HANG_MS = 20_000;
const SHORT_HANG_MS = 4_000;
const BREAKS = 10;
const MAX_CUT_BYTES = 20_000;

const otherThan = async ({ cluster, dice, first }: CopiesScene): Promise<string> =>
  dice.pick((await copiesRowOf(cluster)).members.filter((name) => name !== first));

const killPrimary = faultOf('copies: the primary is killed', async (scene) => {
  const server = scene.serverOf(scene.first);
  await server.kill();
  await nextOrder(scene);
  return () => server.start();
});

const hang = faultOf(
  'copies: the primary hangs for 20 s',
  async (scene) => {
    const pid = scene.serverOf(scene.first).pid();
    const begunMs = performance.now();
    process.kill(pid, 'SIGSTOP');
    await nextOrder(scene);
    await sleep((scene.isShort ? SHORT_HANG_MS : HANG_MS) - (performance.now() - begunMs));
    return async () => {
      process.kill(pid, 'SIGCONT');
    };
  },
  { seconds: 30 },
);

const comesBack = faultOf('copies: the old primary comes back as the next one is named', async (scene) => {
  const pid = scene.serverOf(scene.first).pid();
  process.kill(pid, 'SIGSTOP');
  await scene.replaced(scene.first);
  await moment(scene.dice, MAX_MOMENT_MS);
  process.kill(pid, 'SIGCONT');
  await nextOrder(scene);
});

const cutAndKill = faultOf('copies: replication is cut and the primary is killed', async (scene) => {
  const server = scene.serverOf(scene.first);
  await cutReplication(server);
  await sleep(CUT_OFF_MS);
  await server.kill();
  await nextOrder(scene);
  return () => server.start();
});

const split = faultOf('copies: keepers and copies do not reach the primary', async (scene) => {
  const show = await hideFromKeepers(scene.serverOf(scene.first));
  await nextOrder(scene);
  await scene.replaced(scene.first);
  return show;
});

const killCopy = faultOf('copies: a copy is killed', async (scene) => {
  const server = scene.serverOf(await otherThan(scene));
  await server.kill();
  await nextOrder(scene);
  return () => server.start();
});

const emptyCopy = faultOf('copies: a copy comes back empty', async (scene) => {
  const name = await otherThan(scene);
  const server = scene.serverOf(name);
  await server.kill();
  rmSync(join(scene.copies.folderOf(name), APPENDED), { recursive: true });
  await server.start();
  await nextOrder(scene);
});

const twice = faultOf(
  'copies: the next primary is killed as well',
  async (scene) => {
    const first = scene.serverOf(scene.first);
    await first.kill();
    const next = await scene.replaced(scene.first);
    await nextOrder(scene);
    await first.start();
    const hasCopy = async (): Promise<boolean> => (await copiesRowOf(scene.cluster)).members.length > 1;
    await eventually('a copy has joined', hasCopy, PATIENCE_MS);
    const second = scene.serverOf(next);
    await second.kill();
    await nextOrder(scene);
    return () => second.start();
  },
  { seconds: 25 },
);

const randomBytes = faultOf('copies: all connections to the copies break at random bytes', async (scene) => {
  const { copies, dice } = scene;
  for (let times = 0; times < BREAKS; times += 1) {
    for (const link of copies.links.values())
      link.limp({ delayMs: 0, cutAfterBytes: 1 + dice.below(MAX_CUT_BYTES) });
    await sleep(dice.below(2 * MAX_MOMENT_MS) / 4);
  }
  for (const link of copies.links.values()) await link.mend();
  await nextOrder(scene);
});

/** Faults of processes and of all servers at once, on an engine with copies. */
export const WITH_COPIES: readonly Fault[] = KILLS.map((fault) => ({ ...fault, ...ON_COPIES }));

export const COPIES: readonly Fault[] = [
  killPrimary,
  hang,
  comesBack,
  cutAndKill,
  split,
  killCopy,
  emptyCopy,
  twice,
  randomBytes,
  ...COPIES_THAT_LACK,
  ...COPIES_RESTARTED,
];
