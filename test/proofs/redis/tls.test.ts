/** Proves that every connection of every role reaches Redis over TLS under its own certificate authority. */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { WebSocket } from 'ws';
import { connectRedis } from '../../../src/redis/connections.ts';
import { ethersSigner } from '../../auth/signers.ts';
import { makeCertificate } from '../../support/certificate.ts';
import { freePort } from '../../support/ports.ts';
import { asUser, type RedisServer, startRedisServer } from '../../support/redis-server.ts';
import { freshLedgerDatabase } from '../../support/servers.ts';
import { type Service, signIn, startService } from '../../support/service.ts';

describe('a Redis behind TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-tls-'));
  const { certificate, key } = makeCertificate();
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const services: Service[] = [];
  let server: RedisServer;
  let url: string;

  before(async () => {
    const port = await freePort();
    const files = { cert: file('redis.crt', certificate), key: file('redis.key', key) };
    const settings = [
      `tls-port ${port}`,
      'tls-auth-clients no',
      `tls-cert-file ${files.cert}`,
      `tls-key-file ${files.key}`,
      `tls-ca-cert-file ${files.cert}`,
    ];
    server = await startRedisServer(join(folder, 'redis'), { settings });
    url = server.url.replace('redis:', 'rediss:').replace(/:\d+\/0$/, `:${port}/0`);
  });
  after(async () => {
    await Promise.all(services.map((service) => service.end('SIGKILL')));
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('serves every role with addresses, passwords and authority from files', async () => {
    const shared = {
      DATABASE_URL: await freshLedgerDatabase(),
      JWT_SECRET: 'x'.repeat(32),
      WEB_HOSTS: 'localhost',
      LOG_LEVEL: 'warn',
      REDIS_CA_FILE: file('ca.crt', certificate),
    };
    const start = async (role: string): Promise<Service> => {
      const service = await startService(role, {
        ...shared,
        PORT: String(await freePort()),
        REDIS_URL_FILE: file(`${role}-engine-url`, `${asUser(`engine-${role}`, url)}\n`),
        QUEUE_REDIS_URL_FILE: file(`${role}-queue-url`, `${asUser(`queue-${role}`, url)}\n`),
      });
      services.push(service);
      return service;
    };
    const [api, stream] = (await Promise.all(['api', 'stream', 'settlement', 'snapshot'].map(start))) as [
      Service,
      Service,
    ];
    const call = (await signIn(api.url, ethersSigner()))(api.url);
    expect((await call('GET', '/v1/orders')).status).to.equal(200);
    const socket = new WebSocket(`${stream.url.replace('http', 'ws')}/ws`);
    const [frame] = await once(socket, 'message');
    expect(JSON.parse(String(frame))).to.have.property('type', 'snapshot');
    socket.terminate();
    for (const service of services) expect(service.output()).to.not.match(/NOPERM|certificate/);
  });

  const outcome = async (place: Parameters<typeof connectRedis>[0]): Promise<string> => {
    let redis: Redis | undefined;
    try {
      return await new Promise<string>((resolve) => {
        redis = connectRedis(place, 'test', (trouble) => resolve(trouble?.message ?? 'ready'));
        redis.once('ready', () => resolve('ready'));
      });
    } finally {
      redis?.disconnect();
    }
  };

  it('is rejected without its authority, or with another', async () => {
    expect(await outcome({ url, ca: certificate })).to.equal('ready');
    expect(await outcome({ url: url.replace('127.0.0.1', 'localhost'), ca: certificate })).to.equal('ready');
    expect(await outcome(url)).to.match(/self-signed certificate/);
    expect(await outcome({ url, ca: makeCertificate().certificate })).to.match(/certificate/);
  });
});
