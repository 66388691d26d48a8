/** Tests that what fills a bound over all callers harms its holder only: unread replies, sign-ins, waits that wake at once. */

import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import request from 'supertest';
import { openSessions } from '../../../src/auth/session.ts';
import { createKey } from '../../../src/books/operator-keys.ts';
import { createApp, createProbeApp, newApp } from '../../../src/http/app.ts';
import { BUCKETS } from '../../../src/http/limits/buckets.ts';
import { createOperatorApp, OPERATOR_DOCUMENT_PATH } from '../../../src/http/operator/app.ts';
import { pathOf } from '../../../src/http/operator/serve.ts';
import { sendChunks } from '../../../src/http/response/index.ts';
import { beginReply } from '../../../src/http/response/state.ts';
import { isUnread, UnreadReplies, unreadReplies } from '../../../src/http/response/unread-replies.ts';
import { ROUTES } from '../../../src/http/routes.ts';
import { createHttpServer } from '../../../src/http/server.ts';
import { SignIns } from '../../../src/http/sign-ins.ts';
import { OPERATIONS } from '../../../src/operator/nouns.ts';
import { limit } from '../../engine/fixture.ts';
import { type Fixture, openFixture, SECRET } from '../../http/fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { instead } from '../../support/instead.ts';
import { type RawReply, talk } from '../../support/raw-http.ts';

const MIB = 1024 * 1024;
const REPLY_BYTES = 8 * MIB;

/** Sends a request and reads nothing until it is told to. */
class Reader {
  readonly socket: Socket;
  /** The server's end of the connection: a client that does not read does not notice the end. */
  isEnded = false;
  readBytes = 0;
  #goal = 0;

  constructor(server: Server, request: string) {
    this.socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    this.socket.on('error', () => undefined);
    this.socket.on('connect', () => this.socket.write(request));
    this.socket.on('data', (chunk) => {
      this.readBytes += chunk.length;
      if (this.readBytes >= this.#goal) this.socket.pause();
    });
    server.once('connection', (socket: Socket) => socket.once('close', () => (this.isEnded = true)));
    this.socket.pause();
  }

  /** Reads some bytes more, or a little more than that. */
  async take(bytes: number): Promise<void> {
    this.#goal = Math.min(REPLY_BYTES, this.readBytes + bytes);
    this.socket.resume();
    await eventually('bytes come', () => this.readBytes >= this.#goal || this.isEnded);
  }
}

const listening = async (server: Server): Promise<Server> => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
};

const get = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;

describe('a bound over all callers', () => {
  let server: Server | undefined;
  let readers: Reader[] = [];
  const read = (request: string): Reader => {
    const reader = new Reader(server!, request);
    readers.push(reader);
    return reader;
  };
  /** Sends a request whose reply the system does not take. */
  const readNothing = (request: string): Reader => {
    server!.once('connection', (socket: Socket) =>
      Object.assign(socket, { _write: () => undefined, _writev: undefined }),
    );
    return read(request);
  };
  afterEach(() => {
    for (const { socket } of readers) socket.destroy();
    readers = [];
    server?.closeAllConnections();
    server?.close();
  });

  describe('of reports', () => {
    /** Serves endless reports to the key that the path names. */
    const serveReports = async (): Promise<void> => {
      const app = newApp().get('/:key', async (request, response) => {
        beginReply(response, 'a request', () => '', { headers: [], lines: '' });
        async function* lines(): AsyncGenerator<string> {
          for (;;) yield 'x'.repeat(MIB);
        }
        const report = { contentType: 'text/csv', chunks: lines() };
        await sendChunks(response, request.params.key, report).catch(() => response.status(503).end());
      });
      server = await listening(createServer(app));
    };

    it('ends the oldest report of a key that reads none of its reports when another key asks', async () => {
      await serveReports();
      const first = read(get('/greedy'));
      await first.take(1);
      const second = read(get('/greedy'));
      await second.take(1);
      const refused = read(get('/greedy'));
      await refused.take(1);
      expect(refused.readBytes, 'a short refusal').to.be.below(MIB);
      const honest = read(get('/honest'));
      await honest.take(3 * MIB);
      expect(honest.readBytes).to.be.at.least(3 * MIB);
      expect([first.isEnded, second.isEnded]).to.deep.equal([true, false]);
    });
  });

  describe('of unread replies', () => {
    const body = Buffer.alloc(REPLY_BYTES, 'x');
    /** Answers with a large reply of the holder that the path names. */
    const serveWith = (unread: UnreadReplies) => (request: IncomingMessage, response: ServerResponse) => {
      response.writeHead(200, { 'Content-Length': body.length });
      response.end(body);
      if (isUnread(response)) unread.add(request.url!, body.length, response);
    };

    it('ends the oldest reply of the largest holder, and nobody else’s', async () => {
      const unread = new UnreadReplies({ ofHolder: 2 * REPLY_BYTES, inAll: 4 * REPLY_BYTES });
      let served = 0;
      const serve = serveWith(unread);
      server = await listening(
        createServer((request, response) => {
          served += 1;
          serve(request, response);
        }),
      );
      const ask = async (path: string): Promise<Reader> => {
        const reader = read(get(path));
        const before = served;
        await eventually('the request is served', () => served > before);
        return reader;
      };
      const first = await ask('/greedy');
      const second = await ask('/greedy');
      expect(() => unread.check('/greedy')).to.throw('too many reads of this wallet');
      const third = await ask('/greedy');
      const honest = await ask('/honest');
      expect(() => unread.check('/honest')).to.not.throw();
      const other = await ask('/other');
      await eventually('the oldest reply of the largest holder has ended', () => first.isEnded);
      expect([second, third, honest, other].map(({ isEnded }) => isEnded)).to.deep.equal(
        Array(4).fill(false),
      );
      await honest.take(REPLY_BYTES);
      expect(honest.readBytes).to.be.at.least(REPLY_BYTES);
    });

    it('ends a reply that makes no progress or hardly any, and none that is read slowly', async () => {
      server = await listening(createHttpServer(serveWith(new UnreadReplies()), { replyStallMs: 2_000 }));
      const open = async (path: string): Promise<Reader> => {
        const reader = read(get(path));
        await reader.take(1);
        return reader;
      };
      const stuck = await open('/stuck');
      const trickling = await open('/trickling');
      const slow = await open('/slow');
      const trickle = setInterval(() => void trickling.take(1), 500);
      const areEnded = (): boolean => stuck.isEnded && trickling.isEnded;
      for (let taken = 0; taken < 8 || !areEnded(); taken += 1) {
        await slow.take(MIB);
        await sleep(300);
      }
      clearInterval(trickle);
      expect(slow.isEnded).to.equal(false);
      const idle = await open('/idle');
      await idle.take(REPLY_BYTES);
      await sleep(2_500);
      expect(idle.isEnded).to.equal(false);
    });
  });

  describe('of sign-ins', () => {
    it('refuses the oldest sign-in of the address with most, and nobody else’s', async () => {
      const signIns = new SignIns({ ofHolder: 3, inAll: 5 });
      const ends: (() => void)[] = [];
      const begin = (address: string): Promise<string> =>
        signIns
          .admit(address, () => new Promise<string>((resolve) => ends.push(() => resolve('signed in'))))
          .catch(({ code, message }) => `${code}: ${message}`);
      const greedy = [begin('greedy'), begin('greedy'), begin('greedy')];
      expect(await begin('greedy')).to.match(/^SERVICE_UNAVAILABLE: too many sign-ins of this address/);
      const others = [begin('one'), begin('two'), begin('three')];
      expect(await greedy[0]).to.match(/^SERVICE_UNAVAILABLE: too many sign-ins are under way/);
      for (const end of ends) end();
      const replies = await Promise.all([...greedy.slice(1), ...others]);
      expect(replies).to.deep.equal(Array(5).fill('signed in'));
      expect(signIns.count).to.equal(0);
    });

    it('serves all that an address may ask in a minute, although they are under way at once', async () => {
      const fixture = await openFixture();
      try {
        const { auth } = fixture.services;
        let waiting = 0;
        let release!: () => void;
        const gate = new Promise<void>((resolve) => {
          release = resolve;
        });
        const held = instead(auth, {
          async nonce(address: string) {
            waiting += 1;
            await gate;
            return auth.nonce(address);
          },
        });
        const { app } = await fixture.replica({ trustProxyHops: 1 }, { auth: held });
        const wallet = `0x${'5'.repeat(40)}`;
        const ask = (path: string, from: string): Promise<{ status: number; text: string }> =>
          Promise.resolve(request(app).get(`${path}?address=${wallet}`).set('X-Forwarded-For', from));
        const asked = Array.from({ length: BUCKETS.challenge.limit }, () =>
          ask('/api/auth/nonce', '192.0.2.1'),
        );
        await eventually('all are under way', () => waiting === BUCKETS.challenge.limit);
        release();
        for (const { status } of await Promise.all(asked)) expect(status).to.equal(200);
      } finally {
        await fixture.close();
      }
    });
  });

  describe('of reads', () => {
    const WALLETS = 1_100;
    const FILLS = 500;
    let fixture: Fixture;

    before(async () => {
      fixture = await openFixture();
    });
    after(() => fixture.close());

    it('cancels by every route while unread replies of the wallet are full, and reads nothing', async () => {
      const { engine, services } = fixture;
      server = await listening(createHttpServer(createApp(services), { replyStallMs: 600_000 }));
      const { port } = server.address() as AddressInfo;
      const trader = await fixture.trader({ USDC: '1000000' });
      const { wallet: maker } = await fixture.trader({ ETH: '10' });
      for (let placed = 0; placed < FILLS; placed += 1)
        await engine.orders.place({ wallet: maker, request: limit('ETH/USDC', 'sell', '1900', '0.002') });
      await trader.order({ price: 1900, size: 0.002 * FILLS });
      const ids: string[] = [];
      for (let placed = 0; placed < 5; placed += 1)
        ids.push((await trader.order({ price: 1000, size: 0.01, clientOrderId: `mine-${placed}` })).body.id);
      const session = `Authorization: Bearer ${trader.token}\r\n`;
      const trades = get('/v1/trades?limit=500', session);
      const ask = async (text: string): Promise<RawReply> => (await talk(port, [text])).replies[0]!;
      await eventually('the wallet has its share of unread replies', async () => {
        readNothing(trades);
        const { status, text } = await ask(get('/v1/orders', session));
        return status === 503 && text.includes('too many reads of this wallet');
      });
      const send = (method: string, path: string, body?: object): string => {
        const json = body === undefined ? '' : JSON.stringify(body);
        const head = `Host: localhost\r\n${session}Content-Type: application/json\r\nContent-Length: ${json.length}\r\n`;
        return `${method} ${path} HTTP/1.1\r\n${head}\r\n${json}`;
      };
      const cancels: Readonly<Record<string, string>> = {
        cancelOrder: send('DELETE', `/v1/orders/${ids[0]}`),
        cancelOrderByClientId: send('DELETE', '/v1/orders/by-client-id/mine-1'),
        cancelNamedOrders: send('POST', '/v1/orders/cancel-batch', { orderIds: [ids[2]] }),
        setCancelAfter: send('POST', '/v1/orders/cancel-after', { timeoutMs: 5_000 }),
        cancelOrders: send('DELETE', '/v1/orders'),
      };
      const names = ROUTES.map(({ id }) => id).filter((id) => /cancel/i.test(id));
      expect(names).to.have.members(Object.keys(cancels));
      for (const [name, text] of Object.entries(cancels)) {
        const reply = await ask(text);
        expect(reply.status, `${name}: ${reply.text}`).to.equal(200);
        if (name === 'cancelOrders') expect(JSON.parse(reply.text).count).to.equal(2);
      }
      expect((await ask(get('/v1/orders', session))).status).to.equal(503);
    });

    describe('counts every reply that the system does not take', () => {
      /** Requests by their names. */
      type Requests = Readonly<Record<string, string>>;
      const ask = (method: string, path: string, headers = ''): string =>
        get(path, headers).replace(/^GET/, method);
      const filled = (path: string): string => path.replaceAll(/:\w+/g, 'x');

      const check = async (app: RequestListener, requests: Requests): Promise<void> => {
        server = await listening(createHttpServer(app));
        const { port } = server.address() as AddressInfo;
        for (const [name, text] of Object.entries(requests)) {
          const isHead = text.startsWith('HEAD');
          const alone = isHead ? '' : (await talk(port, [text])).replies[0]!.text;
          await eventually('nothing is unread', () => unreadReplies.bytes === 0);
          const { socket } = readNothing(text);
          // Times and figures may be a little shorter.
          const least = Math.floor(0.9 * alone.length);
          await eventually(`the reply to ${name} counts`, () => unreadReplies.bytes >= least);
          // The other end does not notice a mere end: it has bytes to send.
          socket.resetAndDestroy();
        }
        await eventually('nothing is unread', () => unreadReplies.bytes === 0);
      };

      it('of the API, its documents, its page and its errors', async () => {
        const { services } = fixture;
        const { token } = await fixture.trader();
        const session = `Authorization: Bearer ${token}\r\n`;
        await check(createApp(services), {
          ...Object.fromEntries(
            ROUTES.map(({ method, path, id }) => [id, ask(method, filled(path), session)]),
          ),
          'a document': get('/v1/openapi.json'),
          'the page': get('/'),
          'an unknown route': get('/unknown'),
          'a preflight': ask('OPTIONS', '/v1/orders'),
          'a request without a session': get('/v1/orders'),
          'a request for a head': ask('HEAD', '/v1/markets'),
          metrics: get('/metrics'),
          'a probe': get('/livez'),
        });
      });

      it('of the routes for operators', async () => {
        const { services, engine, ledger } = fixture;
        const { logger, metrics, ready, wakeSettlement } = services;
        const key = await createKey(
          fixture,
          { name: 'reader', rights: ['read'], caps: new Map() },
          { by: 'test', reason: 'a test' },
        );
        const app = createOperatorApp({
          engine,
          ledger,
          logger,
          metrics,
          wakeSettlement,
          ready,
          networkId: '',
          serviceName: 'Redbook',
        });
        const bearer = `Authorization: Bearer ${key}\r\n`;
        const refused = OPERATIONS.map((one) => [
          one.id,
          ask(one.method, filled(pathOf(one)), one.method === 'GET' ? '' : bearer),
        ]);
        await check(app, {
          ...Object.fromEntries(refused),
          'their document': get(OPERATOR_DOCUMENT_PATH),
          'the desk': get('/'),
          'a list': get('/operator/v1/acts', bearer),
        });
      });

      it('of probes and metrics', async () => {
        await check(createProbeApp(fixture.services), {
          metrics: get('/metrics'),
          'an unknown route': get('/unknown'),
        });
      });
    });

    it('answers each of 1,100 waits that two events wake', async () => {
      const { engine, services } = fixture;
      server = await listening(createHttpServer(createApp(services)));
      const { port } = server.address() as AddressInfo;
      const sessions = openSessions({
        issuer: 'Redbook',
        secret: SECRET,
        previousSecret: undefined,
        nowMs: Date.now,
      });
      const walletOf = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;
      const wallets = Array.from({ length: WALLETS }, (_, index) => walletOf(index + 1));
      const headersOf = (wallet: string) => ({ Authorization: `Bearer ${sessions.issue(wallet)}` });
      const ask = async (wallet: string, path: string): Promise<Pick<RawReply, 'status' | 'text'>> => {
        const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: headersOf(wallet) });
        return { status: response.status, text: await response.text() };
      };
      const taker = walletOf(0);
      await fixture.credit(taker, { USDC: '10000000' });
      for (const wallet of wallets) await fixture.credit(wallet, { ETH: '1' });
      await Promise.all(
        wallets.map((wallet) =>
          engine.orders.place({ wallet, request: limit('ETH/USDC', 'sell', '2000', '0.01') }),
        ),
      );
      const askAll = (pathOf: (index: number) => string) =>
        Promise.all(wallets.map((wallet, index) => ask(wallet, pathOf(index))));
      const present = await askAll(() => '/v1/orders/changes');
      const cursors = present.map(({ text }) => JSON.parse(text).cursor as string);
      const told = askAll((index) => `/v1/orders/changes?wait=25&after=${cursors[index]}`);
      await eventually('all wait', () => services.changeWaits.count === WALLETS);
      for (let sweep = 0; sweep < 2; sweep += 1)
        await engine.orders.place({ wallet: taker, request: limit('ETH/USDC', 'buy', '2000', '10') });
      expect((await ask(taker, '/v1/orders')).status).to.equal(200);
      const replies = await told;
      expect(replies.map(({ status }) => status)).to.deep.equal(Array(WALLETS).fill(200));
      // A wait that ends before its turn comes tells nothing, and its cursor loses nothing.
      for (const [index, { text }] of replies.entries()) {
        const { changes, cursor } = JSON.parse(text);
        expect(changes.length === 1 || cursor === cursors[index], text).to.equal(true);
      }
    });
  });
});
