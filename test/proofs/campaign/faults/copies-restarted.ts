/** Servers of an engine with copies that are started again on another disk, and rows of Postgres that are older than they. */

import { cpSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { asAdmin, hideFromKeepers } from '../../../support/copies.ts';
import { eventually } from '../../../support/eventually.ts';
import { APPENDED, copiesRowOf, moment, PATIENCE_MS } from '../cluster.ts';
import { type CopiesScene, faultOf, nextOrder, primaryHasLedger } from './copies-scene.ts';
import type { Fault } from './fault.ts';
import { copyPostgres, putPostgresBack, restartSettlement } from './restores.ts';

/** Clients get answers meanwhile, which the snapshot lacks. */
const AFTER_SNAPSHOT_MS = 2_500;
const MAX_CUT_BYTES = 8_000;
/** A named server has its epoch within a second on a quiet machine. */
const MAX_NAMED_MS = 1_500;
/** Longer than ENGINE_DOWN_AFTER_MS of a campaign. */
const SILENT_MS = 4_000;
/** A keeper looks several times meanwhile. */
const SOME_LOOKS_MS = 1_000;

const filesOf = ({ copies }: CopiesScene, name: string): string => join(copies.folderOf(name), APPENDED);
const snapshotOf = (scene: CopiesScene, name: string): string => `${filesOf(scene, name)}-snapshot`;

function takeSnapshot(scene: CopiesScene, name: string): void {
  rmSync(snapshotOf(scene, name), { recursive: true, force: true });
  cpSync(filesOf(scene, name), snapshotOf(scene, name), { recursive: true });
}

function putSnapshotBack(scene: CopiesScene, name: string): void {
  rmSync(filesOf(scene, name), { recursive: true });
  cpSync(snapshotOf(scene, name), filesOf(scene, name), { recursive: true });
}

/** Changes the files of a server while it is down for a moment. */
async function startAgain(scene: CopiesScene, name: string, change: (name: string) => void): Promise<void> {
  const server = scene.serverOf(name);
  await server.kill();
  change(name);
  await server.start();
}

const otherThan = async (scene: CopiesScene, ...names: readonly string[]): Promise<string> =>
  scene.dice.pick((await copiesRowOf(scene.cluster)).members.filter((name) => !names.includes(name)));

const olderFile = faultOf('copies: the primary is back at once with an older file', async (scene) => {
  takeSnapshot(scene, scene.first);
  await sleep(AFTER_SNAPSHOT_MS);
  await startAgain(scene, scene.first, (name) => putSnapshotBack(scene, name));
  await nextOrder(scene);
});

const cutTail = faultOf(
  'copies: the primary is back at once, and the end of its file is lost',
  async (scene) => {
    await startAgain(scene, scene.first, (name) => {
      const folder = filesOf(scene, name);
      const last = readdirSync(folder)
        .filter((file) => file.includes('.incr.'))
        .sort()
        .at(-1)!;
      const { size } = statSync(join(folder, last));
      truncateSync(join(folder, last), Math.max(0, size - 1 - scene.dice.below(MAX_CUT_BYTES)));
    });
    await nextOrder(scene);
  },
);

/** A server is named by the operator or after a kill, and comes back without its disk at any moment of that. */
const namedDisk = faultOf('copies: the named server comes back on a new disk', async (scene) => {
  const { cluster, dice, first, round, serverOf } = scene;
  const isByOperator = round % 2 === 0;
  let naming: Promise<unknown> = Promise.resolve();
  if (isByOperator) {
    const next = await otherThan(scene, first);
    // The command waits for the epoch, which begins on another server now and then.
    naming = cluster.operate('copies', 'name', next).catch(() => undefined);
  } else await serverOf(first).kill();
  const named = await scene.replaced(first);
  await moment(dice, MAX_NAMED_MS);
  await startAgain(scene, named, (name) => rmSync(filesOf(scene, name), { recursive: true }));
  await nextOrder(scene);
  await naming;
  return async () => {
    if (!isByOperator) await serverOf(first).start();
  };
});

const powerCut = faultOf(
  'copies: all are killed, and one with an older disk is up first',
  async (scene) => {
    const { copies, first, serverOf } = scene;
    const old = await otherThan(scene, first);
    takeSnapshot(scene, old);
    await sleep(AFTER_SNAPSHOT_MS);
    await Promise.all([...copies.servers.values()].map((server) => server.kill()));
    putSnapshotBack(scene, old);
    await serverOf(old).start();
    await sleep(SILENT_MS);
    const others = [...copies.servers.keys()].filter((name) => name !== old);
    await Promise.all(others.map((name) => serverOf(name).start()));
    await nextOrder(scene);
  },
  { seconds: 25 },
);

/** Wrong settings of a copy, with what is right. */
const SETTINGS = [
  ['replica-serve-stale-data', 'no', 'yes'],
  ['appendfsync', 'everysec', 'always'],
] as const;

const wrongSetting = faultOf(
  'copies: a setting of a copy changes, and the primary is killed',
  async (scene) => {
    const { cluster, copies, dice, first, round, serverOf, violation } = scene;
    // It stands before all others, and would be named first and join first.
    const wrong = [...copies.servers.keys()].find((server) => server !== first)!;
    const [name, value, right] = SETTINGS[round % SETTINGS.length]!;
    const set = (to: string): Promise<unknown> =>
      asAdmin(serverOf(wrong), (redis) => redis.config('SET', name, to));
    await set(value);
    await moment(dice, SOME_LOOKS_MS);
    await serverOf(first).kill();
    try {
      const next = await scene.replaced(first);
      if (next === wrong) violation('settings of copies', `${next} is named with ${name} ${value}`);
      // Answers need a second copy.
      await serverOf(first).start();
      await nextOrder(scene);
      const { server } = await copiesRowOf(cluster);
      if (server === wrong) violation('settings of copies', `${server} leads with ${name} ${value}`);
    } finally {
      await set(right);
    }
  },
);

const keepersCutOff = faultOf('copies: keepers alone do not reach the primary', async (scene) => {
  const show = await hideFromKeepers(scene.serverOf(scene.first), ['engine-settlement']);
  await scene.replaced(scene.first);
  await nextOrder(scene);
  return show;
});

/**
 * Postgres goes back to before a failover, and the primary of that time is back. Whatever keepers did by that row would
 * be by an older one than the servers know. Then the operator takes the primary from the servers.
 */
const putBack: Fault = faultOf(
  'copies: Postgres is put back to before a failover',
  async (scene) => {
    const { cluster, first, serverOf } = scene;
    await copyPostgres(cluster);
    await serverOf(first).kill();
    const next = await scene.replaced(first);
    await nextOrder(scene);
    await putPostgresBack(cluster);
    await serverOf(first).start();
    // The server that the row names is there, and must not lead.
    await sleep(SOME_LOOKS_MS);
    await primaryKeeps(scene, next);
    await cluster.operate('copies', 'adopt');
    await nextOrder(scene);
    await primaryHasLedger(scene);
    return () => restartSettlement(cluster);
  },
  { rounds: 5, seconds: 40, mayLose: true, endsSessions: true },
);

/** The primary of before stays one, and all servers have its list. */
async function primaryKeeps({ serverOf, first, violation }: CopiesScene, next: string): Promise<void> {
  const roleOf = (name: string): Promise<unknown> =>
    asAdmin(serverOf(name), async (redis) => ((await redis.role()) as [string])[0]);
  const isUp = async (): Promise<boolean> => (await roleOf(first)) !== undefined;
  await eventually(`${first} answers`, isUp, PATIENCE_MS);
  if ((await roleOf(next)) !== 'master')
    violation('an older row', `keepers made ${next} a replica by a row that is older than its list`);
  if ((await roleOf(first)) === 'master')
    violation('an older row', `keepers promoted ${first} by a row that is older than what others know`);
}

export const COPIES_RESTARTED: readonly Fault[] = [
  olderFile,
  cutTail,
  namedDisk,
  powerCut,
  wrongSetting,
  keepersCutOff,
  putBack,
];
