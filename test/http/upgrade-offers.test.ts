/**
 * Proves that a request with a declined upgrade offer is answered like one without, including the requests behind it.
 */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createHttpServer, type HttpServer } from '../../src/http/server.ts';
import { readsBodies } from '../../src/http/upgrade.ts';
import { type Listening, listen } from '../../src/roles/listening.ts';
import { talk } from '../support/raw-http.ts';
import { type Fixture, openFixture } from './fixture.ts';

const run = promisify(execFile);

/** The offer of Java's default client. */
const H2C = [
  'Connection: Upgrade, HTTP2-Settings',
  'Host: x',
  'HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA',
  'Upgrade: h2c',
];
const request = (method: string, path: string, lines: readonly string[], body = ''): string =>
  `${[`${method} ${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n${body}`;
const plain = (path: string): string => request('GET', path, ['Host: x']);
const post = (path: string, body: string, lines: readonly string[] = H2C): string =>
  request('POST', path, [...lines, `Content-Length: ${body.length}`], body);

/** A request as the application received it. */
interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly string[];
  readonly body: string;
  readonly from: string | undefined;
  readonly upgrade: string | undefined;
}

for (const takesWebSockets of [false, true])
  describe(`a server that ${takesWebSockets ? 'takes WebSockets' : 'takes no WebSockets'}, offered another upgrade`, () => {
    let server: HttpServer;
    let listening: Listening;
    let seen: Seen[];
    let sockets: Set<Socket>;
    /** Sends the replies to `/slow`. */
    let answerSlow: (() => void) | undefined;

    before(async () => {
      server = createHttpServer(echo);
      if (takesWebSockets)
        server.takeWebSockets((_request, socket) => socket.end('HTTP/1.1 101 Taken\r\n\r\n'));
      listening = await listen(server, { port: 0 });
    });
    beforeEach(() => {
      [seen, sockets, answerSlow] = [[], new Set(), undefined];
    });
    after(() => listening.close(0));

    const echo = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
      const { method, url, rawHeaders, headers, socket } = incoming;
      sockets.add(socket);
      let body = '';
      try {
        for await (const chunk of incoming) body += (chunk as Buffer).toString('latin1');
      } catch {
        return;
      }
      seen.push({
        method: method!,
        url: url!,
        headers: rawHeaders,
        body,
        from: socket.remoteAddress,
        upgrade: headers.upgrade,
      });
      const end = (): void => {
        const text = Buffer.from(`${method} ${url} ${body}`, 'latin1');
        response.writeHead(200, { 'Content-Length': text.length }).end(text);
      };
      if (url === '/slow') answerSlow = end;
      else end();
    };
    const textsOf = async (pieces: readonly (string | Buffer | number)[], count = 1): Promise<string[]> => {
      const { replies, rest } = await talk(listening.port, pieces, count);
      expect(rest).to.equal('');
      for (const { status } of replies) expect(status).to.equal(200);
      return replies.map(({ text }) => text);
    };

    const offers: readonly [what: string, ...lines: string[]][] = [
      ['h2c', ...H2C],
      ['TLS/1.0', 'Host: x', 'Connection: Upgrade', 'Upgrade: TLS/1.0'],
      ['several', 'Host: x', 'Connection: Upgrade', 'Upgrade: h2c, TLS/1.2, foo/3'],
      ['several, in lines of their own', 'Host: x', 'Connection: upgrade', 'Upgrade: a', 'Upgrade: b'],
      [
        'WebSocket among others, without a handshake',
        'Host: x',
        'Connection: Upgrade',
        'Upgrade: h2c, websocket',
      ],
      ['mixed case', 'HOST: x', 'CONNECTION: UPGRADE, http2-SETTINGS', 'uPGRADE: H2C', 'http2-settings: AA'],
      ['Upgrade without Connection', 'Host: x', 'Upgrade: h2c'],
      ['Connection without Upgrade', 'Host: x', 'Connection: Upgrade'],
      [
        'Connection twice',
        'Host: x',
        'Connection: Upgrade',
        'Connection: keep-alive, HTTP2-Settings',
        'Upgrade: h2c',
      ],
      ['odd blanks', 'Host: x', 'Connection:\t, Upgrade ,keep-alive,', 'Upgrade:   h2c  '],
    ];
    for (const [what, ...lines] of offers)
      it(`answers GET, and POST with its body, and keeps the connection: ${what}`, async () => {
        const asked = [request('GET', '/a?b=1', lines), post('/c', 'body', lines), plain('/d')];
        const told = ['GET /a?b=1 ', 'POST /c body', 'GET /d '];
        const [a, b, c] = asked as [string, string, string];
        const ways: (string | number)[][] = [[a], [b], [c], [a + c], [a, 20, b]];
        // Newer versions of Node end the connection after a body.
        if (!readsBodies) ways.push([a + b + c], [a, 20, b, 20, c]);
        await Promise.all(
          ways.map(async (pieces) => {
            const text = pieces.filter((piece) => typeof piece === 'string').join('');
            const expected = told.filter((_reply, at) => text.includes(asked[at]!));
            expect(await textsOf(pieces, expected.length)).to.deep.equal(expected);
          }),
        );
      });

    it('reads a body that comes later and in pieces, by length and in chunks', async () => {
      const head = (line: string): string => request('POST', '/p', [...H2C, line]);
      expect(await textsOf([head('Content-Length: 6'), 20, 'ab', 20, 'cd', 20, 'ef'])).to.deep.equal([
        'POST /p abcdef',
      ]);
      const chunks = [
        head('Transfer-Encoding: chunked'),
        20,
        '3\r\nabc\r\n',
        20,
        '2;x=y\r\nde\r\n',
        20,
        '0\r\n\r\n',
      ];
      expect(await textsOf(chunks)).to.deep.equal(['POST /p abcde']);
      const atOnce = chunks.filter((one) => typeof one === 'string').join('');
      expect(await textsOf([atOnce])).to.deep.equal(['POST /p abcde']);
      const bytes = [...post('/p', 'xyz')].flatMap((byte) => [byte, 0]);
      expect(await textsOf(bytes)).to.deep.equal(['POST /p xyz']);
    });

    it('sends 100 Continue once to a client that waits for it', async () => {
      const socket = connect(listening.port, '127.0.0.1');
      socket.write(request('POST', '/e', [...H2C, 'Expect: 100-continue', 'Content-Length: 4']));
      const [chunk] = (await once(socket, 'data')) as [Buffer];
      expect(String(chunk)).to.equal('HTTP/1.1 100 Continue\r\n\r\n');
      socket.write('body');
      const [reply] = (await once(socket, 'data')) as [Buffer];
      expect(String(reply)).to.match(/^HTTP\/1\.1 200 [\s\S]*POST \/e body$/);
      socket.destroy();
    });

    it('passes on the rest of the head unchanged: bytes, order, duplicates, the sender', async () => {
      const lines = [
        'X-Twice: 1',
        'x-twice: 2',
        'X-Bytes: caf\xe9 \xff',
        'X-Empty:',
        'X-Colons: a:b: c',
        'Cookie: a=b',
      ];
      await textsOf([request('GET', '/%7Bx%7D?y=\x7e', [...H2C, ...lines])]);
      const [{ headers, url, from, upgrade } = {} as Seen] = seen;
      const expected = lines.flatMap((line) => {
        const at = line.indexOf(':');
        return [line.slice(0, at), line.slice(at + 1).trim()];
      });
      expect(headers).to.deep.equal(['Host', 'x', ...expected]);
      expect(url).to.equal('/%7Bx%7D?y=~');
      expect(from).to.match(/127\.0\.0\.1$/);
      expect(upgrade).to.equal(undefined);
    });

    it('keeps the other values of Connection', async () => {
      const closing = request('GET', '/a', ['Host: x', 'Connection: close, Upgrade', 'Upgrade: h2c']);
      const { replies, isClosed } = await talk(listening.port, [closing + plain('/b')], 2);
      expect([replies.map(({ text }) => text), isClosed]).to.deep.equal([['GET /a '], true]);
      const old = 'GET /old HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n';
      expect((await talk(listening.port, [old])).isClosed).to.equal(true);
      const kept = 'GET /old HTTP/1.0\r\nConnection: keep-alive, Upgrade\r\nUpgrade: h2c\r\n\r\n';
      expect(await textsOf([kept, 20, kept], 2)).to.deep.equal(['GET /old ', 'GET /old ']);
    });

    it('replies in the order of the requests, also when the first is slow', async function () {
      if (readsBodies) return this.skip();
      const asked = [
        plain('/slow'),
        post('/b', 'one'),
        request('GET', '/c', H2C),
        plain('/d'),
        post('/e', 'two'),
      ];
      const answers = textsOf([asked.join('')], 5);
      while (answerSlow === undefined) await sleep(2);
      await sleep(20);
      answerSlow();
      expect(await answers).to.deep.equal(['GET /slow ', 'POST /b one', 'GET /c ', 'GET /d ', 'POST /e two']);
    });

    it('survives a client that leaves while its request waits for an earlier reply', async () => {
      for (const leave of ['destroy', 'resetAndDestroy', 'end'] as const) {
        answerSlow = undefined;
        const socket = connect(listening.port, '127.0.0.1');
        socket.on('error', () => undefined);
        socket.write(plain('/slow') + request('GET', '/late', H2C));
        while (answerSlow === undefined) await sleep(2);
        socket[leave]();
        await sleep(20);
        (answerSlow as () => void)();
      }
      expect(await textsOf([plain('/alive')])).to.deep.equal(['GET /alive ']);
    });

    it('leaves nothing behind on a connection', async () => {
      const socket = connect(listening.port, '127.0.0.1');
      const ask = async (): Promise<void> => {
        socket.write(request('GET', '/again', H2C));
        await once(socket, 'data');
      };
      const listeners = (): Record<string, number> => {
        const [one] = sockets;
        return Object.fromEntries(one!.eventNames().map((name) => [String(name), one!.listenerCount(name)]));
      };
      for (let times = 0; times < 3; times += 1) await ask();
      const before = listeners();
      for (let times = 0; times < 50; times += 1) await ask();
      expect(sockets.size).to.equal(1);
      expect(listeners()).to.deep.equal(before);
      socket.destroy();
    });

    it('does not let a second request bypass the parser', async () => {
      const hidden = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n';
      const attempts: readonly (readonly string[])[] = [
        [...H2C, 'Content-Length: 5', 'Transfer-Encoding: chunked'],
        [...H2C, 'Content-Length: 5', 'Content-Length: 6'],
        [...H2C, 'Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
        [...H2C, 'Transfer-Encoding : chunked'],
        [...H2C, 'Content-Length: +5'],
        // Node drops headers after the first 1,000.
        [...H2C, ...Array.from({ length: 1_000 }, () => 'a:'), `Content-Length: ${hidden.length}`],
      ];
      for (const lines of attempts) {
        const { replies, isClosed } = await talk(listening.port, [request('POST', '/x', lines, hidden)], 2);
        expect([replies.length, isClosed], lines.join('|').slice(0, 200)).to.deep.equal([1, true]);
        expect(replies[0]!.status).to.be.oneOf([400, 431]);
      }
      expect(seen.map(({ url }) => url)).to.deep.equal([]);
    });

    it('limits the size of a head as without an offer', async () => {
      const long = (length: number): string =>
        request('GET', '/long', [...H2C, `X-Long:${'x'.repeat(length)}`]);
      expect(await textsOf([long(15_000)])).to.deep.equal(['GET /long ']);
      const { replies } = await talk(listening.port, [long(20_000)]);
      expect(replies.map(({ status }) => status)).to.deep.equal([431]);
    });

    it('closes when it is told to, with such a connection open', async () => {
      const other = await listen(createHttpServer(echo), { port: 0 });
      const socket = connect(other.port, '127.0.0.1');
      socket.write(request('GET', '/a', H2C));
      await once(socket, 'data');
      await Promise.all([other.close(), once(socket, 'close')]);
    });
  });

describe('the service with clients that offer HTTP/2', () => {
  let fixture: Fixture;
  let server: HttpServer;
  let url: string;
  let hasHttp2 = false;

  before(async () => {
    fixture = await openFixture();
    server = createHttpServer(fixture.app);
    server.takeWebSockets((_request, socket) => socket.destroy());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    hasHttp2 = await run('curl', ['--version']).then(
      ({ stdout }) => stdout.includes('HTTP2'),
      () => false,
    );
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await fixture.close();
  });

  it('places an order and lists it for curl --http2', async function () {
    if (!hasHttp2) return this.skip();
    const trader = await fixture.trader({ USDC: '10000' });
    const body = JSON.stringify({ market: 'ETH/USDC', side: 'buy', type: 'limit', price: 2000, size: 1 });
    const common = ['-s', '--http2', '-H', `Authorization: Bearer ${trader.token}`];
    const order = ['-H', 'Content-Type: application/json', '-d', body, `${url}/v1/orders`];
    const { stdout } = await run('curl', [...common, ...order, '--next', ...common, `${url}/v1/orders`]);
    const placed = JSON.parse(stdout.slice(0, stdout.indexOf('{"orders"')));
    expect(placed).to.include({ accepted: true, status: 'resting' });
    expect(
      JSON.parse(stdout.slice(stdout.indexOf('{"orders"'))).orders.map(({ id }: { id: string }) => id),
    ).to.deep.equal([placed.id]);
  });

  it('counts such a request once', async () => {
    const { services, app } = await fixture.replica();
    const counted = createHttpServer(app).listen(0, '127.0.0.1');
    await once(counted, 'listening');
    await talk((counted.address() as AddressInfo).port, [request('GET', '/livez', H2C)]);
    counted.close();
    expect(await services.metrics.text()).to.match(
      /redbook_http_request_seconds_count\{[^}]*\/livez[^}]*\} 1$/m,
    );
  });
});
