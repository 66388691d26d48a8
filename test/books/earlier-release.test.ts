/**
 * Proves that every process refuses the engine and ledger of an earlier release until `ledger rebuild` has replaced the
 * engine.
 */

import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { DEFAULT_FILTER_BYTES } from '../../src/engine/filter-layout.ts';
import { dump } from '../engine/fixture.ts';
import { query } from '../ledger/tables.ts';
import { type Desk, openDesk } from '../operator/fixture.ts';
import { expectOlderProcessesRefused } from '../recorded/older-processes.ts';
import { loadPostgres, loadRedis, RECORDS } from '../recorded/records.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/ports.ts';
import { sharedRedis } from '../support/servers.ts';
import { isReady, launchService, operate, type Service } from '../support/service.ts';
import { contentOf } from './rebuilt-engine.ts';

const [ALICE, BOB, CAROL] = ['a1', 'b0', 'ca'].map((byte) => `0x${byte.repeat(20)}`) as [
  string,
  string,
  string,
];
const SENTENCE =
  "the engine's Redis has format 1, this release needs format 2: let the release that wrote it settle every event, stop it, then run 'ledger rebuild'";
/** Number of script calls by release, including variants. */
const CALLS = { d855f64: 25, f4cf5e4: 40 };
/** Fields of the engine's own hash that exist in both formats. */
const SHARED = /^(settled|paused|terms|last:\d+|hold:.*|terms:.*)$/s;

/** The newest migration of this release. */
const NEWEST = readdirSync('migrations').sort().at(-1)!.replace('.ts', '');
/** The claim filters of the releases that were recorded. */
const FILTER = { trading: DEFAULT_FILTER_BYTES, operating: DEFAULT_FILTER_BYTES };

const openRecorded = (record: URL): Promise<Desk> =>
  openDesk(FILTER, async (redis, databaseUrl) => {
    await Promise.all([loadRedis(redis, record), loadPostgres(databaseUrl, RECORDS.postgres)]);
  });

/** Three processes start at once on a busy machine. */
const PATIENCE_MS = 60_000;
const ROLES = ['api', 'settlement', 'snapshot'];

async function engineCheck({ url }: Service): Promise<[status: number, engine: string | undefined]> {
  const reply = await fetch(`${url}/readyz`).catch(() => undefined);
  const body = (await reply?.json()) as { checks: Record<string, string> } | undefined;
  return [reply?.status ?? 0, body?.checks.engine];
}

const load = async (redis: Redis, record: URL): Promise<void> => {
  await redis.flushall();
  await loadRedis(redis, record);
};

describe('an engine that an earlier release left', function () {
  this.timeout(120_000);
  let desk: Desk;
  const running: Service[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((service) => service.end('SIGKILL')));
    await desk.close();
  });

  it('is refused by every role and by the operator; after a rebuild the same processes open it', async () => {
    desk = await openRecorded(RECORDS.unsettled);
    const before = await dump(desk.redis);
    const newestMigration = async (): Promise<string> =>
      (await query<{ name: string }>(desk.databaseUrl, 'select max(name) as name from knex_migrations'))[0]!
        .name;
    const { stderr } = await desk.run('ledger', 'rebuild');
    expect(stderr).to.match(/^ENGINE_UNSETTLED: 4 events are not in Postgres yet/);

    const settings = {
      REDIS_URL: desk.redisUrl,
      QUEUE_REDIS_URL: await sharedRedis(),
      DATABASE_URL: desk.databaseUrl,
      JWT_SECRET: 'a secret of the tests, 32 bytes or more',
      LOG_LEVEL: 'warn',
      WEB_HOSTS: 'redbook.example',
    };
    const roles = await Promise.all(
      ROLES.map(async (role) => launchService(role, { ...settings, PORT: String(await freePort()) })),
    );
    running.push(...roles);
    const asking = operate(settings, 'status').catch((error: Error) => error.message);
    for (const role of roles)
      await eventually(
        'it tells why it is not ready',
        async () => {
          const [status, engine] = await engineCheck(role);
          return status === 503 && engine === 'of another format';
        },
        PATIENCE_MS,
      );
    expect(await asking).to.include(SENTENCE);
    // The current format reads no key of the earlier one, so the engine would look empty.
    await desk.engine.lifecycle.open(await desk.ledger.settlement.cursor()).catch(() => undefined);
    const reads = [
      desk.engine.snapshots.state(),
      desk.engine.pages.readHead(),
      desk.engine.markets.all(),
      desk.engine.claimFilter.load(),
    ];
    for (const read of await Promise.allSettled(reads)) expect(read).to.deep.include({ status: 'rejected' });
    for (const { output } of roles) expect(output()).to.include(SENTENCE);
    expect(await dump(desk.redis)).to.deep.equal(before);
    // The earlier release must still settle the four events into its own tables.
    expect(await newestMigration()).to.equal('005_reconciliations');

    await load(desk.redis, RECORDS.settled);
    await desk.ask('ledger', 'rebuild');
    for (const { url } of roles) await eventually('it is ready', () => isReady(url), PATIENCE_MS);
    expect(await newestMigration()).to.equal(NEWEST);
    // The dead-man switches are long overdue.
    await eventually('the switches have fired', async () => (await desk.redis.zcard('{redbook}:live')) === 0);
    await desk.engine.lifecycle.open(await desk.ledger.settlement.cursor());
    await eventually('all is settled', async () => {
      return (
        (await desk.ledger.settlement.cursor()).sequence === (await desk.engine.snapshots.state()).sequence
      );
    });
    await desk.ask('ledger', 'reconcile');
  });

  it('is the same engine after a rebuild, continues trading, and cannot be changed by earlier releases', async () => {
    desk = await openRecorded(RECORDS.settled);
    const before = await contentOf(desk.redis, SHARED);
    const { sequence } = await desk.ask('ledger', 'rebuild');
    expect(await contentOf(desk.redis, SHARED)).to.deep.equal(before);
    await expectOlderProcessesRefused(desk.redis, await desk.ledger.settlement.cursor());
    const cursor = await desk.ledger.settlement.cursor();
    for (const engine of [desk.engine, desk.services.engine]) await engine.lifecycle.open(cursor);
    await expectOlderProcessesRefused(desk.redis, cursor);
    expect((await desk.ask('ledger', 'reconcile')).holds).to.equal(true);
    await expectIdsKnown();

    await desk.ask('trading', 'resume');
    await desk.engine.switches.acceptTerms(CAROL, '2026-01');
    const { order, trades } = await desk.place({ wallet: CAROL, price: '2001', size: '5' });
    expect(order.sequence).to.be.above(sequence);
    expect(trades.map(({ makerWallet }) => makerWallet)).to.deep.equal(trades.map(() => ALICE));
    expect(trades.length).to.be.above(2);
    const late = await desk.place({ wallet: BOB, price: '1500', clientOrderId: 'after the rebuild' });
    await expectSwitchesFire([order.id, late.order.id]);
    await desk.settle();
    expect((await desk.ask('ledger', 'reconcile')).holds).to.equal(true);
  });

  it('is replaced by one that earlier releases can never change, even with an empty Postgres', async () => {
    desk = await openDesk();
    expect(
      await expectOlderProcessesRefused(desk.redis, await desk.ledger.settlement.cursor()),
    ).to.deep.equal(CALLS);
    await desk.ask('asset', 'set', 'USDC', '--scale', '6');
    await expectOlderProcessesRefused(desk.redis, await desk.ledger.settlement.cursor());
  });

  async function expectIdsKnown(): Promise<void> {
    const used = await query<{ wallet: string; id: string; client: string }>(
      desk.databaseUrl,
      'select wallet, id, client_order_id as client from orders where client_order_id is not null',
    );
    expect(used).to.have.length(25);
    for (const { wallet, client, id } of used) {
      expect((await desk.engine.orders.find(wallet, client)).outcome).to.equal('unchecked');
      expect(await desk.ledger.orders.idByClientId(wallet, client)).to.equal(id);
    }
    const shown = await desk.ask('account', 'show', BOB);
    await desk.ask('account', 'debit', BOB, 'USDC', '99.25', '--reference', 'withdrawn');
    expect(await desk.ask('account', 'show', BOB)).to.deep.equal(shown);
  }

  /**
   * Checks that due switches fire. One switch has a cut-off before the rebuild and spares later orders.
   * @param left orders that stay
   */
  async function expectSwitchesFire(left: readonly string[]): Promise<void> {
    const { taken } = await desk.engine.dueCancels.take(10, 60_000);
    expect(taken.map(({ wallet }) => wallet)).to.have.members([ALICE, BOB]);
    for (const due of taken) {
      const { failures, next } = await desk.engine.dueCancels.cancelPage(due, null);
      expect([failures, next]).to.deep.equal([[], null]);
      expect(await desk.engine.dueCancels.lease(due, null)).to.equal(true);
    }
    expect(await desk.engine.orders.liveCount(ALICE)).to.equal(0);
    const live = (await desk.redis.zrangeBuffer('{redbook}:live', '0', '-1')).map((member) =>
      member.subarray(20, 37).toString('hex'),
    );
    expect(live).to.have.members(left);
  }
});
