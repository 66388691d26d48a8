/**
 * Loads a cluster of real processes behind a real balancer while processes are replaced, added and killed. The clients
 * and the invariants are those of a campaign, and every request that fails is recorded.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../support/eventually.ts';
import { fundMarkets } from '../../support/funded-markets.ts';
import { Broken } from '../../support/http-exchange.ts';
import { watchOverMachine } from '../../support/machine.ts';
import {
  type Cluster,
  copiesRowOf,
  cursorOf,
  engineSequence,
  PATIENCE_MS,
  startCluster,
} from '../campaign/cluster.ts';
import { Driver, EARNED, MARKETS } from '../campaign/driver.ts';
import { openFollowers } from '../campaign/followers.ts';
import { INVARIANTS } from '../campaign/invariants/index.ts';
import { JOURNAL, openJournal } from '../campaign/journal.ts';
import { MARKER } from '../campaign/marker.ts';
import { Model, sequenceOf } from '../campaign/model.ts';
import { openOutbox } from '../campaign/outbox.ts';
import { openScreens as openBookScreens } from '../campaign/screens.ts';
import { bodyOf, openShownIds, type ShownIds } from '../campaign/shown.ts';
import type { Violation } from '../campaign/stage.ts';
import { type Balancer, type LogLine, startBalancer } from './balancer.ts';
import { type Exit, type Processes, type Replicas, ROLES, type Slot } from './processes.ts';
import { openScreens, type Screens } from './screens.ts';

export interface Failure {
  /** Method and path of the request. */
  readonly kind: string;
  /** Unix milliseconds. */
  readonly sentAtMs: number;
  readonly failedAtMs: number;
  /** `address:port` of the connection. */
  readonly connection: string;
  readonly what: string;
  /** Message of the reply; undefined if the connection broke. */
  readonly message: string | undefined;
}

interface Load {
  readonly driver: Driver;
  readonly shownIds: ShownIds;
  /** Duration in milliseconds of each request that was answered, by kind. */
  readonly tookMs: ReadonlyMap<string, readonly number[]>;
  readonly failures: readonly Failure[];
  readonly violations: readonly Violation[];
  found(invariant: string, detail: string): void;
  close(): void;
}

interface LoadOptions {
  readonly seed: number;
  readonly wallets: number;
}

const kindOf = (method: string, path: string): string =>
  `${method} ${path.split('?')[0]!.replace(/\/(?:c\d+|(?:0x)?[0-9a-f]{20,}|[A-Z]+_USDC)$/, '/…')}`;

function openLoad(folder: string, port: number, { seed, wallets }: LoadOptions): Load {
  const tookMs = new Map<string, number[]>();
  const failures: Failure[] = [];
  const violations: Violation[] = [];
  const found = (invariant: string, detail: string): void => void violations.push({ invariant, detail });
  const journal = openJournal(join(folder, JOURNAL));
  const model = new Model();
  const shownIds = openShownIds();
  const driver = new Driver({
    seed,
    traders: wallets,
    ports: [port],
    journal,
    model,
    onViolation: found,
    onAsked({ method, path, tookMs: took, connection, reply }) {
      shownIds.look(bodyOf(reply));
      const kind = kindOf(method, path);
      const fail = (what: string, message?: string): void => {
        const failedAtMs = Date.now();
        failures.push({ kind, sentAtMs: failedAtMs - took, failedAtMs, connection, what, message });
      };
      if (reply instanceof Broken) return fail(reply.message);
      if (!tookMs.has(kind)) tookMs.set(kind, []);
      tookMs.get(kind)!.push(took);
      const code = String(reply.body.code);
      if (reply.status !== 200 && !EARNED.has(code))
        fail(`${reply.status} ${code}`, String(reply.body.error));
    },
  });
  return {
    driver,
    shownIds,
    tookMs,
    failures,
    violations,
    found,
    close() {
      driver.close();
      journal.close();
    },
  };
}

export interface Plan {
  /** Minimum duration of the load. */
  readonly seconds: number;
  readonly seed: number;
  readonly wallets: number;
  readonly perSecond: number;
  readonly replicas: Replicas & Readonly<Record<'api' | 'stream', number>>;
  /** Number of times that each process is replaced. */
  readonly rounds: number;
  /** Milliseconds that a process continues to serve after its stop signal. */
  readonly drainMs: number;
  /** True to add and remove a replica of `api` and of `stream`. */
  readonly scales: boolean;
  /** True to replace one process of each role at the same time, instead of all processes in turn. */
  readonly hurries: boolean;
  /** Number of times that each change of the primary is made; 0 for an engine of one server. */
  readonly failovers: number;
}

/** The primary is killed and comes back late or at once, or an operator names another one. */
export const CHANGES = ['killed', 'restarted', 'replaced by name'] as const;

/** A primary that another one followed. */
export interface Failover {
  readonly change: (typeof CHANGES)[number];
  /** Unix milliseconds of the kill or the naming, and of the moment when all servers were copies again. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Milliseconds from then until an order was answered that was asked for after it. */
  readonly nextOrderMs: number;
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
  readonly failovers: readonly Failover[];
  /** The balancer's log of failed requests. */
  readonly log: readonly LogLine[];
  /** Orders whose outcome was unknown, and what came of them when they were asked for again. */
  readonly ofUnknown: Readonly<Record<'asked' | 'found' | 'placed' | 'refused', number>>;
  /** Number of replies by replica. */
  readonly replies: ReadonlyMap<string, number>;
}

/** Time from a burst to the kill: every replica has orders by then, and few are answered. */
const INTO_BURST_MS = 8;
/** Time for which added replicas run. */
const AT_WORK_MS = 3_000;
/** A client notices a closed connection within this time. */
const NOTICED_MS = 500;
/** Time until an orchestrator notices that a process is dead. */
const UNNOTICED_MS = 1_500;
const SCREENS_BACK_MS = 5_000;
/** Time between two kills of a primary. */
const BETWEEN_FAILOVERS_MS = 2_000;
/** Defaults of the service. The clusters of a campaign have shorter times. */
const OF_COPIES = { ENGINE_DOWN_AFTER_MS: '5000', ENGINE_COPY_LATE_MS: '10000' };

export async function runDrill(plan: Plan, say: (line: string) => void): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-cluster-'));
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  try {
    say('Starting the servers and processes …');
    const extra = plan.scales ? 1 : 0;
    const { api, stream } = plan.replicas;
    const cluster = await startCluster({
      folder,
      replicas: { ...plan.replicas, api: api + extra, stream: stream + extra },
      hasCopies: plan.failovers > 0,
      settings: { ...OF_COPIES, DRAIN_MS: String(plan.drainMs), TRUST_PROXY_HOPS: '1' },
    });
    closing.push(() => cluster.stop());
    const { slots, processes } = cluster;
    await cluster.untilReady();
    const spares = plan.scales ? [cluster.of('api').at(-1)!, cluster.of('stream').at(-1)!] : [];
    await Promise.all(spares.map((spare) => processes.end(spare, 'SIGTERM')));
    const standing = slots.filter((slot) => !spares.includes(slot));
    const balancer = await startBalancer(folder, slots);
    closing.push(balancer.stop);
    for (const spare of spares) await eventually('it is missed', async () => !(await balancer.isUp(spare)));
    const load = openLoad(folder, balancer.port, plan);
    closing.push(load.close);
    const wallets = load.driver.wallets.map(({ address }) => address);
    await fundMarkets(cluster.settings, [...MARKETS, MARKER], wallets);
    await load.driver.signIn();
    const screens = openScreens(balancer.port);
    closing.push(screens.close);
    await screens.untilAll();
    return await drive({ plan, say, cluster, standing, spares, processes, balancer, load, screens });
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

interface Scene {
  readonly plan: Plan;
  readonly say: (line: string) => void;
  readonly cluster: Cluster;
  readonly standing: readonly Slot[];
  readonly spares: readonly Slot[];
  readonly processes: Processes;
  readonly balancer: Balancer;
  readonly load: Load;
  readonly screens: Screens;
}

async function drive(scene: Scene): Promise<Outcome> {
  const { plan, say, cluster, standing, spares, processes, balancer, load, screens } = scene;
  const { driver, shownIds } = load;
  const upTo = cluster.copies === undefined ? undefined : () => cursorOf(cluster);
  const outbox = openOutbox(cluster.redis, load.found, upTo);
  const sequence = (): Promise<number | undefined> => engineSequence(cluster.redis);
  const phases: Phase[] = [];
  const phase = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    say(`${name} …`);
    const fromMs = Date.now();
    const before = driver.answers.count;
    const heldUpMs = watchOverMachine();
    await work();
    phases.push({
      name,
      fromMs,
      toMs: Date.now(),
      sent: driver.answers.count - before,
      heldUpMs: heldUpMs(),
    });
  };

  // They follow only at the end: the log of the balancer is compared with the driver's requests.
  const followers = openFollowers(driver, plan.wallets, shownIds, load.found);
  await followers.open((await sequence())!);

  const begunMs = Date.now();
  const leftMs = (): number => Math.max(0, begunMs + plan.seconds * 1_000 - Date.now());
  driver.begin(plan.perSecond);
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
  const failovers: Failover[] = [];
  for (let times = 1; times <= plan.failovers; times += 1)
    for (const change of CHANGES)
      await phase(`primary ${change}, ${times}`, async () => {
        failovers.push(await changePrimary(scene, change));
      });
  let victims: Victim[] = [];
  if (plan.failovers === 0)
    await phase('kill', async () => {
      victims = await killEach(scene);
    });
  await eventually('every screen is back', async () => screens.away() === 0, SCREENS_BACK_MS).catch(
    () => undefined,
  );
  await driver.stop();
  screens.close();

  say('Comparing …');
  const log = balancer.log();
  const replies = new Map<string, number>();
  for (const slot of [...standing, ...spares]) replies.set(slot.name, await balancer.repliesOf(slot));
  const unknown = [...driver.model.orders.values()].filter(({ state }) => state === 'asked');
  const before = (await sequence())!;
  await driver.resolve();
  const known = unknown.filter(({ id }) => id !== undefined);
  const found = known.filter(({ id }) => sequenceOf(id!) <= before).length;
  // An order beyond the funds of its wallet is refused, whenever it arrives.
  const refused = unknown.filter(({ state }) => state === 'refused').length;
  await cluster.untilSettled();
  const bookScreens = openBookScreens([balancer.port], shownIds, load.found);
  const rest = {
    cluster,
    driver,
    outbox,
    screens: bookScreens,
    shownIds,
    followers,
    custody: undefined,
    ended: new Map<string, string>(),
  };
  for (const { name, check } of INVARIANTS)
    for (const detail of await check({ ...rest, model: driver.model, sinceMs: performance.now() }))
      load.found(name, detail);
  bookScreens.close();
  outbox.close();
  const ofUnknown = { asked: unknown.length, found, placed: known.length - found, refused };
  return { plan, phases, load, screens, processes, victims, failovers, log, ofUnknown, replies };
}

/** Changes the primary of the copies, waits for the next answered order, and until all servers are copies again. */
async function changePrimary(
  { cluster, load: { driver } }: Scene,
  change: Failover['change'],
): Promise<Failover> {
  const { model } = driver;
  const { server: first, members } = await copiesRowOf(cluster);
  const server = cluster.copies!.servers.get(first)!;
  const naming = change === 'replaced by name' ? nameAnother(cluster, first, members) : undefined;
  const isNamed = async (): Promise<boolean> => (await copiesRowOf(cluster)).server !== first;
  // The command takes a while to start.
  if (naming !== undefined) await eventually('another one is named', isNamed, PATIENCE_MS);
  driver.burst();
  if (naming === undefined) await sleep(INTO_BURST_MS);
  const { lastIntent } = model;
  const fromMs = naming === undefined ? Date.now() : await namedAtMs(cluster);
  if (naming === undefined) await server.kill();
  const restarted = change === 'restarted' ? server.start() : undefined;
  await eventually('an order is answered', () => model.lastAccepted > lastIntent, PATIENCE_MS);
  const nextOrderMs = Date.now() - fromMs;
  await (change === 'killed' ? server.start() : (restarted ?? naming));
  await cluster.untilReady();
  const toMs = Date.now();
  await sleep(BETWEEN_FAILOVERS_MS);
  return { change, fromMs, toMs, nextOrderMs };
}

async function namedAtMs({ sql }: Cluster): Promise<number> {
  const text = 'select extract(epoch from named_at)::float8 * 1000 as ms from engine_copies';
  return Math.floor((await sql<{ ms: number }>(text))[0]!.ms);
}

const nameAnother = (cluster: Cluster, first: string, members: readonly string[]): Promise<unknown> =>
  cluster.operate('copies', 'name', members.find((name) => name !== first)!);

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

/** Kills one process of each role. Failures on other processes are not victims. */
async function killEach(scene: Scene): Promise<Victim[]> {
  const { plan, standing, processes, balancer, load } = scene;
  const victims: Victim[] = [];
  const first = load.failures.length;
  const logged = balancer.log().length;
  for (const slot of firsts(standing)) {
    // A process that has just started must receive requests before it is killed.
    if (isBalanced(slot)) await eventually('it is sent requests', () => balancer.isUp(slot));
    load.driver.burst();
    await sleep(INTO_BURST_MS);
    await processes.end(slot, 'SIGKILL');
    if (!plan.hurries) await sleep(UNNOTICED_MS);
  }
  await sleep(UNNOTICED_MS);
  const missed = firsts(standing).filter(({ role }) => !plan.hurries || plan.replicas[role] === 1);
  await Promise.all(missed.map(processes.start));
  const deaths = processes.exits.filter(({ signal }) => signal === 'SIGKILL');
  // A connection may have failed before, on another server.
  const log = balancer.log().slice(logged);
  for (const failure of load.failures.slice(first)) {
    const line = log.findLast(({ client }) => client === failure.connection);
    const had =
      deaths.find(({ name }) => name === line?.server) ?? (line ? undefined : deaths.find(hadIt(failure)));
    if (had !== undefined) victims.push({ ...failure, isUnreached: line?.ending.startsWith('SC') ?? false });
  }
  return victims;
}
