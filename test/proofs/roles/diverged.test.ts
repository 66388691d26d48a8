/**
 * Tests a settlement process whose ledger contradicts the engine: its symptoms, and its recovery by a restart after the
 * repair.
 */

import { expect } from 'chai';
import pg from 'pg';
import { openOperatorFixture } from '../../operator/fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/ports.ts';
import { type Service, startService } from '../../support/service.ts';

describe('a settlement that found a contradiction', () => {
  it('is not ready and settles nothing until it is repaired and restarted', async () => {
    const fixture = await openOperatorFixture();
    const postgres = new pg.Client({ connectionString: fixture.databaseUrl });
    await postgres.connect();
    const port = String(await freePort());
    const settings = {
      REDIS_URL: fixture.redisUrl,
      DATABASE_URL: fixture.databaseUrl,
      PORT: port,
      DRAIN_MS: '0',
    };
    const start = (): Promise<Service> => startService('settlement', settings);
    const readiness = async (): Promise<{ status: number; process: string }> => {
      const reply = await fetch(`http://127.0.0.1:${port}/readyz`);
      const { checks } = (await reply.json()) as { checks: { process: string } };
      return { status: reply.status, process: checks.process };
    };
    const settled = async (): Promise<boolean> =>
      (await fixture.ledger.settlement.cursor()).sequence === (await fixture.engine.reads.state()).sequence;
    const setDigest = (digest: string) => postgres.query('update engine_cursor set digest = $1', [digest]);

    let role = await start();
    await fixture.run('asset', 'set', 'NEW', '--scale', '4');
    await eventually('it settles', settled);
    const { digest } = await fixture.ledger.settlement.cursor();
    await setDigest('another');
    await fixture.run('trading', 'pause', '--reason', 'a test');
    await eventually('it shows', async () => (await readiness()).status === 503);
    expect((await readiness()).process).to.equal('the engine and the ledger contradict each other');

    await setDigest(digest!);
    await fixture.run('trading', 'resume', '--reason', 'a test');
    expect(await settled()).to.equal(false);
    expect(await readiness()).to.include({ status: 503 });

    expect(role.output()).to.include('the engine and the ledger contradict each other');
    await role.end('SIGKILL');
    role = await start();
    await eventually('it settles again', settled);
    expect(await readiness()).to.deep.equal({ status: 200, process: 'ok' });
    await role.end('SIGKILL');
    await postgres.end();
    await fixture.close();
  });
});
