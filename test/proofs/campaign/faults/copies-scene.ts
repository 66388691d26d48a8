/** The scene of faults on an engine with copies. */

import { setTimeout as sleep } from 'node:timers/promises';
import { lookAt } from '../../../../src/engine/index.ts';
import { asAdmin, type Copies } from '../../../support/copies.ts';
import { eventually } from '../../../support/eventually.ts';
import type { RedisServer } from '../../../support/redis-server.ts';
import { copiesRowOf, moment, PATIENCE_MS, settledIn } from '../cluster.ts';
import { type Fault, type Injected, LIMITS, type Scene } from './fault.ts';

export const MAX_MOMENT_MS = 700;
export const CUT_OFF_MS = 1_500;
const LOOK_AT_PRIMARY_MS = 1_000;
/** An order that takes longer is a violation: the keepers of a campaign wait 2.5 s, and copies leave after 3 s. */
const NEXT_ORDER_WITHIN_MS = 60_000;

/** A scene of an engine with copies. */
export interface CopiesScene extends Scene {
  readonly copies: Copies;
  /** Name of the primary when the fault begins. */
  readonly first: string;
  serverOf(name: string): RedisServer;
  /** Waits until another server than this one is the named primary, and returns its name. */
  replaced(name: string): Promise<string>;
}

/** Does the harm. @returns what undoes it, if it does not end by itself */
export type Harm = (scene: CopiesScene) => Injected;

/** @returns what Postgres has and the named primary lacks; undefined if there is nothing, or the primary is away */
async function lackedByPrimary({ cluster, serverOf }: CopiesScene): Promise<string | undefined> {
  const settled = await settledIn(cluster);
  const { server } = await copiesRowOf(cluster);
  const seen = await asAdmin(serverOf(server), (redis) =>
    Promise.race([lookAt(redis), sleep(LOOK_AT_PRIMARY_MS)]),
  ).catch(() => undefined);
  if (seen === undefined || seen.sequence >= settled) return undefined;
  return `Postgres is at event ${settled}, and ${server}, the named primary, at event ${seen.sequence}`;
}

/**
 * Waits until an order is answered that was asked for after this call, and notes the time that it took.
 * @throws Error when the primary lacks what Postgres has: no order is answered ever after
 */
export async function nextOrder(scene: CopiesScene): Promise<void> {
  const { driver, note, violation } = scene;
  const { model } = driver;
  const begunMs = performance.now();
  const { lastIntent } = model;
  const what = 'next answered order';
  let lacked: string | undefined;
  const look = async (): Promise<void> => {
    lacked ??= await lackedByPrimary(scene).catch(() => undefined);
  };
  const looking = setInterval(look, LOOK_AT_PRIMARY_MS);
  try {
    const isOver = (): boolean => model.lastAccepted > lastIntent || lacked !== undefined;
    await eventually(what, isOver, NEXT_ORDER_WITHIN_MS);
    const seconds = (performance.now() - begunMs) / 1_000;
    if (lacked === undefined) note(`${seconds.toFixed(1)} s to the ${what}`);
  } catch {
    violation(what, `none within ${NEXT_ORDER_WITHIN_MS} ms`);
  }
  clearInterval(looking);
  await primaryHasLedger(scene, lacked);
}

/** @throws Error when the named primary lacks what Postgres has, which is a violation */
export async function primaryHasLedger(scene: CopiesScene, known?: string): Promise<void> {
  const lacked = known ?? (await lackedByPrimary(scene).catch(() => undefined));
  if (lacked === undefined) return;
  scene.violation('settled events', lacked);
  throw new Error('the named primary lacks settled events');
}

/** The cluster of these faults. Its two settlements are two keepers. */
export const ON_COPIES: Pick<Fault, 'plan' | 'shares'> = {
  plan: async (base) => ({
    plan: { ...base, hasCopies: true, replicas: { settlement: 2, stream: 1, ...base.replicas } },
  }),
  shares: 'copies',
};

export const faultOf = (name: string, harm: Harm, more: Partial<Fault> = {}): Fault => ({
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
