/** One or both stores are restored from backups: every combination that docs/runbook.md names. */

import { spawn } from 'node:child_process';
import { appendFileSync, chmodSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { eventually } from '../../../support/eventually.ts';
import { installedPostgres } from '../../../support/postgres-server.ts';
import { APPENDED, type Cluster, engineSequence, PATIENCE_MS, settledIn } from '../cluster.ts';
import type { Fault, Injected, OwnPlan, Scene } from './fault.ts';
import { expectClosed } from './recovery.ts';

/** @throws Error with what the program said when it fails */
async function run(command: string, ...args: string[]): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${said}`);
}

/** `cp -a`, because a copy by Node belongs to whoever makes it. */
async function copyWhole(from: string, to: string): Promise<void> {
  rmSync(to, { recursive: true, force: true });
  await run('cp', '-a', from, to);
}

/** Copies the engine's files as the guide says, with no rewrite of the file under way. */
async function copyEngine({ redis, engineFolder }: Cluster, to: string): Promise<void> {
  await redis.config('SET', 'auto-aof-rewrite-percentage', '0');
  await copyWhole(join(engineFolder, APPENDED), to);
  await redis.config('SET', 'auto-aof-rewrite-percentage', '100');
}

const copyOf = (folder: string): string => `${folder}-copy`;
const filesOf = ({ postgresFolder }: Cluster): string => join(postgresFolder, 'postgres');

/** Copies the files of Postgres as a snapshot of its volume has them. */
export async function copyPostgres(cluster: Cluster): Promise<void> {
  const { postgres, postgresFolder } = cluster;
  await postgres.kill();
  await copyWhole(filesOf(cluster), copyOf(postgresFolder));
  await postgres.start();
}

/** Postgres goes on with the files that were copied. */
export async function putPostgresBack(cluster: Cluster): Promise<void> {
  const { postgres, postgresFolder } = cluster;
  await postgres.kill();
  await copyWhole(copyOf(postgresFolder), filesOf(cluster));
  await postgres.start();
}

/** Settlement that ran through a restore has seen events that nobody has now: the guide says to restart it. */
export async function restartSettlement({ of, processes }: Cluster): Promise<void> {
  for (const slot of of('settlement')) {
    await processes.end(slot, 'SIGKILL');
    await processes.start(slot);
  }
}

const MAX_COPIES = 4;
/** The guide allows ten seconds between the two copies. */
const TOGETHER_MS = 9_000;

/** Makes both copies, that of Postgres first. A busy machine may take longer than the guide allows, and tries again. */
async function copyTogether(copy: () => Promise<void>): Promise<void> {
  for (let copies = 0; copies < MAX_COPIES; copies += 1) {
    const begunMs = Date.now();
    await copy();
    if (Date.now() - begunMs < TOGETHER_MS) return;
  }
  throw new Error('the machine is too busy to copy both stores within nine seconds');
}

const AFTER_COPY = 'what was acknowledged after the copy of the engine';

const snapshots: Fault = {
  name: 'restore: snapshots of both volumes',
  rounds: 5,
  shortRounds: 1,
  mayBreak: AFTER_COPY,
  mayLose: true,
  async inject(scene) {
    const { cluster, dice, note } = scene;
    const { engine, engineFolder, postgres, postgresFolder, redis } = cluster;
    const engineCopy = copyOf(engineFolder);
    await copyTogether(async () => {
      await copyPostgres(cluster);
      await sleep(dice.below(2_000));
      await copyEngine(cluster, engineCopy);
    });
    await sleep(dice.below(1_500));
    await Promise.all([engine.kill(), postgres.kill()]);
    await copyWhole(engineCopy, join(engineFolder, APPENDED));
    await copyWhole(copyOf(postgresFolder), filesOf(cluster));
    await scene.quiet();
    await engine.start();
    const sequence = (await engineSequence(redis)) ?? 0;
    await postgres.start();
    note(`the engine was ${sequence - (await settledIn(cluster))} events ahead`);
    scene.lost(sequence);
    return () => restartSettlement(cluster);
  },
};

const until = (what: string, holds: () => Promise<boolean>): Promise<void> =>
  eventually(what, holds, 60_000, 200);

/** The engine's copy is older than Postgres: the engine stays closed until the newer files are put back. */
const engineTooOld: Fault = {
  name: 'restore: the engine from before the cursor of Postgres',
  rounds: 5,
  shortRounds: 1,
  mayBreak: 'nothing: the engine stays closed, and its files are put back',
  mayLose: true,
  async inject(scene) {
    const { cluster, dice } = scene;
    const { engine, engineFolder, redis } = cluster;
    const copy = `${engineFolder}-copy`;
    const aside = `${engineFolder}-aside`;
    const folder = join(engineFolder, APPENDED);
    await copyEngine(cluster, copy);
    const copied = (await engineSequence(redis)) ?? 0;
    await until('settlement passes the copy', async () => (await settledIn(cluster)) > copied);
    await sleep(dice.below(500));
    await engine.kill();
    rmSync(aside, { recursive: true, force: true });
    renameSync(folder, aside);
    await copyWhole(copy, folder);
    await engine.start();
    const sequence = (await engineSequence(redis)) ?? 0;
    const settled = await settledIn(cluster);
    await expectClosed(scene, { sequence, settled });
    await engine.kill();
    rmSync(folder, { recursive: true });
    renameSync(aside, folder);
    return () => engine.start();
  },
};

const firstEvent = async ({ redis }: Cluster): Promise<number> => {
  const [first] = await redis.xrange('{redbook}:events', '-', '+', 'COUNT', 1);
  return first === undefined ? 0 : Number(first[0].split('-')[1]);
};

/**
 * Postgres is from before the oldest event that the engine still has: settlement stops, and trading goes on. Then
 * Postgres is put back as it was.
 */
const postgresTooOld: Fault = {
  name: 'restore: Postgres from before the events of the engine',
  rounds: 5,
  seconds: 30,
  shortRounds: 0,
  mayBreak: 'nothing: settlement stops, and the files of Postgres are put back',
  mayLose: true,
  async inject(scene) {
    const { cluster, violation, note } = scene;
    const { postgres, postgresFolder } = cluster;
    const data = filesOf(cluster);
    const aside = `${postgresFolder}-aside`;
    await copyPostgres(cluster);
    const copied = await settledIn(cluster);
    await until('the engine trims what is settled', async () => (await firstEvent(cluster)) > copied + 1);
    await scene.quiet();
    await postgres.kill();
    rmSync(aside, { recursive: true, force: true });
    renameSync(data, aside);
    await copyWhole(copyOf(postgresFolder), data);
    await postgres.start();
    await eventually('settlement stops', cluster.hasDiverged, PATIENCE_MS).catch(() =>
      violation('restore', 'settlement goes on although events are missing'),
    );
    note(`settlement stopped at event ${await settledIn(cluster)}`);
    await postgres.kill();
    rmSync(data, { recursive: true });
    renameSync(aside, data);
    return async () => {
      await postgres.start();
      await restartSettlement(cluster);
    };
  },
};

const ARCHIVE = 'archive';
const CONFIGURATION = [
  'wal_level = replica',
  'archive_mode = on',
  // The server runs in its data folder.
  `archive_command = 'mkdir -p ../${ARCHIVE} && cp %p ../${ARCHIVE}/%f'`,
];

/** Faults that share a cluster whose Postgres archives its log and has tools for backups. */
const archived = (
  name: string,
  more: Pick<Fault, 'mayBreak' | 'mayLose'>,
  inject: (scene: Scene, tools: string) => Injected,
): Fault => {
  const home = installedPostgres();
  return {
    name,
    rounds: 5,
    shortRounds: 1,
    seconds: 20,
    ...more,
    shares: 'archived',
    lacks: () =>
      home === undefined ? 'needs an installed Postgres with pg_dump and pg_basebackup' : undefined,
    plan: async (base): Promise<OwnPlan> => ({
      plan: { ...base, installedPostgres: { home: home!, settings: CONFIGURATION } },
    }),
    inject: (scene) => inject(scene, join(home!, 'bin')),
  };
};

async function killEverything({ processes, slots, engine, postgres }: Cluster): Promise<void> {
  await Promise.all(slots.map((slot) => processes.end(slot, 'SIGKILL')));
  await Promise.all([engine.kill(), postgres.kill()]);
}

/** The last steps of a restore by the guide: one settlement, `ledger reconcile`, then the other processes. */
const startInOrder =
  ({ cluster, violation }: Scene): (() => Promise<void>) =>
  async () => {
    const settlements = cluster.of('settlement');
    for (const slot of settlements) await cluster.processes.start(slot);
    const reconciled = (await cluster.operate('ledger', 'reconcile', '--patience', '60')) as {
      holds: boolean;
    };
    if (!reconciled.holds) violation('restore', 'the restored stores do not agree');
    await Promise.all(
      cluster.slots.filter((slot) => !settlements.includes(slot)).map(cluster.processes.start),
    );
  };

/** Puts the copy of the engine in place and notes what is lost with it. */
async function restoreEngine(scene: Scene, copy: string): Promise<void> {
  const { cluster, note } = scene;
  await copyWhole(copy, join(cluster.engineFolder, APPENDED));
  await scene.quiet();
  await cluster.engine.start();
  const sequence = (await engineSequence(cluster.redis)) ?? 0;
  note(`the engine was ${sequence - (await settledIn(cluster))} events ahead`);
  scene.lost(sequence);
}

const dump = archived(
  'restore: pg_dump, then a copy of the engine',
  { mayBreak: AFTER_COPY, mayLose: true },
  async (scene, tools) => {
    const { cluster, dice } = scene;
    const { postgres, postgresFolder, engineFolder } = cluster;
    const file = `${postgresFolder}.dump`;
    const engineCopy = `${engineFolder}-copy`;
    await copyTogether(async () => {
      await run(join(tools, 'pg_dump'), '-Fc', '-f', file, postgres.url);
      await copyEngine(cluster, engineCopy);
    });
    await sleep(dice.below(1_500));
    await killEverything(cluster);
    await postgres.start();
    await emptyDatabase(postgres.url);
    await run(join(tools, 'pg_restore'), '--exit-on-error', '-d', postgres.url, file);
    await restoreEngine(scene, engineCopy);
    return startInOrder(scene);
  },
);

/** The service's database is `postgres`, so it is dropped from another one. */
async function emptyDatabase(url: string): Promise<void> {
  const other = new URL(url);
  other.pathname = '/template1';
  const client = new pg.Client({ connectionString: other.href });
  await client.connect();
  await client.query('drop database postgres with (force)');
  await client.query('create database postgres template template0');
  await client.end();
}

const baseBackup = (tools: string, { postgres }: Cluster, to: string): Promise<void> => {
  rmSync(to, { recursive: true, force: true });
  const how = ['--checkpoint=fast', '--wal-method=none', '--no-sync'];
  return run(join(tools, 'pg_basebackup'), '-d', postgres.url, '-D', to, ...how);
};

/** Ends the present segment of the log, and waits until it is in the archive. */
async function archiveNow({ sql }: Cluster): Promise<void> {
  const [ended] = await sql<{ segment: string }>(
    "select pg_walfile_name(pg_switch_wal()) as segment, pg_logical_emit_message(false, 'campaign', '')",
  );
  await until('the log is archived', async () => {
    const [archiver] = await sql<{ last: string | null }>(
      'select last_archived_wal as last from pg_stat_archiver',
    );
    // The first eight digits are the timeline, which a recovery begins anew.
    return (archiver?.last ?? '') >= ended!.segment;
  });
}

/** Recovers Postgres from a base backup and the archive, to a time or to the end. */
async function recover({ postgres, postgresFolder }: Cluster, base: string, time?: string): Promise<void> {
  const data = join(postgresFolder, 'postgres', 'data');
  const { uid, gid } = statSync(data);
  rmSync(data, { recursive: true });
  renameSync(base, data);
  chmodSync(data, 0o700);
  writeFileSync(join(data, 'recovery.signal'), '');
  const lines = [
    `restore_command = 'cp ../${ARCHIVE}/%f %p'`,
    // The backup of a database that was recovered before has the time of then.
    `recovery_target_time = '${time ?? ''}'`,
    "recovery_target_action = 'promote'",
  ];
  appendFileSync(join(data, 'postgresql.conf'), `${lines.join('\n')}\n`);
  await run('chown', '-R', `${uid}:${gid}`, data);
  await postgres.start();
  await untilPromoted(postgres.url);
}

async function untilPromoted(url: string): Promise<void> {
  await until('Postgres has recovered', async () => {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ recovers: boolean }>('select pg_is_in_recovery() as recovers');
      return rows[0]!.recovers === false;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => undefined);
    }
  });
}

const toTheTime = archived(
  'restore: a snapshot of the engine, and Postgres recovered to its time',
  { mayBreak: AFTER_COPY, mayLose: true },
  async (scene, tools) => {
    const { cluster, dice } = scene;
    const base = `${cluster.postgresFolder}-base`;
    const engineCopy = `${cluster.engineFolder}-copy`;
    await baseBackup(tools, cluster, base);
    await sleep(dice.below(3_000));
    const [{ now }] = (await cluster.sql('select clock_timestamp()::text as now')) as [{ now: string }];
    await copyEngine(cluster, engineCopy);
    // A recovery to a time needs a commit after it in the archive.
    await sleep(1_000);
    await archiveNow(cluster);
    await killEverything(cluster);
    await recover(cluster, base, now);
    await restoreEngine(scene, engineCopy);
    return startInOrder(scene);
  },
);

const toTheEnd = archived(
  'restore: Postgres alone, recovered to the end of its archive',
  {},
  async (scene, tools) => {
    const { cluster, dice, note } = scene;
    const base = `${cluster.postgresFolder}-base`;
    await baseBackup(tools, cluster, base);
    await sleep(dice.below(2_000));
    let before = 0;
    // The archive may end ten seconds before the loss.
    await copyTogether(async () => {
      await archiveNow(cluster);
      await sleep(dice.below(4_000));
      before = await settledIn(cluster);
    });
    await cluster.postgres.kill();
    await recover(cluster, base);
    note(`Postgres came back ${before - (await settledIn(cluster))} events older, at least`);
    // The engine has every event that the archive lacks, so nothing is lost.
  },
);

export const RESTORES: readonly Fault[] = [
  snapshots,
  engineTooOld,
  postgresTooOld,
  dump,
  toTheTime,
  toTheEnd,
];
