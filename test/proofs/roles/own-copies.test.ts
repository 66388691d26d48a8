/** Tests that the all-in-one runs copies of its engine, of which anybody may kill one. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { pino } from 'pino';
import { reconcile } from '../../../src/books/reconcile/index.ts';
import { readConfig, requireFor } from '../../../src/config.ts';
import { findEmbedded } from '../../../src/embedded/index.ts';
import { isAlive, type ProcessIdentity } from '../../../src/embedded/run/process-identity.ts';
import { type Backends, openBackends } from '../../../src/roles/backends.ts';
import { lookAtCopies } from '../../../src/roles/operator.ts';
import { ALICE, fund, limit, publishPlain } from '../../engine/fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/ports.ts';
import { ROOT } from '../../support/program.ts';
import { freshLedgerDatabase } from '../../support/servers.ts';
import { launchService, type Service } from '../../support/service.ts';

const M = 'ETH/USD';
const PATIENCE_MS = 60_000;
/** Nobody waits for it while the servers are there: it is far above the time in which a test must be over. */
const ENGINE_DOWN_AFTER_MS = 600_000;

describe('the all-in-one with copies of its engine', function () {
  this.timeout(180_000);
  const folder = mkdtempSync(join(tmpdir(), 'redbook-own-copies-'));
  const dataDir = join(folder, 'data');
  let settings: Record<string, string>;
  let service: Service | undefined;
  let backends: Backends | undefined;

  before(async () => {
    settings = {
      DATA_DIR: dataDir,
      DATABASE_URL: await freshLedgerDatabase(),
      PORT: String(await freePort()),
      CLAIM_FILTER_BYTES: String(64 * 1024),
      ENGINE_DOWN_AFTER_MS: String(ENGINE_DOWN_AFTER_MS),
    };
  });
  afterEach(async () => {
    await backends?.close();
    backends = undefined;
  });
  after(async () => {
    await service?.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const start = async (...args: string[]): Promise<Service> => {
    const starting = await launchService('all', settings, ROOT, ...args);
    service = starting;
    const isDone = () => starting.child.exitCode !== null || starting.output().includes('Press Ctrl-C');
    await eventually('it is ready', isDone, PATIENCE_MS);
    return starting;
  };
  const rowOf = async ({ ledger }: Backends) => (await ledger.copies.read())!;
  /** Starts it unless it runs. @returns it with its parts, when three copies trade */
  const trading = async (): Promise<Backends & { readonly service: Service }> => {
    const running = service?.child.exitCode === null ? service : await start('--copies', '3');
    const { redisUrl, queueRedisUrl } = findEmbedded(dataDir)!;
    const servers = { REDIS_URL: redisUrl, QUEUE_REDIS_URL: queueRedisUrl };
    const config = requireFor('settlement', readConfig({ ...settings, ...servers }));
    backends = openBackends('all', config, pino({ level: 'silent' }));
    const opened = backends;
    const { engine } = opened;
    await opened.engineOpened;
    await eventually(
      'three copies count',
      async () => (await rowOf(opened)).members.length === 3,
      PATIENCE_MS,
    );
    const isKnown = (await engine.markets.bySymbol(M)) !== undefined;
    if (!isKnown) await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 1_000n });
    return { ...opened, service: running };
  };
  /** Processes of the servers by their names in Postgres. */
  const processes = (): Map<string, ProcessIdentity> => {
    const record = JSON.parse(readFileSync(join(dataDir, 'servers.json'), 'utf8'));
    const servers = ['redis', 'redis-2', 'redis-3', 'queue'].map((name) => record[name]);
    return new Map(servers.map(({ port, process }) => [`127.0.0.1:${port}`, process]));
  };
  const sell = (clientOrderId: string) =>
    backends!.engine.orders.place({ wallet: ALICE, request: limit(M, 'sell', 10, 1, { clientOrderId }) });

  for (const signal of ['SIGTERM', 'SIGKILL'] as const)
    it(`hands over at once when its primary ends by ${signal}, and takes it back as a copy`, async () => {
      const { engine, ledger, service: running } = await trading();
      const row = () => rowOf(backends!);
      expect((await sell(`before ${signal}`)).outcome).to.equal('placed');
      const { server } = await row();
      process.kill(processes().get(server)!.pid, signal);
      const isNamed = async (): Promise<boolean> => (await row()).server !== server;
      await eventually('another one is named', isNamed, PATIENCE_MS);
      await eventually(
        'an order is answered',
        async () => (await sell(`after ${signal}`)) !== undefined,
        PATIENCE_MS,
      );
      const isBack = async (): Promise<boolean> => {
        const { server: now, members } = await row();
        const seen = await lookAtCopies(backends!);
        return now !== server && members.includes(server) && seen.get(server)?.isPrimary === false;
      };
      await eventually('the killed one is a copy', isBack, PATIENCE_MS);
      expect((await reconcile({ engine, ledger }, { patienceMs: PATIENCE_MS })).holds).to.equal(true);
      // The process reads its row of copies once in a while.
      const wanted = ['copies 3', 'copies_configured 3', 'failover_timestamp_seconds \\d'].map(
        (value) => new RegExp(`^redbook_engine_${value}`, 'm'),
      );
      const metrics = async (): Promise<string> => (await fetch(`${running.url}/metrics`)).text();
      await eventually('the metrics count three copies', async () => {
        const text = await metrics();
        return wanted.every((line) => line.test(text));
      });
      expect(await metrics()).to.match(/^redbook_engine_round_seconds_count\{outcome="whole"\} [1-9]/m);
    });

  it('finds its orders when it starts again, and does not start without its copies', async () => {
    const { service: first } = await trading();
    await eventually('an order is answered', async () => (await sell('kept')) !== undefined, PATIENCE_MS);
    const servers = [...processes().values()];
    expect(await first.end('SIGTERM')).to.equal(0);
    expect(servers.map(isAlive)).to.deep.equal([false, false, false, false]);
    const alone = await start();
    expect(alone.child.exitCode).to.equal(2);
    expect(alone.output()).to.match(/has 3 copies: start it with --copies 3, or name another folder in D/);
    await backends!.close();
    const { engine, service: second } = await trading();
    expect((await engine.orders.find(ALICE, 'kept')).outcome).to.equal('claimed');
    expect(await second.end('SIGINT')).to.equal(0);
  });
});
