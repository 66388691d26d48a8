/** Tests the application outside its routes: unknown paths, headers, logs, probes and the HTTP server. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect } from 'chai';
import type { Request } from 'express';
import request from 'supertest';
import { createApp, createProbeApp } from '../../src/http/app.ts';
import { createMessageClasses } from '../../src/http/response/index.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { eventually } from '../support/eventually.ts';
import { instead } from '../support/instead.ts';
import { type Fixture, openFixture, type Trader } from './fixture.ts';

const FOUR_FIELDS_404 = {
  statusCode: 404,
  code: 'NOT_FOUND',
  error: 'Not Found',
  message: 'no such route or resource',
};

describe('the application', () => {
  let fixture: Fixture;
  let trader: Trader;

  before(async () => {
    fixture = await openFixture();
    trader = await fixture.trader({ USDC: '100000' });
  });

  after(() => fixture.close());

  describe('routes', () => {
    it('returns the four error fields for an unknown path, method, letter case or trailing slash', async () => {
      const attempts = [
        request(fixture.app).post('/'),
        request(fixture.app).get('/trade'),
        request(fixture.app).get('/trade/ETH_USDC/'),
        request(fixture.app).get('/web/nothing.js'),
        request(fixture.app).get('/v1/nothing'),
        request(fixture.app).put('/v1/orders'),
        request(fixture.app).get('/v1/orders/12/34'),
        request(fixture.app).get('/v1/orders/by-client-id/12/34'),
        request(fixture.app).get('/V1/markets'),
        request(fixture.app).get('/v1/markets/'),
        request(fixture.app).options('/v1/nothing'),
      ];
      for (const { status, body } of await Promise.all(attempts)) {
        expect(status).to.equal(404);
        expect(body).to.deep.equal(FOUR_FIELDS_404);
      }
    });

    it('does not treat DELETE /v1/orders/ as cancel-all', async () => {
      const { body: order } = await trader.order();
      expect((await trader.delete('/v1/orders/')).body).to.deep.equal(FOUR_FIELDS_404);
      expect((await trader.get('/v1/orders')).body.orders[0].status).to.equal('resting');
      expect((await trader.delete(`/v1/orders/${order.id}`)).status).to.equal(200);
    });

    it('answers HEAD like GET, without the body', async () => {
      const get = await request(fixture.app).get('/v1/markets');
      const head = await request(fixture.app).head('/v1/markets');
      expect(head.status).to.equal(200);
      expect(head.headers['content-length']).to.equal(get.headers['content-length']);
      expect(head.text).to.equal(undefined);
    });

    it('rejects a URL that cannot be decoded, in the path and in the query', async () => {
      for (const path of ['/v1/orders/%', '/v1/markets?a=%ZZ', '/%ff', '/v1/portfolio/%e0%a4%a']) {
        const { status, body } = await request(fixture.app).get(path);
        expect(status, path).to.equal(400);
        expect(body).to.deep.equal({ error: 'the URL cannot be decoded', code: 'EXPRESS_ERR_INVALID_URL' });
      }
    });

    it('requires a session on every protected route', async () => {
      const calls = [
        request(fixture.app).get(`/v1/portfolio/${trader.wallet}`),
        request(fixture.app).post('/v1/orders').send('{'),
        request(fixture.app).get('/v1/orders'),
        request(fixture.app).delete('/v1/orders/1'),
        request(fixture.app).delete('/v1/orders'),
        request(fixture.app).get('/v1/trades?limit=x'),
        request(fixture.app).post('/v1/account/terms'),
      ];
      for (const { status, body } of await Promise.all(calls)) {
        expect(status).to.equal(401);
        expect(body).to.deep.equal({
          error: 'the bearer token is missing, invalid or expired',
          code: 'UNAUTHORIZED',
        });
      }
    });

    it('reads a token from the header only', async () => {
      const { status } = await request(fixture.app).get(`/v1/orders?token=${trader.token}`);
      expect(status).to.equal(401);
      for (const authorization of [
        trader.token,
        `Basic ${trader.token}`,
        'Bearer',
        `Bearer ${trader.token}x`,
      ]) {
        const reply = await request(fixture.app).get('/v1/orders').set('Authorization', authorization);
        expect(reply.status, authorization).to.equal(401);
      }
    });
  });

  describe('headers', () => {
    it('return the request id of the caller, or a new one', async () => {
      const named = await request(fixture.app).get('/livez').set('X-Request-Id', 'abc-1.2:3');
      expect(named.headers['x-request-id']).to.equal('abc-1.2:3');
      const unnamed = await request(fixture.app).get('/livez').set('X-Request-Id', 'a"b {}');
      expect(unnamed.headers['x-request-id']).to.match(/^[0-9a-f-]{36}$/);
    });

    it('hide the software, and forbid storing, sniffing and framing', async () => {
      const { headers } = await trader.get('/v1/orders');
      expect(headers).to.not.have.any.keys('x-powered-by', 'etag');
      expect(headers['cache-control']).to.equal('no-store');
      expect(headers['x-content-type-options']).to.equal('nosniff');
      expect(headers['content-security-policy']).to.equal("default-src 'none';frame-ancestors 'none'");
    });

    it('allow any web page to read public routes', async () => {
      const { headers } = await request(fixture.app)
        .get('/v1/markets')
        .set('Origin', 'https://anywhere.example');
      expect(headers['access-control-allow-origin']).to.equal('*');
      expect(headers['access-control-expose-headers'])
        .to.include('Date')
        .and.include('RateLimit-Reset')
        .and.include('Retry-After');
    });

    it('allow login and protected routes to the own front ends only', async () => {
      const cases = [
        ['https://redbook.example', true],
        ['https://www.redbook.example', true],
        ['http://redbook.example', false],
        ['http://www.redbook.example', false],
        ['https://www.www.redbook.example', false],
        ['https://REDBOOK.example', true],
        ['https://evil.example', false],
        ['https://redbook.example.evil.example', false],
        ['https://notredbook.example', false],
        ['null', false],
      ] as const;
      for (const path of ['/v1/orders', '/api/auth/nonce', '/v1/auth/challenge']) {
        for (const [origin, allowed] of cases) {
          const preflight = await request(fixture.app)
            .options(path)
            .set('Origin', origin)
            .set('Access-Control-Request-Method', 'POST');
          expect(preflight.status).to.equal(204);
          expect(preflight.headers.vary).to.equal('Origin');
          const expected = allowed ? origin : undefined;
          expect(preflight.headers['access-control-allow-origin'], origin).to.equal(expected);
          if (!allowed) continue;
          expect(preflight.headers['access-control-allow-methods']).to.include('POST');
          expect(preflight.headers['access-control-allow-headers']).to.include('Authorization');
        }
      }
    });

    it('accept the bare form of a `www.` host, and http origins of this machine only', async () => {
      const { app } = await fixture.replica({
        webHosts: ['www.exchange.example:8443', 'localhost:3000', '192.0.2.7:3000', '[::1]:3000'],
      });
      const cases = {
        'https://exchange.example:8443': true,
        'https://www.exchange.example:8443': true,
        'https://www.www.exchange.example:8443': false,
        'https://exchange.example': false,
        'http://localhost:3000': true,
        'http://[::1]:3000': true,
        'http://localhost:3001': false,
        'https://192.0.2.7:3000': true,
        'http://192.0.2.7:3000': false,
        'https://www.192.0.2.7:3000': false,
      };
      for (const [origin, allowed] of Object.entries(cases)) {
        const { headers } = await request(app).get('/v1/orders').set('Origin', origin);
        expect(headers['access-control-allow-origin'], origin).to.equal(allowed ? origin : undefined);
      }
    });

    it('allow a front end to read a refusal', async () => {
      const reply = await request(fixture.app).get('/v1/orders').set('Origin', 'https://redbook.example');
      expect(reply.status).to.equal(401);
      expect(reply.headers['access-control-allow-origin']).to.equal('https://redbook.example');
    });

    it('list the methods of a path in reply to OPTIONS', async () => {
      const { status, headers } = await request(fixture.app).options('/v1/orders');
      expect(status).to.equal(204);
      expect(headers.allow).to.equal('OPTIONS, POST, GET, HEAD, DELETE');
    });
  });

  describe('logs', () => {
    it('contain no token, signature, message or nonce', async () => {
      const { app, log } = await fixture.replica();
      const signer = trader.signer;
      const message = 'a message that nobody else should read';
      const signature = await signer.signText(message);
      await request(app)
        .get(`/v1/orders?token=${trader.token}`)
        .set('Authorization', `Bearer ${trader.token}`);
      await request(app).get(`/v1/orders?a=${trader.token.replaceAll('.', '%2E')}`);
      await request(app).get(`/v1/markets?nonce=0123456789abcdef&signature=${signature}&x=${signature}`);
      await request(app).post('/api/auth/verify').send({ address: signer.address, message, signature });
      await request(app).post('/v1/auth/verify').send({ address: signer.address, signature });
      const text = log.join('');
      expect(log.length).to.equal(5);
      const [head, payload, mac] = trader.token.split('.');
      for (const secret of [
        head!,
        payload!,
        mac!,
        signature,
        signature.slice(2),
        message,
        '0123456789abcdef',
      ]) {
        expect(text).to.not.include(secret);
      }
      expect(text).to.include('/v1/orders?token=[redacted]');
      expect(text.toLowerCase()).to.not.include('authorization').and.not.include('bearer');
    });

    it('contain the cause of an unexpected error, of which the client gets only the code', async () => {
      const broken = new Error(`failed with ${trader.token}`, { cause: new Error('deeper') });
      const driven = Object.assign(broken, { command: { args: ['0xsecret'] }, code: 'EPIPE' });
      const engine = {
        ...fixture.engine,
        markets: instead(fixture.engine.markets, { all: () => Promise.reject(driven) }),
      };
      const { app, log } = await fixture.replica({}, { engine });
      const { status, body, headers } = await request(app).get('/v1/markets');
      expect(status).to.equal(500);
      expect(body).to.deep.equal({
        statusCode: 500,
        code: 'INTERNAL_ERROR',
        error: 'Internal Server Error',
        message: 'unexpected server error',
      });
      const line = JSON.parse(log.find((entry) => entry.includes('unexpected error'))!);
      expect(line.requestId).to.equal(headers['x-request-id']);
      expect(line.error).to.include({ message: 'failed with [redacted]', code: 'EPIPE' });
      expect(line.error.cause.message).to.equal('deeper');
      expect(log.join('')).to.not.include('0xsecret').and.not.include(trader.token);
    });
  });

  describe('probes', () => {
    const INFO = 30;
    /** Log lines at the default log level. */
    const told = (log: readonly string[]) =>
      log.map((line) => JSON.parse(line)).filter(({ level }) => level >= INFO);

    it('report liveness, readiness and metrics', async () => {
      expect((await request(fixture.app).get('/livez')).body).to.deep.equal({ status: 'ok' });
      const ready = await request(fixture.app).get('/readyz');
      expect([ready.status, ready.body]).to.deep.equal([200, { ready: true, checks: { redis: 'ok' } }]);
      await trader.order({ size: 0 });
      await request(fixture.app).get('/v1/no/such/path');
      const { text, headers } = await request(fixture.app).get('/metrics');
      expect(headers['content-type']).to.match(/^text\/plain; version=0\.0\.4/);
      expect(text).to.match(
        /redbook_http_request_seconds_count\{method="POST",route="\/v1\/orders",status="400"\} 1/,
      );
      expect(text).to.match(
        /redbook_http_request_seconds_count\{method="GET",route="unknown",status="404"\}/,
      );
      expect(text).to.match(/redbook_engine_script_seconds_count\{script="place_orders"\} \d/);
      expect(text).to.not.include(trader.wallet);
    });

    it('log the request id when a readiness check fails', async () => {
      const ready = () => Promise.reject(new Error('away'));
      const { app, log } = await fixture.replica({}, { ready });
      expect((await request(app).get('/readyz').set('X-Request-Id', 'abc-2')).status).to.equal(503);
      const lines = told(log);
      expect(lines.map(({ msg }) => msg)).to.deep.equal(['the readiness check failed']);
      expect(lines.map(({ requestId }) => requestId)).to.deep.equal(['abc-2']);
    });

    it('log little while a process is not ready or drains', async () => {
      const ready = async () => ({ ready: false, checks: { process: 'draining' } });
      const { app, log } = await fixture.replica({}, { ready });
      expect((await request(app).get('/readyz')).status).to.equal(503);
      expect(told(log)).to.deep.equal([]);
    });

    it('read gauges at the scrape, and leave out those that cannot be read', async () => {
      const { app, services } = await fixture.replica();
      let lag = 3;
      services.metrics.gauge('redbook_test_lag', 'help', async () => lag);
      services.metrics.gauge('redbook_test_jobs', 'help', async () => ({ waiting: 1, failed: 2 }), 'state');
      services.metrics.gauge('redbook_test_broken', 'help', () => Promise.reject(new Error('away')));
      lag = 4;
      const { text } = await request(app).get('/metrics');
      expect(text).to.include('redbook_test_lag 4\n');
      expect(text).to.include('redbook_test_jobs{state="waiting"} 1\nredbook_test_jobs{state="failed"} 2\n');
      expect(text).to.not.match(/^redbook_test_broken/m);
    });

    it('are served by processes without the API, ready or not', async () => {
      const { logger, metrics } = fixture.services;
      const states = [
        [
          async () => ({ ready: false, checks: { postgres: 'away' } }),
          { ready: false, checks: { postgres: 'away' } },
        ],
        [() => Promise.reject(new Error('no answer')), { ready: false, checks: {} }],
      ] as const;
      for (const [ready, body] of states) {
        const app = createProbeApp({ logger, metrics, ready });
        const reply = await request(app).get('/readyz');
        expect([reply.status, reply.body]).to.deep.equal([503, body]);
        expect((await request(app).get('/livez')).status).to.equal(200);
        expect((await request(app).get('/v1/markets')).body).to.deep.equal(FOUR_FIELDS_404);
      }
    });
  });

  describe('the server', () => {
    let server: Server;

    before(async () => {
      server = createHttpServer(fixture.app).listen(0, '127.0.0.1');
      await once(server, 'listening');
    });

    after(() => server.close());

    const exchange = async (bytes: string): Promise<string> => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      socket.write(bytes);
      let reply = '';
      for await (const chunk of socket) reply += chunk;
      return reply;
    };

    it('writes the same heads with its own classes as with those of Node', async () => {
      const classes = createMessageClasses();
      const own = createHttpServer(createApp(fixture.services, classes), { classes }).listen(0, '127.0.0.1');
      await once(own, 'listening');
      const host = 'Host: a\r\nX-Request-Id: 1';
      const origin = 'Origin: https://redbook.example';
      const requests = [
        `GET /v1/markets HTTP/1.1\r\n${host}`,
        `GET /v1/orders HTTP/1.1\r\n${host}\r\n${origin}\r\nAuthorization: Bearer ${trader.token}`,
        `POST /v1/orders HTTP/1.1\r\n${host}\r\n${origin}`,
        `OPTIONS /v1/orders HTTP/1.1\r\n${host}\r\n${origin}`,
        `HEAD /v1/markets HTTP/1.1\r\n${host}\r\n${origin}`,
        `GET /v1/market-data/orderbook?ticker_id=ETH_USDC HTTP/1.1\r\n${host}\r\nAccept-Encoding: gzip`,
        `GET /v1/market-data/pairs HTTP/1.1\r\n${host}\r\nIf-None-Match: *`,
        `GET /v1/coingecko/pairs HTTP/1.0\r\n${host}`,
        `GET /v1/markets HTTP/1.1\r\nHost: b\r\n${host}`,
        `GET /nothing HTTP/1.1\r\n${host}\r\nConnection: close`,
      ];
      const changing = /^(Date|ETag|RateLimit-[a-z]+|Content-Length): .*$/gim;
      try {
        for (const request of requests) {
          const heads: string[] = [];
          for (const one of [server, own]) {
            const { port } = one.address() as AddressInfo;
            const socket = connect(port, '127.0.0.1').setEncoding('latin1');
            socket.write(`${request}\r\n\r\n`);
            let text = '';
            for await (const chunk of socket) {
              text += chunk;
              if (text.includes('\r\n\r\n')) break;
            }
            heads.push(text.slice(0, text.indexOf('\r\n\r\n')).replace(changing, '$1'));
          }
          expect(heads[1]!.split('\r\n'), request).to.deep.equal(heads[0]!.split('\r\n'));
          expect(heads[1]).to.include('\r\nContent-Security-Policy: ');
        }
      } finally {
        own.close();
      }
    });

    it('creates requests and responses with the prototypes of the application', async () => {
      const classes = createMessageClasses();
      const { services } = fixture;
      const applicationOf = (object: object): unknown => (object as Request).app;
      const [first, firstApplication] = [
        createApp(services, classes),
        applicationOf(classes.IncomingMessage.prototype),
      ];
      const second = createApp(services, classes);
      const seen: boolean[] = [];
      const prototypes = (request: object, response: object) =>
        [request, response].map((object) => Object.getPrototypeOf(object));
      const born = createHttpServer(
        (incoming, outgoing) => {
          const before = prototypes(incoming, outgoing);
          second(incoming, outgoing);
          const after = prototypes(incoming, outgoing);
          seen.push(before.every((prototype, at) => prototype === after[at] && 'get' in prototype));
          seen.push(applicationOf(incoming) !== firstApplication);
        },
        { classes },
      ).listen(0, '127.0.0.1');
      await once(born, 'listening');
      for (const path of ['/v1/markets', '/nowhere', '/livez']) {
        const reply = await request(born).get(path);
        const plain = await request(first).get(path);
        expect([reply.status, reply.body]).to.deep.equal([plain.status, plain.body]);
      }
      born.close();
      expect(seen).to.deep.equal(Array(6).fill(true));
    });

    it('survives a client that leaves in the middle of its body', async () => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      const head = `POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${trader.token}\r\n`;
      const asked = once(server, 'request');
      socket.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"market":`);
      await asked;
      socket.destroy();
      const isTold = (): boolean => /\/v1\/orders.*"status":499/.test(fixture.log.at(-1)!);
      await eventually('the request is over', isTold);
      expect(await exchange('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).to.include(
        '200 OK',
      );
    });
  });
});
