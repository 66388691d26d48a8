/** Servers of an engine with copies that are killed, hang, are cut off or come back. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Copies, cutReplication, hideFromKeepers } from '../../../support/copies.ts';
import { eventually } from '../../../support/eventually.ts';
import type { RedisServer } from '../../../support/redis-server.ts';
import { APPENDED, copiesRowOf, moment, PATIENCE_MS } from '../cluster.ts';
import { type Fault, type Injected, LIMITS, type Scene } from './fault.ts';
import { KILLS } from './kills.ts';

const MAX_MOMENT_MS = 700;
const HANG_MS = 20_000;
const SHORT_HANG_MS = 4_000;
const CUT_OFF_MS = 1_500;
const BREAKS = 10;
const MAX_CUT_BYTES = 20_000;
/** An order that takes longer is a violation: the keepers of a campaign wait 2.5 s, and copies leave after 3 s. */
const NEXT_ORDER_WITHIN_MS = 60_000;

/** A scene of an engine with copies. */
interface CopiesScene extends Scene {
  readonly copies: Copies;
  /** Name of the primary when the fault begins. */
  readonly first: string;
  serverOf(name: string): RedisServer;
  /** Waits until another server than this one is the named primary, and returns its name. */
  replaced(name: string): Promise<string>;
}

/** Does the harm. @returns what undoes it, if it does not end by itself */
type Harm = (scene: CopiesScene) => Injected;

/** Waits until an order is answered that was asked for after this call, and notes the time that it took. */
async function nextOrder({ driver, note, violation }: Scene): Promise<void> {
  const [{ model }, begunMs] = [driver, performance.now()];
  const { lastIntent } = model;
  const what = 'next answered order';
  try {
    await eventually(what, () => model.lastAccepted > lastIntent, NEXT_ORDER_WITHIN_MS);
    note(`${((performance.now() - begunMs) / 1_000).toFixed(1)} s to the ${what}`);
  } catch {
    violation(what, `none within ${NEXT_ORDER_WITHIN_MS} ms`);
  }
}

/** The cluster of these faults. Its two settlements are two keepers. */
const ON_COPIES: Pick<Fault, 'plan' | 'shares'> = {
  plan: async (base) => ({
    plan: { ...base, hasCopies: true, replicas: { settlement: 2, stream: 1, ...base.replicas } },
  }),
  shares: 'copies',
};

const faultOf = (name: string, harm: Harm, more: Partial<Fault> = {}): Fault => ({
  name,
  rounds: 20,
  shortRounds: 1,
  restEvery: 10,
  seconds: 20,
  mayBreak: LIMITS,
  forgetsLimits: true,
  ...ON_COPIES,
  ...more,
  async inject(scene) {
    const { cluster } = scene;
    const copies = cluster.copies!;
    await moment(scene.dice, MAX_MOMENT_MS);
    const heal = await harm({
      ...scene,
      copies,
      first: (await copiesRowOf(cluster)).server,
      serverOf: (server) => copies.servers.get(server)!,
      async replaced(before) {
        const isReplaced = async (): Promise<boolean> => (await copiesRowOf(cluster)).server !== before;
        await eventually('another primary is named', isReplaced, PATIENCE_MS);
        return (await copiesRowOf(cluster)).server;
      },
    });
    return async () => heal?.();
  },
});

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
];
