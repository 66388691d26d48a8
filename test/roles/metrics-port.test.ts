/**
 * Tests `/metrics` and `/readyz` of each role without credentials: the port that answers, their cost and their
 * contents.
 */

import { expect } from 'chai';
import { type Logger, pino } from 'pino';
import { ConfigError, type ConfigOf, readConfig, requireFor } from '../../src/config.ts';
import { openBackends } from '../../src/roles/backends.ts';
import { startProbes } from '../../src/roles/probes.ts';
import type { RunningRole } from '../../src/roles/running-role.ts';
import { startSettlement } from '../../src/roles/settlement.ts';
import { type StandaloneRole, startStandalone } from '../../src/roles/standalone.ts';
import { eventually } from '../support/eventually.ts';
import { instead } from '../support/instead.ts';
import { freePort } from '../support/ports.ts';
import { openRedis, redisOf } from '../support/redis-server.ts';
import { freshLedgerDatabase, freshRedis } from '../support/servers.ts';
import { isReady, UNFLUSHED } from '../support/service.ts';

const ROLES: readonly StandaloneRole[] = ['api', 'stream', 'settlement', 'snapshot'];
const SILENT: Logger = pino({ level: 'silent' });
const SCRAPES = 300;

describe('/metrics and /readyz', () => {
  let settings: Record<string, string>;
  const configOf = (role: string, more: Record<string, string>): ConfigOf<'settlement'> =>
    requireFor('settlement', readConfig({ ...settings, ...redisOf(role, settings), ...more }));
  const statusOf = async (port: number, path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).status;

  before(async () => {
    settings = {
      REDIS_URL: await freshRedis(),
      DATABASE_URL: await freshLedgerDatabase(),
      JWT_SECRET: 'x'.repeat(32),
      WEB_HOSTS: 'localhost',
      ...UNFLUSHED,
    } as Record<string, string>;
  });

  for (const role of ROLES)
    it(`of ${role} serve metrics on METRICS_PORT only, and probes on PORT`, async () => {
      const port = await freePort();
      const metricsPort = await freePort();
      const config = configOf(role, { PORT: String(port), METRICS_PORT: String(metricsPort) });
      const running = await startStandalone(role, config, SILENT);
      try {
        await eventually('it is ready', () => isReady(`http://127.0.0.1:${port}`));
        expect(await statusOf(port, '/livez')).to.equal(200);
        expect(await statusOf(port, '/metrics')).to.equal(404);
        const scrape = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
        expect(scrape.status).to.equal(200);
        expect(await scrape.text()).to.match(/^process_cpu_seconds_total /m);
        for (const path of ['/livez', '/readyz', '/v1/markets', '/'])
          expect(await statusOf(metricsPort, path), path).to.equal(404);
      } finally {
        await running.stop(0);
      }
      await fetch(`http://127.0.0.1:${metricsPort}/metrics`).then(
        () => expect.fail('the metrics port is still open'),
        () => undefined,
      );
    });

  it('share one port while METRICS_PORT is unset or empty', async () => {
    const port = await freePort();
    const running = await startStandalone(
      'stream',
      configOf('stream', { PORT: String(port), METRICS_PORT: '' }),
      SILENT,
    );
    expect(await statusOf(port, '/metrics')).to.equal(200);
    await running.stop(0);
  });

  it('reject a METRICS_PORT that equals PORT', () => {
    expect(() => readConfig({ PORT: '9100', METRICS_PORT: '9100' })).to.throw(
      ConfigError,
      'METRICS_PORT must be another port than PORT; both are 9100.',
    );
    expect(() => readConfig({ METRICS_PORT: '8080' })).to.throw(ConfigError, 'METRICS_PORT');
    expect(readConfig({ PORT: '0', METRICS_PORT: '0' }).metricsPort).to.equal(0);
  });

  describe('of a settlement process', () => {
    let port: number;
    let reads = 0;
    /** Error of the Postgres driver for each read; a read without one succeeds. */
    let trouble: Error | undefined;
    const log: string[] = [];
    let roles: RunningRole[];
    let close: () => Promise<void>;

    before(async () => {
      port = await freePort();
      const logger = pino({ level: 'info' }, { write: (line: string) => void log.push(line) });
      const backends = openBackends('settlement', configOf('settlement', { PORT: String(port) }), logger);
      const ledger = {
        ...backends.ledger,
        settlement: {
          ...backends.ledger.settlement,
          cursor: () =>
            trouble === undefined ? backends.ledger.settlement.cursor() : Promise.reject(trouble),
        },
        checks: instead(backends.ledger.checks, {
          lastReconcile() {
            reads += 1;
            return backends.ledger.checks.lastReconcile();
          },
        }),
      };
      const observed = { ...backends, ledger };
      roles = [await startSettlement(observed), await startProbes(observed, () => 'ok')];
      close = () => backends.close();
      await eventually('it is ready', () => isReady(`http://127.0.0.1:${port}`));
    });

    after(async () => {
      for (const role of roles) await role.stop(0);
      await close();
    });

    it(`read the servers once a second for ${SCRAPES} scrapes`, async () => {
      const redis = openRedis(settings.REDIS_URL!);
      const commands = async (): Promise<number> =>
        Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))![1]);
      const commandsBefore = await commands();
      const readsBefore = reads;
      const begunMs = performance.now();
      const texts = new Set<string>();
      for (let left = SCRAPES; left > 0; left -= 50)
        for (const reply of await Promise.all(
          Array.from({ length: 50 }, () => fetch(`http://127.0.0.1:${port}/metrics`)),
        ))
          texts.add(await reply.text());
      const seconds = Math.ceil((performance.now() - begunMs) / 1_000);
      expect(texts.size).to.be.at.most(1 + seconds);
      // Two of the gauges report the last reconcile.
      expect(reads - readsBefore).to.be.at.most(2 * (1 + seconds));
      // A second of this process takes Redis some 80 commands, those of scripts included, whatever the number of scrapes.
      expect((await commands()) - commandsBefore).to.be.at.most(100 * (1 + seconds));
      redis.disconnect();
    });

    it('report that Postgres does not answer, and give the reason in the log only', async () => {
      trouble = new Error('connect ECONNREFUSED 10.1.2.3:5432 as redbook');
      const replies = [];
      for (let times = 0; times < 5; times += 1) {
        const reply = await fetch(`http://127.0.0.1:${port}/readyz`);
        replies.push([reply.status, await reply.json()]);
      }
      trouble = undefined;
      const checks = { process: 'ok', engine: 'ok', queueRedis: 'ok', postgres: 'does not answer' };
      for (const reply of replies) expect(reply).to.deep.equal([503, { ready: false, checks }]);
      const told = log.filter((line) => line.includes('10.1.2.3'));
      expect(told.filter((line) => line.includes('not ready'))).to.have.length(1);
    });
  });
});
