/** A settlement process whose ledger contradicts the engine: how it shows, and that a restart after the mend ends it. */

import { expect } from 'chai';
import pg from 'pg';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import type { RunningRole } from '../../src/roles/running-role.ts';
import { startStandalone } from '../../src/roles/standalone.ts';
import { openDesk } from '../operator/fixture.ts';
import { freePort } from '../support/ports.ts';
import { redisOf } from '../support/redis-server.ts';
import { eventually } from '../support/service.ts';

describe('a settlement that found a contradiction', () => {
  it('is not ready and settles nothing until it is restarted after the mend', async () => {
    const desk = await openDesk();
    const postgres = new pg.Client({ connectionString: desk.databaseUrl });
    await postgres.connect();
    const port = await freePort();
    const settings = { REDIS_URL: desk.redisUrl, DATABASE_URL: desk.databaseUrl };
    const config = readConfig({ ...settings, ...redisOf('settlement', settings), PORT: String(port) });
    const start = (): Promise<RunningRole> =>
      startStandalone('settlement', config, pino({ level: 'silent' }));
    const readiness = async (): Promise<{ status: number; process: string }> => {
      const reply = await fetch(`http://127.0.0.1:${port}/readyz`);
      const { checks } = (await reply.json()) as { checks: { process: string } };
      return { status: reply.status, process: checks.process };
    };
    const settled = async (): Promise<boolean> =>
      (await desk.ledger.cursor()).sequence === (await desk.engine.state()).sequence;
    const setDigest = (digest: string) => postgres.query('update engine_cursor set digest = $1', [digest]);

    let role = await start();
    await desk.run('asset', 'set', 'NEW', '--scale', '4');
    await eventually('it settles', settled);
    const { digest } = await desk.ledger.cursor();
    await setDigest('another');
    await desk.run('trading', 'pause');
    await eventually('it shows', async () => (await readiness()).status === 503);
    expect((await readiness()).process).to.equal('the engine and the ledger contradict each other');

    await setDigest(digest!);
    await desk.run('trading', 'resume');
    expect(await settled()).to.equal(false);
    expect(await readiness()).to.include({ status: 503 });

    await role.stop(0);
    role = await start();
    await eventually('it settles again', settled);
    expect(await readiness()).to.deep.equal({ status: 200, process: 'ok' });
    await role.stop(0);
    await postgres.end();
    await desk.close();
  });
});
