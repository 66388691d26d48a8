/** Proves on a real Redis that the engine opens and every role works under the cluster's settings and users. */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { WebSocket } from 'ws';
import { obtainRedis } from '../../../src/embedded/obtain/redis-binary.mjs';
import { serverEnvironment } from '../../../src/embedded/obtain/server-environment.mjs';
import { type Incarnation, launch } from '../../../src/embedded/run/supervise.ts';
import { ethersSigner } from '../../auth/signers.ts';
import { eventually } from '../../support/eventually.ts';
import { marketRules } from '../../support/market-spec.ts';
import { freePort } from '../../support/ports.ts';
import { freshLedgerDatabase } from '../../support/servers.ts';
import { operate, type Service, signIn, startService } from '../../support/service.ts';

const K8S = fileURLToPath(new URL('../../../k8s/', import.meta.url));
const MAKE_KEYS = fileURLToPath(new URL('../../../k8s/shared/make-keys.mjs', import.meta.url));
/** The login of `redis-cli --user probe --pass any`. */
const PROBE = { username: 'probe', password: 'any' };
interface Status {
  readonly settlement: { readonly lag: { readonly events: number } };
}

const ROLES = ['api', 'stream', 'settlement', 'snapshot'];

/** Starts a Redis with redis.conf at another folder and port, and with the users that `make-keys` made. */
function redisOn(folder: string, port: number): Promise<Incarnation> {
  const settings = readFileSync(`${K8S}base/redis.conf`, 'utf8')
    .replace('bind * -::*', 'bind 127.0.0.1')
    .replace('port 6379', `port ${port}`)
    .replace('/run/secrets/users.acl', join(folder, 'keys/redis/users.acl'))
    .replace('dir /data', `dir ${folder}`);
  writeFileSync(join(folder, 'redis.conf'), settings);
  return obtainRedis().then(({ command, libraryPath }) =>
    launch({
      name: 'Redis',
      command,
      args: ['redis.conf'],
      env: serverEnvironment(libraryPath),
      cwd: folder,
      stopSignal: 'TERM',
      logFile: join(folder, 'redis.log'),
      isReady: async () => true,
    }),
  );
}

describe('the Redis of the cluster', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-engine-'));
  const services: Service[] = [];
  let port: number;
  let server: Incarnation;

  before(async () => {
    port = await freePort();
    const address = ['--redis', `127.0.0.1:${port}`, '--database', await freshLedgerDatabase()];
    execFileSync(process.execPath, [MAKE_KEYS, join(folder, 'keys'), ...address]);
    server = await redisOn(folder, port);
  });
  after(async () => {
    await Promise.all(services.map((service) => service.end('SIGKILL')));
    server?.end();
    await server?.gone;
    rmSync(folder, { recursive: true, force: true });
  });

  /** The settings of a role: only the files made for it. */
  const settingsOf = (role: string): Record<string, string> => {
    const files = readdirSync(join(folder, 'keys', role)).map((name) => [
      `${name.toUpperCase().replaceAll('-', '_')}_FILE`,
      join(folder, 'keys', role, name),
    ]);
    return { ...Object.fromEntries(files), WEB_HOSTS: 'localhost', LOG_LEVEL: 'warn' };
  };

  it('allows a probe to PING, and nothing else', async () => {
    const probe = new Redis(port, '127.0.0.1', { ...PROBE, enableReadyCheck: false });
    probe.on('error', () => undefined); // it may not be there yet
    await eventually('it answers', async () => (await probe.ping().catch(() => '')) === 'PONG');
    for (const command of [
      () => probe.get('{redbook}'),
      () => probe.config('GET', '*'),
      () => probe.flushall(),
    ])
      expect(await command().catch((error: Error) => error.message)).to.match(/^NOPERM/);
    probe.disconnect();
  });

  it('serves every role: an order is placed, settled and shown, and survives a kill of the server', async () => {
    const starting = ROLES.map(async (role) =>
      startService(role, { ...settingsOf(role), PORT: String(await freePort()) }),
    );
    services.push(...(await Promise.all(starting)));
    const [api, stream] = services as [Service, Service];
    const settings = settingsOf('operator');
    const signer = ethersSigner();
    await operate(
      settings,
      'market',
      'create',
      'ETH/USDC',
      ...marketRules('0.01', '0.0001'),
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

    process.kill(server.pid, 'SIGKILL');
    await server.gone;
    server = await redisOn(folder, port);
    await eventually('the order is there again', async () => {
      const { orders } = (await call('GET', '/v1/orders')).body as { orders?: { status: string }[] };
      return orders?.[0]?.status === 'resting';
    });
    const another = { ...body, clientOrderId: 'after the restart' };
    await eventually(
      'another is placed',
      async () => (await call('POST', '/v1/orders', another)).status === 200,
    );
    await operate(settings, 'ledger', 'reconcile');
    for (const service of services)
      expect(service.output()).to.not.match(/NOPERM|does not show its settings/);
  });
});
