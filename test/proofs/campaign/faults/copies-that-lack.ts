/**
 * Faults that aim at one safeguard of the copies each: a server that lacks answered orders is offered to the keepers as
 * the next primary, or to the clients as the present one.
 */

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { plantedFor } from '../../../planted/planted.ts';
import { faultyRelease } from '../../../planted/release.ts';
import { asAdmin, cutOff, cutReplication } from '../../../support/copies.ts';
import { eventually } from '../../../support/eventually.ts';
import type { RedisServer } from '../../../support/redis-server.ts';
import { copiesRowOf, PATIENCE_MS } from '../cluster.ts';
import {
  type CopiesScene,
  CUT_OFF_MS,
  faultOf,
  nextOrder,
  ON_COPIES,
  primaryHasLedger,
} from './copies-scene.ts';
import type { Fault } from './fault.ts';

/** Longer than ENGINE_COPY_LATE_MS of a campaign. */
const LATE_MS = 4_500;
/** Longer than ENGINE_DOWN_AFTER_MS of a campaign. */
const SILENT_MS = 4_000;
/** A keeper looks several times meanwhile. */
const SOME_LOOKS_MS = 1_000;
/** A keeper looks once meanwhile, and not twice. */
const ONE_LOOK_MS = 150;
/** Clients get answers meanwhile. A blocked keeper gives up after 2,100 ms. */
const SOME_ORDERS_MS = 700;
const READ_EVERY_MS = 50;

/** The two members that are not the primary, in an order that the dice choose. */
async function othersOf({ cluster, dice, first }: CopiesScene): Promise<[string, string]> {
  const [one, other] = (await copiesRowOf(cluster)).members.filter((name) => name !== first);
  return dice.chance(0.5) ? [one!, other!] : [other!, one!];
}

const untilLeft = ({ cluster }: CopiesScene, name: string): Promise<void> =>
  eventually(
    `${name} has left`,
    async () => !(await copiesRowOf(cluster)).members.includes(name),
    PATIENCE_MS,
  );

const setFlushing = (server: RedisServer, when: 'always' | 'everysec'): Promise<unknown> =>
  asAdmin(server, (redis) => redis.config('SET', 'appendfsync', when));

/** Answers that counted acknowledgements, and did not ask whose they are, would not be in the next primary. */
const strangerAcknowledges = faultOf(
  'copies: a server that is no copy gets all orders, a copy none, and the primary is killed',
  async (scene) => {
    const { first, serverOf } = scene;
    const [stranger, copy] = await othersOf(scene);
    const primary = serverOf(first);
    const follower = serverOf(stranger);
    // It may not join again with this setting.
    await setFlushing(follower, 'everysec');
    const mend = await cutOff(follower);
    await untilLeft(scene, stranger);
    await mend();
    const follows = async (): Promise<boolean> =>
      (await asAdmin(primary, (redis) => redis.info('replication'))).includes(`port=${portOf(stranger)},`);
    await eventually(`${stranger} follows`, follows, PATIENCE_MS);
    const mendCopy = await cutOff(serverOf(copy));
    await sleep(CUT_OFF_MS);
    await primary.kill();
    await mendCopy();
    await scene.replaced(first);
    await setFlushing(follower, 'always');
    await nextOrder(scene);
    return () => primary.start();
  },
);

const portOf = (name: string): string => name.split(':')[1]!;

/** Refuses each change by which a copy leaves. */
const NO_LEAVING = `
  create function no_leaving() returns trigger language plpgsql as $$ begin
    if cardinality(new.members) < cardinality(old.members) then raise exception 'no copy may leave'; end if;
    return new;
  end $$;
  create trigger no_leaving before update on engine_copies for each row execute function no_leaving()`;
const LEAVING = 'drop function if exists no_leaving cascade';

/** Answers that no longer waited for the late copy would not be in the next primary. */
const lateCopyStays = faultOf(
  'copies: Postgres lets a late copy not leave, and all others are killed',
  async (scene) => {
    const { cluster, first, serverOf } = scene;
    const [late, other] = await othersOf(scene);
    let mend: () => Promise<void>;
    try {
      await cluster.sql(NO_LEAVING);
      mend = await cutOff(serverOf(late));
      await sleep(LATE_MS);
      await Promise.all([first, other].map((name) => serverOf(name).kill()));
    } finally {
      await cluster.sql(LEAVING);
    }
    await mend();
    await scene.replaced(first);
    await serverOf(other).start();
    await nextOrder(scene);
    return () => serverOf(first).start();
  },
);

/** Locks the row of the copies: whoever changes it waits. @returns what ends that */
async function lockRow({ cluster }: CopiesScene): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: cluster.postgres.url });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  await client.query('select from engine_copies for update');
  return () => client.end();
}

const BLOCKED = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%engine_copies%'`;

/** A member that no round had waited for would lack what was answered before answers waited for it. */
const joinsCutOff = faultOf(
  'copies: a server is cut off as it joins, and all others are killed',
  async (scene) => {
    const { cluster, first, serverOf } = scene;
    const [late, other] = await othersOf(scene);
    const others = [first, other].map(serverOf);
    const rejoin = await cutOff(serverOf(late));
    await untilLeft(scene, late);
    const unlock = await lockRow(scene);
    let mend: () => Promise<void>;
    try {
      await rejoin();
      const isJoining = async (): Promise<boolean> => (await cluster.sql(BLOCKED)).length > 0;
      await eventually(`a keeper lets ${late} join`, isJoining, PATIENCE_MS);
      mend = await cutOff(serverOf(late));
      await sleep(SOME_ORDERS_MS);
    } finally {
      await unlock();
    }
    await sleep(SOME_LOOKS_MS);
    await Promise.all(others.map((server) => server.kill()));
    await mend();
    await sleep(SILENT_MS);
    // Both were killed, so neither leads before the other one answers.
    await Promise.all(others.map((server) => server.start()));
    await nextOrder(scene);
  },
);

const LATE = 'late';
const [LATE_KEEPER] = plantedFor('late-keeper');

/** Servers that follow nobody are told by a keeper to follow the primary. */
const followNobody = (server: RedisServer): Promise<unknown> =>
  asAdmin(server, (redis) => redis.replicaof('127.0.0.1', 1));

/**
 * A keeper is about to tell the copies whom to follow, and sleeps until another one leads, and the primary of before is
 * back. Servers that obeyed it would copy that primary, and drop what was answered since.
 */
const lateKeeper: Fault = {
  ...faultOf('copies: a keeper acts on an older row, and the primary of that row is back', async (scene) => {
    const { cluster, copies, first } = scene;
    const [quick, late] = cluster.of('settlement');
    const file = join(cluster.plan.releaseOf!(late!)!, LATE);
    const way = copies.links.get(first)!;
    const pid = cluster.processes.pidOf(quick!);
    process.kill(pid, 'SIGSTOP');
    writeFileSync(file, '');
    for (const name of await othersOf(scene)) await followNobody(scene.serverOf(name));
    await sleep(SOME_LOOKS_MS);
    process.kill(pid, 'SIGCONT');
    await nextOrder(scene);
    way.cut();
    await scene.replaced(first);
    await nextOrder(scene);
    await scene.quiet();
    process.kill(pid, 'SIGSTOP');
    await way.mend();
    await sleep(SOME_LOOKS_MS);
    // It acts once and waits again, or it would mend at once what it did.
    rmSync(file);
    await sleep(ONE_LOOK_MS);
    writeFileSync(file, '');
    await sleep(SOME_LOOKS_MS);
    await primaryHasLedger(scene);
    rmSync(file);
    process.kill(pid, 'SIGCONT');
  }),
  async plan(base) {
    const { plan } = await ON_COPIES.plan!(base);
    const folder = join(base.folder, 'late-keeper');
    if (!existsSync(folder)) faultyRelease(LATE_KEEPER!, folder, base.release);
    return {
      plan: { ...plan, releaseOf: ({ name }) => (name === 'settlement2' ? folder : undefined) },
      close: async () => rmSync(folder, { recursive: true, force: true }),
    };
  },
  shares: 'copies with a late keeper',
};

/** Reads lists for a while, of which none may be answered: no copy has what the primary has. */
async function readInVain({ driver, violation }: CopiesScene, forMs: number): Promise<void> {
  const untilMs = performance.now() + forMs;
  let answered = 0;
  const read = async (wallet: (typeof driver.wallets)[number]): Promise<void> => {
    for (; performance.now() < untilMs; await sleep(READ_EVERY_MS))
      if ((await driver.read(wallet, '/v1/orders?limit=20'))?.status === 200) answered += 1;
  };
  await Promise.all(driver.wallets.map(read));
  if (answered > 0) violation('reads of a closed engine', `${answered} lists were answered`);
}

/** A process that answered reads while it is closed would show what the next primary lacks. */
const allClosed = faultOf(
  'copies: all copies lack orders, and the primary is closed and killed',
  async (scene) => {
    const { cluster } = scene;
    const primary = scene.serverOf(scene.first);
    const keepers = cluster.of('settlement').map((slot) => cluster.processes.pidOf(slot));
    await cutReplication(primary);
    await sleep(SOME_ORDERS_MS);
    // They would name another primary.
    for (const pid of keepers) process.kill(pid, 'SIGSTOP');
    await setFlushing(primary, 'everysec');
    await asAdmin(primary, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
    await readInVain(scene, LATE_MS);
    await primary.kill();
    for (const pid of keepers) process.kill(pid, 'SIGCONT');
    await nextOrder(scene);
    return () => primary.start();
  },
);

export const COPIES_THAT_LACK: readonly Fault[] = [
  strangerAcknowledges,
  lateCopyStays,
  joinsCutOff,
  allClosed,
  lateKeeper,
];
