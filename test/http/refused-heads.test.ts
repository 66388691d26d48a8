/** Proves that requests outside every route get `{error, code}` on every process, if a status can still be sent. */

import { connect } from 'node:net';
import { expect } from 'chai';
import { pino } from 'pino';
import { createProbeApp } from '../../src/http/app.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { openMetrics } from '../../src/process/metrics.ts';
import { type Listening, listen } from '../../src/roles/listening.ts';
import { openReplica, type Replica as StreamReplica } from '../stream/fixture.ts';
import { type RawReply, talk } from '../support/raw-http.ts';
import { freshRedis } from '../support/servers.ts';
import { type Fixture, openFixture, type Trader } from './fixture.ts';

const get = (path: string, ...lines: string[]): string =>
  `${[`GET ${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`;
const HANDSHAKE = [
  'Host: x',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
];
const without = (name: string): string[] => HANDSHAKE.filter((line) => !line.startsWith(name));

describe('a request head that is rejected before routing', () => {
  let fixture: Fixture;
  let trader: Trader;
  let streams: StreamReplica;
  const servers: Listening[] = [];
  const ports: Record<string, number> = {};

  before(async () => {
    fixture = await openFixture();
    trader = await fixture.trader({ USDC: '10000' });
    streams = await openReplica(await freshRedis(), async () => false);
    const ready = async () => ({ ready: true, checks: {} });
    const probes = createProbeApp({ logger: pino({ level: 'silent' }), metrics: openMetrics(), ready });
    const open = async (name: string, app: Parameters<typeof createHttpServer>[0], taking: boolean) => {
      const server = createHttpServer(app);
      if (taking) server.takeWebSockets(streams.streams.upgrade);
      const listening = await listen(server, { port: 0 });
      servers.push(listening);
      ports[name] = listening.port;
    };
    await open('api', fixture.app, false);
    await open('all', fixture.app, true);
    await open('stream', probes, true);
    await open('settlement', probes, false);
  });
  after(async () => {
    for (const server of servers) await server.close(0);
    await streams.close();
    await fixture.close();
  });

  const check = (reply: RawReply | undefined, status: number, code: string): void => {
    expect(reply?.status, reply?.text).to.equal(status);
    expect(reply!.headers['content-type']).to.equal('application/json; charset=utf-8');
    expect(reply!.headers['content-length']).to.equal(String(reply!.text.length));
    expect(reply!.headers).to.have.property('x-request-id');
    const body = JSON.parse(reply!.text);
    expect(body.code).to.equal(code);
    expect(body.error).to.be.a('string').and.not.equal('');
  };

  const refused: readonly [what: string, status: number, code: string, bytes: string][] = [
    ['two Host headers', 400, 'BAD_REQUEST', get('/livez', 'Host: a', 'Host: b')],
    ['the same Host twice', 400, 'BAD_REQUEST', get('/livez', 'Host: a', 'hOsT: a')],
    ['two Hosts in HTTP/1.0', 400, 'BAD_REQUEST', 'GET /livez HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['no Host', 400, 'BAD_REQUEST', get('/livez')],
    ['no Host, offering h2c', 400, 'BAD_REQUEST', get('/livez', 'Connection: Upgrade', 'Upgrade: h2c')],
    ['two Hosts, for a WebSocket', 400, 'BAD_REQUEST', get('/ws', 'Host: b', ...HANDSHAKE)],
    ['an unknown expectation', 417, 'EXPRESS_ERR_EXPECTATION_FAILED', get('/livez', 'Host: x', 'Expect: x')],
    ['CONNECT', 404, 'NOT_FOUND', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['what is no HTTP', 400, 'BAD_REQUEST', 'NONSENSE\r\n\r\n'],
    ['HTTP/2 without asking', 400, 'BAD_REQUEST', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    [
      'a head over 16 KB',
      431,
      'EXPRESS_ERR_HEADERS_TOO_LARGE',
      get('/livez', 'Host: x', `X: ${'x'.repeat(20_000)}`),
    ],
    ['an unknown method', 404, 'NOT_FOUND', 'PUT /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n'],
    ['a path that is no stream', 404, 'NOT_FOUND', get('/nowhere', ...HANDSHAKE)],
    ['a handshake by POST', 404, 'NOT_FOUND', get('/ws', ...HANDSHAKE).replace('GET', 'POST')],
    ['a handshake of HTTP/1.0', 404, 'NOT_FOUND', get('/ws', ...HANDSHAKE).replace('HTTP/1.1', 'HTTP/1.0')],
  ];
  for (const [what, status, code, bytes] of refused)
    it(`returns ${status} on every process: ${what}`, async () => {
      for (const port of Object.values(ports)) check((await talk(port, [bytes])).replies[0], status, code);
    });

  const handshakes: readonly [what: string, lines: readonly string[]][] = [
    ['without a key', without('Sec-WebSocket-Key')],
    ['with a key that is none', [...without('Sec-WebSocket-Key'), 'Sec-WebSocket-Key: x']],
    ['without a version', without('Sec-WebSocket-Version')],
    ['in another version', [...without('Sec-WebSocket-Version'), 'Sec-WebSocket-Version: 99']],
    ['with a protocol that is no word', [...HANDSHAKE, 'Sec-WebSocket-Protocol: a,,b']],
  ];
  for (const [what, lines] of handshakes)
    it(`returns 400 on processes with streams: a handshake ${what}`, async () => {
      for (const port of [ports.all!, ports.stream!]) {
        const { replies, isClosed } = await talk(port, [get('/ws', ...lines)]);
        check(replies[0], 400, 'BAD_REQUEST');
        expect(replies[0]!.headers['sec-websocket-version']).to.equal('13, 8');
        expect(isClosed).to.equal(true);
      }
    });

  it('does not include a complete handshake that offers another protocol as well', async () => {
    const offers = [...without('Upgrade'), 'Upgrade: h2c, WebSocket'];
    for (const lines of [HANDSHAKE, offers])
      expect((await talk(ports.all!, [get('/ws', ...lines)])).replies[0]!.status).to.equal(101);
  });

  it('does not include HTTP/1.0 without Host, and an unknown expectation', async () => {
    const bytes = ['GET /livez HTTP/1.0\r\n\r\n', 'GET /livez HTTP/1.0\r\nExpect: x\r\n\r\n'];
    for (const one of bytes) expect((await talk(ports.api!, [one])).replies[0]!.status).to.equal(200);
  });

  it('is answered after the replies to earlier requests', async () => {
    const body = JSON.stringify({ market: 'ETH/USDC', side: 'buy', type: 'limit', price: 1, size: 1 });
    const order = [
      'POST /v1/orders HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${trader.token}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n');
    for (const [behind, status] of [
      ['NONSENSE\r\n\r\n', 400],
      ['CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n', 404],
      [get('/ws', 'Host: b', ...HANDSHAKE), 400],
    ] as const) {
      const { replies, isClosed } = await talk(ports.all!, [order + behind], 2);
      expect(replies.map((reply) => reply.status)).to.deep.equal([200, status]);
      expect(JSON.parse(replies[0]!.text).status).to.equal('resting');
      expect(isClosed).to.equal(true);
    }
  });

  it('is answered at once when its own body breaks off', async () => {
    const head = `POST /v1/auth/challenge HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
    const { replies } = await talk(ports.api!, [`${head}Transfer-Encoding: chunked\r\n\r\n`, 20, 'zz\r\n']);
    check(replies[0], 400, 'BAD_REQUEST');
  });

  it('gets no second reply when its body breaks off after the first', async () => {
    const head = 'POST /v1/auth/challenge HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
    const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;
    const large = `5000\r\n${'x'.repeat(0x5000)}\r\n`;
    for (const [port, first, status] of [
      [ports.settlement!, chunked, 404],
      [ports.api!, chunked + large, 413],
    ] as const) {
      const { replies, rest, isClosed } = await talk(port, [first, 50, 'zz\r\n'], 2);
      expect(replies.map((reply) => reply.status)).to.deep.equal([status]);
      expect([rest, isClosed]).to.deep.equal(['', true]);
    }
  });

  it('returns 408 when it does not arrive in time, with and without an offer', async () => {
    const limits = {
      requestTimeout: 200,
      headersTimeout: 100,
      connectionsCheckingInterval: 20,
    };
    const { port, close } = await listen(
      createHttpServer(fixture.app, { timeLimits: limits, keepAliveMs: 1_000 }),
      { port: 0 },
    );
    const post = 'POST /v1/auth/challenge HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
    const heads = [
      'GET /livez HTTP/1.1\r\nHo',
      `${post}Content-Length: 10\r\n\r\n{`,
      `${post}Content-Length: 10\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n{`,
    ];
    for (const head of heads) {
      const { replies, isClosed } = await talk(port, [head]);
      check(replies[0], 408, 'EXPRESS_ERR_REQUEST_TIMEOUT');
      expect(isClosed).to.equal(true);
    }
    await close(0);
  });

  it('does no harm when its sender is gone', async () => {
    for (const bytes of ['NONSENSE\r\n\r\n', get('/livez'), get('/ws', ...without('Sec-WebSocket-Key'))]) {
      const socket = connect(ports.all!, '127.0.0.1');
      socket.on('error', () => undefined);
      await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
      socket.resetAndDestroy();
    }
    check((await talk(ports.all!, [get('/livez')])).replies[0], 400, 'BAD_REQUEST');
  });
});
