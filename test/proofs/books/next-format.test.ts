/** Proves that every process refuses an engine of another format until `ledger rebuild` has replaced the engine. */

import { expect } from 'chai';
import { untilMigrated } from '../../../src/roles/waiting.ts';
import { dump } from '../../engine/fixture.ts';
import { marketRules, type OperatorFixture, openOperatorFixture, WALLET } from '../../operator/fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/ports.ts';
import { sharedRedis } from '../../support/servers.ts';
import { isReady, launchService, operate, type Service } from '../../support/service.ts';

const ALICE = WALLET(1);
const SENTENCE =
  "the engine's Redis has format 4, this release needs format 3: let the release that wrote it settle every event, stop it, then run 'ledger rebuild'";
/** Three processes start at once on a busy machine. */
const PATIENCE_MS = 60_000;
const ROLES = ['api', 'settlement', 'snapshot'];

async function engineCheck({ url }: Service): Promise<[status: number, engine: string | undefined]> {
  const reply = await fetch(`${url}/readyz?deep`).catch(() => undefined);
  const body = (await reply?.json()) as { checks: Record<string, string> } | undefined;
  return [reply?.status ?? 0, body?.checks.engine];
}

describe('an engine of another format', () => {
  let fixture: OperatorFixture;
  const running: Service[] = [];

  beforeEach(async () => {
    fixture = await openOperatorFixture();
    await fixture.ask('market', 'create', 'ETH/USDC', ...marketRules());
    await fixture.ask('account', 'credit', ALICE, 'USDC', '100000', '--reference', 'in');
    await fixture.place({ wallet: ALICE, clientOrderId: 'first' });
    await fixture.engine.dueCancels.set(ALICE, 1);
    await fixture.settle();
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((service) => service.end('SIGKILL')));
    await fixture.close();
  });

  /** Simulates an engine of a next release. */
  const setFormat = (format: string): Promise<unknown> =>
    fixture.redis.hset('{redbook}:engine', 'format', format);

  it('is rejected by every role and by the operator until a rebuild, after which the same processes open it', async () => {
    await fixture.ask('account', 'credit', ALICE, 'USDC', '1', '--reference', 'not settled');
    await setFormat('4');
    const before = await dump(fixture.redis);
    expect((await fixture.run('ledger', 'rebuild')).stderr).to.match(
      /^ENGINE_UNSETTLED: 1 event is not in Postgres yet/,
    );

    const settings = {
      REDIS_URL: fixture.redisUrl,
      QUEUE_REDIS_URL: await sharedRedis(),
      DATABASE_URL: fixture.databaseUrl,
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
    const { engine } = fixture.services;
    await engine.lifecycle.open(await fixture.ledger.settlement.cursor()).catch(() => undefined);
    const reads = [
      engine.reads.state(),
      engine.pages.readHead(),
      engine.markets.all(),
      engine.claimFilter.load(),
    ];
    for (const read of await Promise.allSettled(reads)) expect(read).to.deep.include({ status: 'rejected' });
    for (const { output } of roles) expect(output()).to.include(SENTENCE);
    expect(await dump(fixture.redis)).to.deep.equal(before);

    await fixture.settle();
    await fixture.ask('ledger', 'rebuild');
    for (const { url } of roles) await eventually('it is ready', () => isReady(url), PATIENCE_MS);
    // The dead-man switch is long overdue.
    await eventually('the switch has fired', async () => (await fixture.redis.zcard('{redbook}:live')) === 0);
    await fixture.engine.lifecycle.open(await fixture.ledger.settlement.cursor());
    await eventually('all is settled', async () => {
      const { sequence } = await fixture.ledger.settlement.cursor();
      return sequence === (await fixture.engine.reads.state()).sequence;
    });
    await fixture.ask('ledger', 'reconcile');
  });

  it('leaves the ledger to the release that still settles until the engine is replaced', async () => {
    await setFormat('4');
    let checks = 0;
    let migrations = 0;
    const { lifecycle } = fixture.engine;
    const migrated = untilMigrated({
      checkFormat: () => {
        checks += 1;
        return lifecycle.checkFormat();
      },
      ledger: { ping: async () => undefined },
      prepare: async () => {
        migrations += 1;
      },
      outages: { report: () => undefined, clear: () => undefined, expect: () => () => undefined } as never,
      names: { postgres: 'Postgres' },
    });
    await eventually('the format was checked again', async () => checks > 2);
    expect(migrations).to.equal(0);
    await fixture.ask('ledger', 'rebuild');
    await migrated;
    expect(migrations).to.equal(1);
  });
});
