/** Proves that a process whose engine or Postgres is down at its start answers at once, and becomes ready by itself. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { type Link, openLink } from '../../support/link.ts';
import { freePort } from '../../support/ports.ts';
import { freshDatabase, loneRedis } from '../../support/servers.ts';
import { isReady, launchService, type Service } from '../../support/service.ts';

/** Number of checks at each stage of an outage. */
const LOOKS = 6;
const LOOK_EVERY_MS = 100;

const REFUSED = [
  ['GET', '/v1/markets'],
  ['GET', '/v1/market-data/orderbook?ticker_id=ETH_USDC'],
  ['GET', '/v1/nowhere'],
  ['POST', '/v1/auth/challenge'],
  ['DELETE', '/v1/orders'],
] as const;

const statusOf = (url: string): Promise<number> => fetch(url).then(({ status }) => status);

async function expectAliveOnly(url: string): Promise<void> {
  expect(await statusOf(`${url}/livez`)).to.equal(200);
  const readiness = await fetch(`${url}/readyz?deep`);
  const { ready, checks } = (await readiness.json()) as { ready: boolean; checks: Record<string, string> };
  expect([readiness.status, ready, checks.process]).to.deep.equal([503, false, 'starting']);
  for (const [method, path] of REFUSED) {
    const body = method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {};
    const reply = await fetch(url + path, { method, ...body });
    const { error, code } = (await reply.json()) as Record<string, string>;
    expect([reply.status, code, error], path).to.deep.equal([
      503,
      'SERVICE_UNAVAILABLE',
      'the service is starting',
    ]);
    expect(reply.headers.get('x-request-id'), path).to.be.a('string');
  }
}

/** Restores one server after the other, and checks that the process does not serve before the last one is back. */
async function expectToWaitFor({ url }: Service, servers: readonly Link[]): Promise<void> {
  for (const link of servers) {
    for (let look = 0; look < LOOKS; look += 1) {
      await expectAliveOnly(url);
      await sleep(LOOK_EVERY_MS);
    }
    await link.mend();
  }
  await eventually('it becomes ready', () => isReady(url));
  expect(await statusOf(`${url}/v1/markets`)).to.equal(200);
  expect(await statusOf(`${url}/v1/nowhere`)).to.equal(404);
}

interface Start {
  readonly service: Service;
  readonly engine: Link;
  readonly postgres: Link;
}

describe('a process that starts while its servers are away', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-starting-'));
  const running: Service[] = [];
  const links: Link[] = [];

  after(async () => {
    await Promise.all(running.map((service) => service.end('SIGKILL')));
    for (const link of links) link.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const away = async (server: Promise<string>): Promise<Link> => {
    const link = await openLink(await server);
    links.push(link);
    link.cut();
    return link;
  };

  const launch = async (role: string): Promise<Start> => {
    const [engine, postgres] = await Promise.all([away(loneRedis()), away(freshDatabase())]);
    const service = await launchService(role, {
      REDIS_URL: engine.url,
      DATABASE_URL: postgres.url,
      DATA_DIR: join(folder, role),
      JWT_SECRET: 'a secret of the tests, 32 bytes or more',
      WEB_HOSTS: 'redbook.example',
      PORT: String(await freePort()),
    });
    running.push(service);
    await eventually('it listens', () =>
      statusOf(`${service.url}/livez`).then(
        (status) => status === 200,
        () => false,
      ),
    );
    return { service, engine, postgres };
  };

  it('is alive at once and ready when both servers are there: api, engine first', async () => {
    const { service, engine, postgres } = await launch('api');
    await expectToWaitFor(service, [engine, postgres]);
  });

  it('is alive at once and ready when both servers are there: all-in-one, Postgres first', async () => {
    const { service, engine, postgres } = await launch('all');
    await expectToWaitFor(service, [postgres, engine]);
  });

  it('stops on SIGTERM although the engine never came', async () => {
    const { service, postgres } = await launch('api');
    await postgres.mend();
    for (let look = 0; look < LOOKS; look += 1) await expectAliveOnly(service.url);
    expect(await service.end('SIGTERM')).to.equal(0);
  });
});
