/** Loads a cluster of real processes behind a real balancer while processes are replaced, added and killed. */

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { eventually } from '../../support/eventually.ts';
import { fundMarkets } from '../../support/funded-markets.ts';
import { watchOverMachine } from '../../support/machine.ts';
import { startPostgresServer } from '../../support/postgres-server.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import { random } from '../../support/seed.ts';
import { launchService, operate } from '../../support/service.ts';
import { type Balancer, type LogLine, startBalancer } from './balancer.ts';
import { type Answered, type Failure, type Load, MARKETS, openLoad } from './load.ts';
import {
  type Exit,
  openProcesses,
  type Processes,
  ROLES,
  type Role,
  type Slot,
  slotsFor,
} from './processes.ts';
import { openScreens, type Screens } from './screens.ts';

export interface Plan {
  /** Minimum duration of the load. */
  readonly seconds: number;
  readonly seed: number;
  readonly wallets: number;
  readonly perSecond: number;
  readonly replicas: Readonly<Record<Role, number>>;
  /** Number of times that each process is replaced. */
  readonly rounds: number;
  /** Milliseconds that a process continues to serve after its stop signal. */
  readonly drainMs: number;
  /** True to add and remove a replica of `api` and of `stream`. */
  readonly scales: boolean;
  /** True to replace one process of each role at the same time, instead of all processes in turn. */
  readonly hurries: boolean;
}

export interface Phase {
  readonly name: string;
  /** Unix milliseconds. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly sent: number;
  /** Longest time for which this process could not run. */
  readonly heldUpMs: number;
}

/** A request that failed because its process was killed. */
interface Victim extends Failure {
  /** True if the request was sent after the death but before the balancer noticed it; false if it was in flight. */
  readonly isUnreached: boolean;
}

export interface Outcome {
  readonly plan: Plan;
  readonly phases: readonly Phase[];
  readonly load: Load;
  readonly screens: Screens;
  readonly processes: Processes;
  readonly victims: readonly Victim[];
  /** The balancer's log of failed requests. */
  readonly log: readonly LogLine[];
  /** Number of victims' orders that existed when they were sent again. `placed` counts those that did not. */
  readonly found: number;
  readonly placed: number;
  /** Number of replies by replica. */
  readonly replies: ReadonlyMap<string, number>;
  /** Answered orders that are missing from the ledger or differ from their answer. */
  readonly untrue: readonly Answered[];
  readonly reconciles: boolean;
}

const SECRET = 'a secret of the cluster, and of nothing else';
/** Time from a burst to the kill: every replica has orders by then, and few are answered. */
const INTO_BURST_MS = 8;
/** Time for which added replicas run. */
const AT_WORK_MS = 3_000;
/** A client notices a closed connection within this time. */
const NOTICED_MS = 500;
/** Time until an orchestrator notices that a process is dead. */
const UNNOTICED_MS = 1_500;
const SCREENS_BACK_MS = 5_000;
const SETTLED_WITHIN_MS = 30_000;

interface Stage {
  readonly settings: Readonly<Record<string, string>>;
  readonly databaseUrl: string;
  readonly folder: string;
  close(): Promise<void>;
}

/** Starts a Redis with the operators' users and a migrated Postgres. */
async function openStage(drainMs: number): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-cluster-'));
  const [redis, postgres] = await Promise.all([
    startRedisServer(join(folder, 'redis')),
    startPostgresServer(),
  ]);
  const settings = {
    ...{ REDIS_URL: redis.url, DATABASE_URL: postgres.url, JWT_SECRET: SECRET, WEB_HOSTS: 'redbook.example' },
    ...{ DRAIN_MS: String(drainMs), TRUST_PROXY_HOPS: '1', LOG_LEVEL: 'warn' },
  };
  const migrating = await launchService('migrate', settings);
  const [code] = await once(migrating.child, 'exit');
  if (code !== 0) throw new Error(`the migration ended with ${code}:\n${migrating.output()}`);
  return {
    ...{ settings, folder, databaseUrl: postgres.url },
    async close() {
      await Promise.all([redis.stop(), postgres.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function runDrill(plan: Plan, say: (line: string) => void): Promise<Outcome> {
  const closing: (() => unknown)[] = [];
  try {
    say('Starting the servers …');
    const stage = await openStage(plan.drainMs);
    closing.push(stage.close);
    const extra = plan.scales ? 1 : 0;
    const { api, stream } = plan.replicas;
    const slots = await slotsFor({ ...plan.replicas, api: api + extra, stream: stream + extra });
    const spares = plan.scales
      ? [slots.findLast(({ role }) => role === 'api')!, slots.findLast(({ role }) => role === 'stream')!]
      : [];
    const standing = slots.filter((slot) => !spares.includes(slot));
    const processes = openProcesses(() => stage.settings);
    closing.push(processes.stop);
    say(`Starting ${standing.length} processes …`);
    // Role by role: if all processes started at once, each would take as long as all of them.
    for (const name of ROLES) {
      await Promise.all(standing.filter(({ role }) => role === name).map(processes.start));
    }
    const balancer = await startBalancer(stage.folder, slots);
    closing.push(balancer.stop);
    for (const spare of spares) await eventually('it is missed', async () => !(await balancer.isUp(spare)));
    const load = openLoad(balancer.port, plan.wallets, random(plan.seed));
    closing.push(load.stop);
    await fundMarkets(stage.settings, MARKETS, load.wallets);
    await load.signIn();
    const screens = openScreens(balancer.port);
    closing.push(screens.close);
    await screens.untilAll();
    return await drive({ plan, say, stage, standing, spares, processes, balancer, load, screens });
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

interface Scene {
  readonly plan: Plan;
  readonly say: (line: string) => void;
  readonly stage: Stage;
  readonly standing: readonly Slot[];
  readonly spares: readonly Slot[];
  readonly processes: Processes;
  readonly balancer: Balancer;
  readonly load: Load;
  readonly screens: Screens;
}

async function drive(scene: Scene): Promise<Outcome> {
  const { plan, say, stage, standing, spares, processes, balancer, load, screens } = scene;
  const phases: Phase[] = [];
  const phase = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    say(`${name} …`);
    const [fromMs, before, heldUpMs] = [Date.now(), load.sent(), watchOverMachine()];
    await work();
    phases.push({ name, fromMs, toMs: Date.now(), sent: load.sent() - before, heldUpMs: heldUpMs() });
  };

  const begunMs = Date.now();
  const leftMs = (): number => Math.max(0, begunMs + plan.seconds * 1_000 - Date.now());
  load.begin(plan.perSecond);
  await phase('steady', () => sleep(Math.max(1_000, plan.seconds * 100)));
  for (let round = 1; round <= plan.rounds; round += 1) {
    await phase(`roll ${round}`, () => rollAll(standing, processes, plan.hurries));
    if (round > 1 || spares.length === 0) continue;
    await phase('add', async () => {
      await Promise.all(spares.map(processes.start));
      for (const spare of spares) await eventually('it is sent requests', () => balancer.isUp(spare));
      await sleep(AT_WORK_MS);
    });
    await phase('remove', () => Promise.all(spares.map((spare) => processes.end(spare, 'SIGTERM'))));
  }
  if (leftMs() > 0) await phase('steady again', () => sleep(leftMs()));
  let victims: Victim[] = [];
  const retried = { found: 0, placed: 0 };
  await phase('kill', async () => {
    victims = await killEach(scene, retried);
  });
  await eventually('every screen is back', async () => screens.away() === 0, SCREENS_BACK_MS).catch(
    () => undefined,
  );
  await load.stop();
  screens.close();

  say('Comparing …');
  const log = balancer.log();
  const replies = new Map<string, number>();
  for (const slot of [...standing, ...spares]) replies.set(slot.name, await balancer.repliesOf(slot));
  const untrue = await untrueIn(stage.databaseUrl, load.answered);
  const reconciles = await operate({ ...stage.settings }, 'ledger', 'reconcile').then(
    () => true,
    () => false,
  );
  return {
    plan,
    phases,
    load,
    screens,
    processes,
    victims,
    log,
    ...retried,
    replies,
    untrue,
    reconciles,
  };
}

const isBalanced = ({ role }: Slot): boolean => role === 'api' || role === 'stream';

/** The first replica of each role. */
const firsts = (slots: readonly Slot[]): Slot[] =>
  ROLES.flatMap((name) => slots.find(({ role }) => role === name) ?? []);

async function rollAll(slots: readonly Slot[], processes: Processes, hurries: boolean): Promise<void> {
  if (hurries) await Promise.all(firsts(slots).map(processes.roll));
  else for (const slot of slots) await processes.roll(slot);
}

/**
 * If a replica dies, the balancer closes a connection whose current request is not its first, and logs nothing. The
 * request was in flight if it failed around the time of the death.
 */
const hadIt =
  ({ sentAtMs, failedAtMs }: Failure) =>
  ({ atMs, graceMs }: Exit): boolean =>
    sentAtMs <= atMs + graceMs && failedAtMs >= atMs && failedAtMs <= atMs + graceMs + NOTICED_MS;

/**
 * Kills one process of each role, and sends the victims' orders again under their client order ids. Failures on other
 * processes are not victims.
 */
async function killEach(scene: Scene, retried: { found: number; placed: number }): Promise<Victim[]> {
  const { plan, standing, processes, balancer, load } = scene;
  const victims: Victim[] = [];
  const first = load.failures.length;
  for (const slot of firsts(standing)) {
    // A process that has just started must receive requests before it is killed.
    if (isBalanced(slot)) await eventually('it is sent requests', () => balancer.isUp(slot));
    load.burst();
    await sleep(INTO_BURST_MS);
    await processes.end(slot, 'SIGKILL');
    if (!plan.hurries) await sleep(UNNOTICED_MS);
  }
  await sleep(UNNOTICED_MS);
  const missed = firsts(standing).filter(({ role }) => !plan.hurries || plan.replicas[role] === 1);
  await Promise.all(missed.map(processes.start));
  const deaths = processes.exits.filter(({ signal }) => signal === 'SIGKILL');
  const log = balancer.log();
  for (const failure of load.failures.slice(first)) {
    const line = log.findLast(({ client }) => client === failure.connection);
    const had =
      deaths.find(({ name }) => name === line?.server) ?? (line ? undefined : deaths.find(hadIt(failure)));
    if (had !== undefined) victims.push({ ...failure, isUnreached: line?.ending.startsWith('SC') ?? false });
  }
  for (const victim of victims.filter(({ order }) => order !== undefined)) {
    const outcome = await load.again(victim);
    if (outcome !== undefined) retried[outcome] += 1;
  }
  return victims;
}

/** Returns the answered orders that are not in the ledger exactly once and with the answered id. */
async function untrueIn(databaseUrl: string, answered: readonly Answered[]): Promise<Answered[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  let untrue: Answered[] = [];
  await eventually(
    'every answered order is settled',
    async () => {
      const { rows } = await client.query(
        'select wallet, client_order_id, array_agg(id) as ids from orders group by 1, 2',
      );
      const ids = new Map(rows.map((row) => [`${row.wallet} ${row.client_order_id}`, String(row.ids)]));
      untrue = answered.filter(
        ({ wallet, clientOrderId, id }) => ids.get(`${wallet} ${clientOrderId}`) !== id,
      );
      return untrue.length === 0;
    },
    SETTLED_WITHIN_MS,
  ).catch(() => undefined);
  await client.end();
  return untrue;
}
