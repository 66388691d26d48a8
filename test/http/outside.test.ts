/**
 * Proves that requests outside the contract have a bounded cost for Redis and the disk, and do not affect other routes.
 */

import { once } from 'node:events';
import { createServer, type Server as TcpServer } from 'node:net';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import request from 'supertest';
import { ROUTES } from '../../src/http/routes.ts';
import { limitRepeatedLines } from '../../src/process/repeated-lines.ts';
import { connectRedis } from '../../src/redis/connections.ts';
import { eventually } from '../support/eventually.ts';
import { scriptsAmong, sentCommands } from '../support/sent-commands.ts';
import { type Fixture, openFixture, type Replica, type Trader } from './fixture.ts';

const LIMIT = 600;
const OUTSIDE = [
  '/',
  '/v1/nothing',
  '/wp-login.php',
  '/docs',
  '/v1/openapi.json',
  '/v1/asyncapi.json',
  '/docs/start.js',
];

describe('requests outside the contract', () => {
  let fixture: Fixture;
  let trader: Trader;
  let first: Replica;
  let second: Replica;
  before(async () => {
    fixture = await openFixture({ trustProxyHops: 1 });
    trader = await fixture.trader({ USDC: '1000' });
    [first, second] = [await fixture.replica(), await fixture.replica()];
  });
  after(() => fixture.close());

  const ask = (replica: Replica, path: string, from: string) =>
    request(replica.app).get(path).set('X-Forwarded-For', from);
  const inLanes = async (count: number, work: (at: number) => Promise<unknown>): Promise<void> => {
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < count) await work(next++);
    };
    await Promise.all(Array.from({ length: 20 }, lane));
  };

  it(`are limited to ${LIMIT} a minute of one address, over all replicas and paths`, async () => {
    const addresses = ['2001:db8:9:9::1', '2001:db8:9:9:ffff::2'];
    await inLanes(LIMIT, async (at) => {
      const { status } = await ask(
        at % 2 === 0 ? first : second,
        OUTSIDE[at % OUTSIDE.length]!,
        addresses[at % 2]!,
      );
      expect(status, OUTSIDE[at % OUTSIDE.length]).to.be.oneOf([200, 404]);
    });
    for (const path of OUTSIDE) {
      const { status, body, headers } = await ask(first, path, addresses[0]!);
      expect([status, body.code], path).to.deep.equal([429, 'RATE_LIMITED']);
      expect(body).to.have.keys('error', 'code');
      const nowSeconds = Date.now() / 1_000;
      expect(Number(headers['retry-after'])).to.be.within(1, 60);
      expect(Number(headers['ratelimit-reset'])).to.be.within(Math.floor(nowSeconds), nowSeconds + 62);
      expect([headers['ratelimit-limit'], headers['ratelimit-remaining']]).to.deep.equal(['600', '0']);
    }
    expect((await ask(first, '/v1/nothing', '2001:db8:9:a::1')).status).to.equal(404);
    for (const path of ['/livez', '/readyz', '/metrics', '/v1/markets', '/v1/market-data/pairs'])
      expect((await ask(first, path, addresses[0]!)).status, path).to.equal(200);
    const keys = await fixture.redis.keys('{redbook}:limit:outside:*');
    expect(keys.sort()).to.deep.equal([
      '{redbook}:limit:outside:2001:db8:9:9::/64',
      '{redbook}:limit:outside:2001:db8:9:a::/64',
    ]);
    for (const key of keys) expect(await fixture.redis.pttl(key)).to.be.within(1, 60_000);
  });

  it('are counted by one command each, and documented routes send no such command', async () => {
    const counting = first.services.queueRedis.duplicate();
    await once(counting, 'ready');
    const sent = sentCommands(counting);
    const { app } = await fixture.replica({}, { queueRedis: counting });
    const from = '192.0.2.77';
    for (const path of OUTSIDE) await request(app).get(path).set('X-Forwarded-For', from);
    expect(scriptsAmong(sent)).to.equal(OUTSIDE.length);
    expect(sent.every((command) => command.includes(`{redbook}:limit:outside:${from}`))).to.equal(true);
    sent.length = 0;
    for (const { method, path, bucket } of ROUTES) {
      const url = path.replace(/:\w+/, '1');
      const before = sent.length;
      for (const token of ['', trader.token])
        await request(app)
          [method.toLowerCase() as 'get' | 'post' | 'delete'](url)
          .set('X-Forwarded-For', from)
          .set('Authorization', `Bearer ${token}`);
      expect(sent.length - before, path).to.be.at.most(bucket === undefined ? 0 : 3);
    }
    expect(sent.some((command) => command.join(' ').includes(':outside:'))).to.equal(false);
    counting.disconnect();
  });

  it('are served while the counting Redis hangs or is away, after one wait for it', async () => {
    const silent: TcpServer = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    const hanging = new Redis({
      port,
      enableReadyCheck: false,
      disableClientInfo: true,
      commandTimeout: 10_000,
      retryStrategy: null,
    });
    hanging.on('error', () => undefined);
    const gone = connectRedis('redis://127.0.0.1:1', 'test-gone', () => undefined);
    for (const redis of [hanging, gone]) {
      const { app, log } = await fixture.replica({}, { queueRedis: redis });
      const sent = sentCommands(redis);
      for (let times = 0; times < 60; times += 1)
        expect((await request(app).get('/v1/nothing')).status).to.equal(404);
      expect(log.filter((line) => line.includes('limits: Redis does not answer'))).to.have.length(1);
      redis.disconnect();
      // The first request waits for the Redis, and no other one asks it.
      expect(scriptsAmong(sent)).to.equal(1);
    }
    silent.close();
  });

  it('write a bounded log without secrets, however many and long they are', async () => {
    const { app, log } = await fixture.replica({}, {});
    const begunMs = performance.now();
    const long = `/v1/nothing?token=${trader.token}&x=${'y'.repeat(8_000)}&signature=0x${'ab'.repeat(65)}`;
    const padded = `/v1/nothing?${'z'.repeat(170)}&x=0x${'cd'.repeat(65)}`;
    await inLanes(200, async (at) => {
      await request(app)
        .get(at % 2 === 0 ? long : padded)
        .set('X-Forwarded-For', `192.0.2.${at % 8}`)
        .set('X-Request-Id', 'z'.repeat(500));
    });
    const written = log.map((line) => JSON.parse(line));
    const lines = written.filter(({ level, url }) => level >= 30 && url !== undefined);
    // Ten lines every ten seconds.
    const periods = 1 + Math.ceil((performance.now() - begunMs) / 10_000);
    expect(lines.length).to.be.within(10, 10 * periods);
    for (const line of lines) {
      expect(line.url.length).to.be.at.most(201);
      expect(JSON.stringify(line).length).to.be.below(500);
    }
    const text = log.join('');
    for (const secret of [...trader.token.split('.'), 'abababab', 'cdcdcdcd'])
      expect(text).to.not.include(secret);
  });

  it('are summed up in the log when the period ends, for a bounded number of kinds', async () => {
    const lines: { kind: string; count: number }[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const repeated = limitRepeatedLines(logger, 50);
    const allowed = Array.from({ length: 1_000 }, () => repeated.allows('404 unknown')).filter(Boolean);
    const kinds = Array.from({ length: 5_000 }, (_none, at) => repeated.allows(`kind ${at}`)).filter(Boolean);
    expect([allowed.length, kinds.length]).to.deep.equal([10, 209]);
    await eventually('the period has ended', () => lines.length > 0);
    expect(lines.map(({ kind, count }) => [kind, count])).to.deep.equal([
      ['404 unknown', 990],
      ['other', 4_791],
    ]);
    expect(repeated.allows('404 unknown')).to.equal(true);
  });
});
