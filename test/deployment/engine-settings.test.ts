/** The settings and the users of the cluster's Redis, on a real one: the engine opens, and every role works. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { WebSocket } from 'ws';
import { obtainRedis } from '../../src/embedded/redis-binary.mjs';
import { serverEnvironment } from '../../src/embedded/server-environment.mjs';
import { type Incarnation, launch } from '../../src/embedded/supervise.ts';
import { ethersSigner } from '../auth/signers.ts';
import { freePort } from '../support/ports.ts';
import { freshDatabase } from '../support/servers.ts';
import { eventually, operate, type Service, signIn, startService } from '../support/service.ts';
import { type Resource, readYaml } from './kustomize.ts';

const K8S = fileURLToPath(new URL('../../k8s/', import.meta.url));
interface Status {
  readonly settlement: { readonly lag: { readonly events: number } };
}

const ROLES = ['api', 'stream', 'settlement', 'snapshot'];
const PASSWORD = 'password of the test';
const DIGEST = createHash('sha256').update(PASSWORD).digest('hex');

/** redis.conf with another folder and port, and the users of the example. */
async function startRedis(folder: string): Promise<{ port: number; server: Incarnation }> {
  const port = await freePort();
  const users = join(folder, 'users.acl');
  const [, secret] = readYaml(`${K8S}secrets.example.yaml`) as Resource[];
  writeFileSync(users, secret!.stringData['users.acl'].replace('SHA256', DIGEST));
  const settings = readFileSync(`${K8S}base/redis.conf`, 'utf8')
    .replace('bind * -::*', 'bind 127.0.0.1')
    .replace('port 6379', `port ${port}`)
    .replace('/run/secrets/users.acl', users)
    .replace('dir /data', `dir ${folder}`);
  writeFileSync(join(folder, 'redis.conf'), settings);
  const { command, libraryPath } = await obtainRedis();
  const server = await launch({
    ...{ name: 'Redis', command, args: ['redis.conf'], env: serverEnvironment(libraryPath), cwd: folder },
    ...{ stopSignal: 'TERM', logFile: join(folder, 'redis.log'), isReady: async () => true },
  });
  return { port, server };
}

describe('the Redis of the cluster', function () {
  this.timeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), 'redbook-engine-'));
  const services: Service[] = [];
  let server: Incarnation;
  let url: string;
  let settings: Record<string, string>;

  before(async () => {
    const started = await startRedis(folder);
    server = started.server;
    url = `redis://redbook:${encodeURIComponent(PASSWORD)}@127.0.0.1:${started.port}/0`;
    settings = {
      REDIS_URL: url,
      DATABASE_URL: await freshDatabase(),
      JWT_SECRET: 'x'.repeat(32),
      WEB_HOSTS: 'localhost',
      LOG_LEVEL: 'warn',
    };
  });
  after(async () => {
    await Promise.all(services.map((service) => service.end('SIGKILL')));
    server?.end();
    await server?.gone;
    rmSync(folder, { recursive: true, force: true });
  });

  it('lets a probe PING, and nothing else', async () => {
    const { port } = new URL(url);
    const probe = new Redis(Number(port), '127.0.0.1', { enableReadyCheck: false });
    await eventually('it answers', async () => (await probe.ping().catch(() => '')) === 'PONG');
    for (const command of [
      () => probe.get('{redbook}'),
      () => probe.config('GET', '*'),
      () => probe.flushall(),
    ])
      expect(await command().catch((error: Error) => error.message)).to.match(/^NOPERM/);
    probe.disconnect();
  });

  it('lets the service touch its own keys only, and no command that harms', async () => {
    const redis = new Redis(url);
    for (const command of [
      () => redis.set('other', '1'),
      () => redis.flushall(),
      () => redis.config('SET', 'save', ''),
    ])
      expect(await command().catch((error: Error) => error.message)).to.match(/^NOPERM/);
    redis.disconnect();
  });

  it('serves every role: an order is placed, settled and shown', async () => {
    const starting = ROLES.map(async (role) =>
      startService(role, { ...settings, PORT: String(await freePort()) }),
    );
    services.push(...(await Promise.all(starting)));
    const [api, stream] = services as [Service, Service];
    const signer = ethersSigner();
    await operate(
      settings,
      'market',
      'create',
      'ETH/USDC',
      '--tick-size',
      '0.01',
      '--size-step',
      '0.0001',
      '--min-order-size',
      'null',
      '--max-order-size',
      'null',
      '--fee-bps',
      '10',
    );
    await operate(settings, 'account', 'credit', signer.address, 'USDC', '1000', '--reference', 'first');
    const call = (await signIn(api.url, signer))(api.url);
    const body = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: 2000, size: 0.1 };
    expect((await call('POST', '/v1/orders', body)).body).to.include({ status: 'resting' });
    await eventually('it is settled', async () => {
      const { settlement } = (await operate(settings, 'status')) as Status;
      return settlement.lag.events === 0;
    });
    await operate(settings, 'ledger', 'reconcile');
    const socket = new WebSocket(`${stream.url.replace('http', 'ws')}/ws`);
    const [frame] = await once(socket, 'message');
    expect(JSON.parse(String(frame))).to.have.property('type', 'snapshot');
    socket.terminate();
    for (const service of services)
      expect(service.output()).to.not.match(/NOPERM|does not show its settings/);
  });
});
