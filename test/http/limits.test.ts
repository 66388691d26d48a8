/** Tests request limits from outside, over two replicas and in real time. Each scenario uses its own address. */

import { once } from 'node:events';
import { Agent, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { openAuth, SESSION_SECONDS } from '../../src/auth/index.ts';
import { openSessions } from '../../src/auth/session.ts';
import { createHttpServer } from '../../src/http/server.ts';
import type { HttpSettings } from '../../src/http/services.ts';
import { connectRedis } from '../../src/redis/connections.ts';
import { asUser } from '../support/redis-server.ts';
import { scriptsAmong, sentCommands } from '../support/sent-commands.ts';
import { freshRedisServer } from '../support/servers.ts';
import { sideBySide } from '../support/side-by-side.ts';
import { type Fixture, openFixture, type Replica } from './fixture.ts';

const SECRET = 'the secret that limits are tested with';
const WALLET = `0x${'ab'.repeat(20)}`;
const NONCE = `/api/auth/nonce?address=${WALLET}`;
const PAIRS = '/v1/market-data/pairs';
const WINDOW_MS = 60_000;
/** Time that is left of a minute for its last requests. A busy machine needs seconds for them. */
const LATE_MS = 30_000;

interface Reply {
  readonly status: number;
  readonly code: string | undefined;
  /** RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After; NaN if the header is missing. */
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
  readonly retryAfter: number;
  /** The request was counted between these two times. */
  readonly sentMs: number;
  readonly answeredMs: number;
}

interface Ask {
  readonly method?: string;
  /** Client address in the trusted proxy's header. */
  readonly from?: string;
  readonly token?: string;
  readonly headers?: Record<string, string>;
}

/** Connections are kept, and thousands of requests take half the processor time that `fetch` takes for them. */
const agent = new Agent({ keepAlive: true });

async function ask(base: string, path: string, { method = 'GET', from, token, headers }: Ask = {}) {
  const sentMs = Date.now();
  const sent = request(base + path, {
    agent,
    method,
    headers: {
      ...(from === undefined ? {} : { 'x-forwarded-for': from }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
  }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const body = await text(response);
  const number = (name: string): number => Number(response.headers[name] ?? Number.NaN);
  const status = response.statusCode!;
  const reply: Reply = {
    status,
    code: status < 300 ? undefined : JSON.parse(body).code,
    limit: number('ratelimit-limit'),
    remaining: number('ratelimit-remaining'),
    reset: number('ratelimit-reset'),
    retryAfter: number('retry-after'),
    sentMs,
    answeredMs: Date.now(),
  };
  return reply;
}

const statusesOf = (replies: readonly Reply[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_none, index) => make(index));

/** Runs at most `lanes` requests concurrently. */
async function inLanes<T>(count: number, lanes: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      const index = next++;
      done[index] = await work(index);
    }
  };
  await Promise.all(times(lanes, lane));
  return done;
}

/** Runs scenarios in sequence, so that those that load the machine do not disturb those that measure time. */
function inTurn(scenarios: Scenarios): Scenarios {
  let last: Promise<unknown> = Promise.resolve();
  const queued = (scenario: () => Promise<void>) => () => {
    const turn = last.then(scenario);
    last = turn.catch(() => undefined);
    return turn;
  };
  return Object.fromEntries(Object.entries(scenarios).map(([name, scenario]) => [name, queued(scenario)]));
}

type Scenarios = Readonly<Record<string, () => Promise<void>>>;

const walletOf = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;

describe('request limits', function () {
  // The scenarios wait for a minute to pass, and for one another.
  this.timeout(240_000);

  let fixture: Fixture;
  let queueRedis: Redis;
  let admin: Redis;
  /** Two replicas behind one proxy, and one without a proxy. */
  let first: string;
  let second: string;
  let direct: string;
  const servers: Server[] = [];
  const connections: Redis[] = [];

  const sessions = openSessions({
    issuer: 'Redbook',
    secret: SECRET,
    previousSecret: undefined,
    nowMs: Date.now,
  });

  const open = async (settings: Partial<HttpSettings>, redis: Redis): Promise<Replica & { url: string }> => {
    const auth = openAuth({
      redis: fixture.redis,
      serviceName: 'Redbook',
      webHosts: ['redbook.example'],
      jwtSecret: SECRET,
    });
    const replica = await fixture.replica(settings, { auth, queueRedis: redis });
    const server = createHttpServer(replica.app);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { ...replica, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  };

  const connect = (url: string): Redis => {
    const redis = connectRedis(url, 'limits', () => undefined);
    connections.push(redis);
    return redis;
  };

  before(async () => {
    fixture = await openFixture();
    const { url } = await freshRedisServer();
    queueRedis = connect(asUser('queue-api', url));
    admin = connect(url);
    first = (await open({ trustProxyHops: 1 }, queueRedis)).url;
    second = (await open({ trustProxyHops: 1 }, connect(asUser('queue-api', url)))).url;
    direct = (await open({ trustProxyHops: 0 }, queueRedis)).url;
  });

  after(async () => {
    agent.destroy();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    for (const redis of connections) redis.disconnect();
    await fixture.close();
  });

  const either = (index: number): string => (index % 2 === 0 ? first : second);

  /** Checks that exactly `limit` replies are allowed, each with a different remaining number, and the rest refused. */
  function expectExactly(replies: readonly Reply[], limit: number): void {
    const allowed = replies.filter(({ status }) => status !== 429);
    expect(allowed.length).to.equal(limit);
    expect(new Set(allowed.map(({ remaining }) => remaining)).size).to.equal(limit);
    for (const refused of replies.filter(({ status }) => status === 429)) {
      expect(refused).to.include({ code: 'RATE_LIMITED', limit, remaining: 0 });
      expect(refused.retryAfter).to.be.within(1, 60);
    }
  }

  /** Checks the replies to one client: at most `limit` are allowed in any minute, however long they took. */
  function expectNoMore(replies: readonly Reply[], limit: number): void {
    expect(new Set(replies.map(({ status }) => status))).to.deep.equal(new Set([200, 429]));
    const allowed = replies.filter(({ status }) => status === 200);
    allowed.sort((one, other) => one.answeredMs - other.answeredMs);
    expect(allowed.length).to.be.at.least(limit);
    for (const [index, { answeredMs }] of allowed.slice(limit).entries()) {
      const oneMore = allowed.slice(index, index + limit + 1);
      expect(answeredMs - Math.min(...oneMore.map(({ sentMs }) => sentMs))).to.be.at.least(WINDOW_MS);
    }
  }

  const [head, body, signature] = sessions.issue(WALLET).split('.') as [string, string, string];

  /** Returns a different invalid token for each index. */
  function forgedToken(index: number): string {
    const wallet = walletOf(index);
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const nowSeconds = Math.floor(Date.now() / 1000);
    const claims = part({ iss: 'Redbook', sub: wallet, iat: nowSeconds, exp: nowSeconds + SESSION_SECONDS });
    const signedBy = (secret: string, nowMs: () => number): string =>
      openSessions({ issuer: 'Redbook', secret, previousSecret: undefined, nowMs }).issue(wallet);
    const kinds: readonly (() => string)[] = [
      () => `forged-${index}`,
      () => `${head}.${claims}.${signature}`,
      () => `${part({ alg: 'none', typ: 'JWT' })}.${claims}.`,
      () =>
        `${head}.${body}.${signature.slice(0, -1)}${'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef'[index % 32]}${index}`,
      () => signedBy('another secret of thirty-two bytes or more', Date.now),
      () => signedBy(SECRET, () => Date.now() - SESSION_SECONDS * 1000 - 1000),
    ];
    return kinds[index % kinds.length]!();
  }

  const scenarios: Scenarios = {
    async 'two replicas share a bucket exactly, in a burst'() {
      const beganMs = Date.now();
      const replies = await Promise.all(
        times(400, (index) => ask(either(index), PAIRS, { from: '192.0.2.1' })),
      );
      expect(statusesOf(replies)).to.deep.equal({ 200: 300, 429: 100 });
      expectExactly(replies, 300);
      const resets = replies.map(({ reset }) => reset * 1000);
      expect(Math.min(...resets)).to.be.at.least(beganMs + WINDOW_MS - 5);
      expect(Math.max(...resets)).to.be.below(Date.now() + WINDOW_MS + 1000);
      // All 400 have the same oldest request.
      expect(Math.max(...resets) - Math.min(...resets)).to.be.at.most(1000);
    },

    async '2,000 forged tokens and spoofed addresses are worth nothing to log in'() {
      const replies = await inLanes(2_000, 40, (index) =>
        ask(direct, NONCE, {
          token: forgedToken(index),
          from: `10.0.${index >> 8}.${index & 255}`,
          headers: { forwarded: `for=10.1.1.${index & 255}`, 'x-real-ip': `10.2.2.${index & 255}` },
        }),
      );
      expectNoMore(replies, 30);
    },

    async 'nor to read market data, behind a proxy that adds the address it sees'() {
      const replies = await inLanes(900, 20, (index) =>
        ask(either(index), PAIRS, {
          token: forgedToken(index),
          from: `10.0.${index >> 8}.${index & 255}, ::${index}, 192.0.2.5`,
        }),
      );
      expect(statusesOf(replies)).to.deep.equal({ 200: 300, 429: 600 });
    },

    async 'a session has a bucket of its own, wherever it comes from and however it is written'() {
      const token = sessions.issue(walletOf(1));
      const from = '192.0.2.6';
      const anonymous = await Promise.all(times(300, () => ask(first, PAIRS, { from })));
      expect(statusesOf(anonymous)).to.deep.equal({ 200: 300 });
      expect((await ask(first, PAIRS, { from })).status).to.equal(429);
      const spellings = ['Bearer ', 'bearer  ', 'BEARER   '];
      const replies = await Promise.all(
        times(310, (index) =>
          ask(either(index), PAIRS, {
            from: index % 2 === 0 ? from : `198.51.100.${index & 255}`,
            headers: { authorization: `${spellings[index % 3]}${token}` },
          }),
        ),
      );
      expectExactly(replies, 300);
      const other = await ask(first, PAIRS, { from, token: sessions.issue(walletOf(2)) });
      expect(other).to.include({ status: 200, remaining: 299 });
    },

    async 'no number of sessions lifts an address above 120 logins a minute'() {
      const from = '192.0.2.7';
      const tokens = times(10, (index) => sessions.issue(walletOf(100 + index)));
      const replies = await inLanes(300, 20, (index) =>
        ask(either(index), NONCE, { from, token: tokens[index % 10]! }),
      );
      expect(statusesOf(replies)).to.deep.equal({ 200: 120, 429: 180 });
      const refused = await ask(first, NONCE, { from });
      expect(refused).to.include({ status: 429, limit: 30, remaining: 0 });
      expect(refused.retryAfter).to.be.within(1, 60);
      // The sessions' own limit of 30 lost only counted requests: requests refused by the address limit are not
      // counted.
      const elsewhere = await Promise.all(
        tokens.map((token) => ask(second, NONCE, { from: '192.0.2.8', token })),
      );
      const left = elsewhere.reduce((sum, { remaining }) => sum + remaining + 1, 0);
      expect(left).to.equal(10 * 30 - 120);
      expect((await ask(first, '/api/auth/verify', { method: 'POST', from })).remaining).to.equal(29);
    },

    async 'an IPv6 network of 64 bits is one client; IPv4 is the same in every form'() {
      const network = await Promise.all(
        times(32, (index) => ask(either(index), NONCE, { from: `2001:db8:0:1:${index}::${index}` })),
      );
      expectExactly(network, 30);
      expect((await ask(first, NONCE, { from: '2001:db8:0:2::1' })).remaining).to.equal(29);
      const forms = [
        '192.0.2.9',
        '::ffff:192.0.2.9',
        '::ffff:c000:209',
        '192.0.2.9:4711',
        '[::ffff:192.0.2.9]:1',
      ];
      const mapped = await Promise.all(
        times(35, (index) => ask(either(index), NONCE, { from: forms[index % forms.length]! })),
      );
      expectExactly(mapped, 30);
    },

    async 'a proxy that does not say who asks is counted itself'() {
      const said = ['unknown', '_hidden', 'for=192.0.2.1', '999.1.1.1', '', '192.0.2.1, [::1'];
      const replies = await inLanes(said.length, 1, (index) => ask(first, PAIRS, { from: said[index]! }));
      expect(replies.map(({ remaining }) => remaining)).to.deep.equal(
        said.map((_text, index) => 299 - index),
      );
    },

    async 'each row of the contract is one bucket'() {
      const from = '192.0.2.10';
      const remainingOf = async (method: string, path: string): Promise<number[]> => {
        const { limit, remaining } = await ask(first, path, { method, from });
        return [limit, remaining];
      };
      const calls = [
        ['POST', '/v1/auth/challenge', 30, 29],
        ['GET', NONCE, 30, 28],
        ['POST', '/api/auth/nonce', 30, 27],
        ['HEAD', NONCE, 30, 26],
        ['POST', '/v1/auth/verify', 30, 29],
        ['POST', '/api/auth/verify', 30, 28],
        ['GET', PAIRS, 300, 299],
        ['GET', '/v1/market-data/summary', 300, 298],
        ['GET', '/v1/market-data/tickers', 300, 297],
        ['GET', '/v1/market-data/orderbook/ETH_USDC', 300, 296],
        ['GET', '/v1/market-data/orderbook?ticker_id=NO_NE', 300, 295],
        ['GET', '/v1/market-data/trades/ETH_USDC', 300, 294],
        ['GET', '/v1/market-data/trades', 300, 293],
        ['GET', '/v1/market-data/candles/ETH_USDC', 300, 292],
        ['GET', '/v1/market-data/candles', 300, 291],
      ] as const;
      for (const [method, path, limit, remaining] of calls) {
        if (method === 'HEAD') await fetch(first + path, { method, headers: { 'x-forwarded-for': from } });
        else expect(await remainingOf(method, path), path).to.deep.equal([limit, remaining]);
      }
      await fetch(first + PAIRS, { method: 'OPTIONS', headers: { 'x-forwarded-for': from } });
      expect(await remainingOf('GET', PAIRS), 'a preflight is free').to.deep.equal([300, 290]);
    },

    async 'the old prefix says nothing of limits, and has the same'() {
      const from = '192.0.2.11';
      const old = '/v1/coingecko/pairs';
      const replies = await Promise.all(times(300, (index) => ask(either(index), old, { from })));
      expect(statusesOf(replies)).to.deep.equal({ 200: 300 });
      const refused = await ask(first, old, { from });
      expect(refused).to.include({ status: 429, code: 'RATE_LIMITED' });
      expect(refused.retryAfter).to.be.within(1, 60);
      for (const { limit, remaining, reset } of [...replies, refused]) {
        expect([limit, remaining, reset]).to.deep.equal([Number.NaN, Number.NaN, Number.NaN]);
      }
      expect(await ask(second, PAIRS, { from })).to.include({ status: 429, limit: 300 });
    },

    async 'trading routes and the list of markets have none'() {
      const token = sessions.issue(walletOf(3));
      for (const path of [
        '/v1/markets',
        '/v1/status',
        '/v1/orders',
        '/v1/trades',
        `/v1/portfolio/${walletOf(3)}`,
      ]) {
        const { status, limit } = await ask(first, path, { from: '192.0.2.12', token });
        expect([status, limit], path).to.deep.equal([200, Number.NaN]);
      }
      const keys = await admin.keys('*192.0.2.12*');
      expect(keys).to.deep.equal([]);
    },

    async 'a bad token does not shut anybody out of a public route'() {
      for (const token of ['x', 'a.b.c', forgedToken(1)]) {
        expect((await ask(first, PAIRS, { from: '192.0.2.13', token })).status).to.equal(200);
      }
    },

    async 'a 429 can be read from a web page, and is kept by no cache'() {
      const from = '192.0.2.14';
      const headers = { 'x-forwarded-for': from, origin: 'https://redbook.example' };
      await Promise.all(times(30, () => ask(first, NONCE, { from })));
      const response = await fetch(first + NONCE, { headers });
      expect(response.status).to.equal(429);
      expect(await response.json()).to.have.all.keys('error', 'code');
      expect(response.headers.get('access-control-allow-origin')).to.equal('https://redbook.example');
      for (const name of ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'Retry-After']) {
        expect(response.headers.get('access-control-expose-headers')).to.include(name);
        expect(response.headers.get(name), name).to.match(/^\d+$/);
      }
      expect(response.headers.get('cache-control')).to.equal('no-store');
    },

    async 'decisions are counted by bucket'() {
      const replica = await open({ trustProxyHops: 1 }, queueRedis);
      await Promise.all(times(32, () => ask(replica.url, NONCE, { from: '192.0.2.15' })));
      await ask(replica.url, PAIRS, { from: '192.0.2.15' });
      const metrics = await (await fetch(`${replica.url}/metrics`)).text();
      const count = (bucket: string, decision: string): string | undefined =>
        new RegExp(
          `^redbook_http_limit_decisions_total\\{bucket="${bucket}",decision="${decision}"\\} (\\d+)$`,
          'm',
        ).exec(metrics)?.[1];
      expect([count('challenge', 'allowed'), count('challenge', 'limited')]).to.deep.equal(['30', '2']);
      expect(count('market-data', 'allowed')).to.equal('1');
    },

    async 'while their Redis is away nobody signs in and everybody reads, until it is back'() {
      const server = await freshRedisServer();
      const redis = connect(asUser('queue-api', server.url));
      const replica = await open({ trustProxyHops: 1 }, redis);
      const from = '192.0.2.16';
      expect((await ask(replica.url, PAIRS, { from })).remaining).to.equal(299);
      await server.kill();
      for (const [method, path] of [
        ['GET', NONCE],
        ['POST', '/v1/auth/challenge'],
        ['POST', '/v1/auth/verify'],
        ['POST', '/api/auth/verify'],
      ] as const) {
        const reply = await ask(replica.url, path, { method, from });
        expect(reply).to.include({ status: 503, code: 'SERVICE_UNAVAILABLE' });
      }
      const unlimited = await Promise.all(times(400, () => ask(replica.url, PAIRS, { from })));
      expect(statusesOf(unlimited)).to.deep.equal({ 200: 400 });
      expect(unlimited[0]!.limit).to.be.NaN;
      // Not `once` of node:events: an attempt to connect that fails meanwhile would reject it.
      const ready = new Promise((resolve) => redis.once('ready', resolve));
      await server.start();
      await ready;
      // A replica that reports its servers as there signs in at once.
      expect((await ask(replica.url, NONCE, { from })).status).to.equal(200);
      expect((await ask(replica.url, PAIRS, { from })).limit).to.equal(300);
      const told = replica.log.filter((line) => line.includes('limits: Redis'));
      expect(told.map((line) => JSON.parse(line).msg)).to.deep.equal([
        'limits: Redis does not answer',
        'limits: Redis answers again',
      ]);
    },

    async 'a Redis that hangs holds up only the requests that are the first to ask it'() {
      const server = await freshRedisServer();
      const redis = connect(asUser('queue-api', server.url));
      const replica = await open({ trustProxyHops: 1 }, redis);
      const from = '192.0.2.17';
      await ask(replica.url, PAIRS, { from });
      const sent = sentCommands(redis);
      process.kill(server.pid(), 'SIGSTOP');
      try {
        const replies = await inLanes(400, 10, () => ask(replica.url, PAIRS, { from }));
        expect(statusesOf(replies)).to.deep.equal({ 200: 400 });
      } finally {
        process.kill(server.pid(), 'SIGCONT');
      }
      // Ten requests are in flight before the first failure; none asks Redis after it.
      expect(scriptsAmong(sent)).to.be.within(1, 10);
      const back = await untilCounted(replica.url, from);
      expect(back.limit).to.equal(300);
    },
  };

  sideBySide({
    async 'a minute that begins anew with the first request would let 59 pass in half of it; here 30 do'() {
      const from = '192.0.2.2';
      const begun = await ask(first, NONCE, { from });
      expect(begun).to.include({ status: 200, limit: 30, remaining: 29 });
      await sleep(WINDOW_MS - LATE_MS);
      const late = await Promise.all(times(29, (index) => ask(either(index), NONCE, { from })));
      expect(statusesOf(late)).to.deep.equal({ 200: 29 });
      const full = await ask(second, NONCE, { from });
      expect(full).to.include({ status: 429, remaining: 0, reset: begun.reset });
      await sleep(full.retryAfter * 1000);
      const next = await Promise.all(times(10, (index) => ask(either(index), NONCE, { from })));
      expect(statusesOf(next)).to.deep.equal({ 200: 1, 429: 9 });
      // The next refusal to expire is the first of the late ones.
      const refused = next.find(({ status }) => status === 429)!;
      const opensMs = [
        Math.min(...late.map(({ sentMs }) => sentMs)),
        Math.max(...late.map(({ answeredMs }) => answeredMs)),
      ];
      const [earliest, latest] = opensMs.map((ms) => ms + WINDOW_MS) as [number, number];
      expect(refused.retryAfter * 1_000).to.be.within(
        earliest - refused.answeredMs,
        latest - refused.sentMs + 1_000,
      );
      expect(refused.reset * 1_000).to.be.within(earliest, latest + 1_000);
    },

    async 'a drip of 30 in a minute goes on and on, whatever minute one looks at'() {
      const replies: Reply[] = [];
      for (let index = 0; index <= 30; index += 1) {
        if (index > 0) await sleep(WINDOW_MS / 30 + 5);
        const reply = await ask(either(index), NONCE, { from: '192.0.2.3' });
        replies.push(reply);
        const surely = replies.filter(({ sentMs }) => reply.answeredMs - sentMs < WINDOW_MS).length;
        const perhaps = replies.filter(({ answeredMs }) => reply.sentMs - answeredMs <= WINDOW_MS).length;
        expect(reply.status, `request ${index}`).to.equal(200);
        expect(reply.remaining, `request ${index}`).to.be.within(30 - Math.min(perhaps, 30), 30 - surely);
      }
    },

    async 'who asks on while refused waits no longer, and may ask again after Retry-After'() {
      const from = '192.0.2.4';
      const burst = await Promise.all(times(30, (index) => ask(either(index), NONCE, { from })));
      expect(statusesOf(burst)).to.deep.equal({ 200: 30 });
      const refused = await ask(first, NONCE, { from });
      expect(refused.status).to.equal(429);
      // Each refusal bounds the moment at which the window opens: to the second, and by the times of the request.
      let afterMs = 0;
      let byMs = Number.POSITIVE_INFINITY;
      const learnFrom = ({ sentMs, answeredMs, retryAfter }: Reply): void => {
        afterMs = Math.max(afterMs, sentMs + (retryAfter - 1) * 1000);
        byMs = Math.min(byMs, answeredMs + retryAfter * 1000);
      };
      learnFrom(refused);
      expect(refused.reset * 1000).to.be.within(afterMs, byMs + 1000);
      while (Date.now() < afterMs - 2000) {
        const again = await ask(second, NONCE, { from });
        expect(again).to.include({ status: 429, reset: refused.reset });
        learnFrom(again);
        expect(afterMs, 'asking on moves it').to.be.at.most(byMs);
        await sleep(500);
      }
      await sleep(byMs - Date.now());
      expect((await ask(first, NONCE, { from })).status).to.equal(200);
    },

    ...inTurn(scenarios),
  });

  async function untilCounted(url: string, from: string): Promise<Reply> {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const reply = await ask(url, PAIRS, { from });
      if (!Number.isNaN(reply.limit)) return reply;
      await sleep(100);
    }
    throw new Error('limits did not come back');
  }
});
