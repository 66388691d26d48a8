/** Proves that media type, size and JSON of request bodies are checked, in whatever pieces the bytes arrive. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import request, { type Response } from 'supertest';
import { createApp } from '../../src/http/app.ts';
import { createMessageClasses } from '../../src/http/response/index.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { eventually } from '../support/eventually.ts';
import { talk } from '../support/raw-http.ts';
import { type Fixture, openFixture, type Trader } from './fixture.ts';

const JSON_TYPE = 'application/json';

describe('request bodies', () => {
  let fixture: Fixture;
  let trader: Trader;

  before(async () => {
    fixture = await openFixture();
    trader = await fixture.trader({ USDC: '1000000' });
  });

  after(() => fixture.close());

  const send = async (
    body: string | Buffer | undefined,
    headers: Record<string, string>,
  ): Promise<Response> => {
    const attempt = request(fixture.app)
      .post('/v1/orders')
      .set({ Authorization: `Bearer ${trader.token}`, ...headers });
    // supertest would convert a Buffer of JSON to text, and guess the type of a text.
    return body === undefined ? attempt : attempt.serialize((raw) => raw).send(body);
  };
  const refused = (reply: Response): readonly [number, string] => {
    expect(reply.body).to.have.all.keys('error', 'code');
    return [reply.status, reply.body.code];
  };
  const order = JSON.stringify({ market: 'ETH/USDC', side: 'buy', type: 'limit', price: 1, size: 1 });
  const padded = (bytes: number): string => order.padEnd(bytes, ' ');

  it('are read as JSON in UTF-8, whatever parameters the content type has', async () => {
    for (const type of [
      JSON_TYPE,
      'APPLICATION/JSON',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'application/json; charset=utf8; profile=x',
    ]) {
      expect((await send(order, { 'Content-Type': type })).status, type).to.equal(200);
    }
  });

  it('are rejected with 415 when their type, charset or encoding is another or missing', async () => {
    const attempts = [
      send(order, { 'Content-Type': 'text/plain' }),
      send(order, { 'Content-Type': 'application/x-www-form-urlencoded' }),
      send(order, { 'Content-Type': 'application/json; charset=utf-16' }),
      send(order, { 'Content-Type': 'application/json; charset=iso-8859-1' }),
      send(order, { 'Content-Type': 'application/jsonp' }),
      send(order, { 'Content-Type': '' }),
      send(gzipSync(order), { 'Content-Type': JSON_TYPE, 'Content-Encoding': 'gzip' }),
      send(order, { 'Content-Type': JSON_TYPE, 'Content-Encoding': 'nonsense' }),
    ];
    for (const reply of await Promise.all(attempts)) {
      expect(refused(reply)).to.deep.equal([415, 'EXPRESS_ERR_UNSUPPORTED_MEDIA_TYPE']);
    }
  });

  it('are rejected when they exceed 16 KB', async () => {
    expect((await send(padded(16_384), { 'Content-Type': JSON_TYPE })).status).to.equal(200);
    for (const bytes of [16_385, 1_000_000]) {
      expect(refused(await send(padded(bytes), { 'Content-Type': JSON_TYPE }))).to.deep.equal([
        413,
        'EXPRESS_ERR_BODY_TOO_LARGE',
      ]);
    }
    const chunked = request(fixture.app)
      .post('/v1/orders')
      .set({ Authorization: `Bearer ${trader.token}`, 'Content-Type': JSON_TYPE });
    chunked.write(padded(20_000));
    expect(refused(await chunked)).to.deep.equal([413, 'EXPRESS_ERR_BODY_TOO_LARGE']);
  });

  it('are rejected with EXPRESS_ERR_INVALID_JSON when they are not JSON', async () => {
    const wrong = [
      '{',
      '{"market":}',
      "{'market':'ETH/USDC'}",
      '{"market":"ETH/USDC",}',
      'market=ETH/USDC',
      'undefined',
      '{"size":NaN}',
      '{"size":Infinity}',
      '{"size":01}',
      '{"size":.5}',
      '{"size":0x10}',
      '{"size":1}{"size":1}',
      '{"a":"\u0001"}',
      '{"a":"\\x41"}',
      ' ',
      '['.repeat(16_000),
      '{"size":1,"size":2}',
      Buffer.from([0x22, 0xff, 0x22]),
      Buffer.from('{"clientOrderId":"\xe9"}', 'latin1'),
    ];
    for (const body of wrong) {
      const reply = await send(body, { 'Content-Type': JSON_TYPE });
      expect(refused(reply), String(body).slice(0, 40)).to.deep.equal([400, 'EXPRESS_ERR_INVALID_JSON']);
    }
  });

  it('are rejected with VALIDATION_ERROR when they are no object', async () => {
    for (const body of ['[]', '"text"', 'null', 'true', '1', '1e400', '[{"market":"ETH/USDC"}]']) {
      const reply = await send(body, { 'Content-Type': JSON_TYPE });
      expect(refused(reply), body).to.deep.equal([400, 'VALIDATION_ERROR']);
      expect(reply.body.error).to.equal('the body must be a JSON object');
    }
  });

  it('are rejected with the missing fields when they are absent', async () => {
    for (const headers of [{ 'Content-Type': JSON_TYPE }, { 'Content-Type': 'text/plain' }, {}]) {
      for (const body of ['', undefined]) {
        const reply = await send(body, headers);
        expect(refused(reply)).to.deep.equal([400, 'VALIDATION_ERROR']);
        expect(reply.body.error).to.match(/^market: is required; side: is required; type: is required/);
      }
    }
  });

  it('may have unknown members, also names of prototypes', async () => {
    const extra =
      '"__proto__":{"size":5,"toString":1},"constructor":{"prototype":{"side":"sell"}},"hasOwnProperty":1';
    const reply = await send(`${order.slice(0, -1)},${extra},"unknown":[1e999]}`, {
      'Content-Type': JSON_TYPE,
    });
    expect(reply.status).to.equal(200);
    expect(reply.body.size).to.equal(1);
    // Inherited members count as missing.
    const inherited = `{"__proto__":${order}}`;
    expect(refused(await send(inherited, { 'Content-Type': JSON_TYPE }))).to.deep.equal([
      400,
      'VALIDATION_ERROR',
    ]);
    expect(({} as { size?: unknown }).size).to.equal(undefined);
  });

  describe('on a server of this test', () => {
    let server: Server;
    let port: number;

    before(async () => {
      const classes = createMessageClasses();
      server = createHttpServer(createApp(fixture.services, classes), { classes }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      port = (server.address() as AddressInfo).port;
    });

    after(() => server.close());

    const headOf = (...headers: readonly string[]): string =>
      [
        'POST /v1/orders HTTP/1.1',
        'Host: a',
        `Authorization: Bearer ${trader.token}`,
        'Content-Type: application/json',
        ...headers,
        '',
        '',
      ].join('\r\n');
    const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

    it('are read in one packet with the head, after it, in pieces, and pipelined', async () => {
      const head = headOf(`Content-Length: ${order.length}`);
      const chunked = headOf('Transfer-Encoding: chunked');
      const part = order.slice(0, 20);
      const rest = order.slice(20);
      for (const pieces of [
        [head + order, head + order],
        [head + order + head + order],
        [head, 20, order, head, 20, part, 20, rest],
        [chunked + chunk(part) + chunk(rest) + chunk(''), chunked + chunk(part), 20, chunk(rest) + chunk('')],
      ]) {
        const { replies } = await talk(port, pieces, 2);
        expect(
          replies.map(({ status }) => status),
          String(pieces),
        ).to.deep.equal([200, 200]);
        expect(replies.map(({ text }) => JSON.parse(text).status)).to.deep.equal(['resting', 'resting']);
      }
    });

    it('are rejected when they turn out too large, empty or broken off', async () => {
      const chunked = headOf('Transfer-Encoding: chunked');
      const large = chunk(padded(9_000)).repeat(2) + chunk('');
      const attempts: readonly [expected: string, pieces: (string | number)[]][] = [
        ['EXPRESS_ERR_BODY_TOO_LARGE', [chunked + large]],
        ['EXPRESS_ERR_BODY_TOO_LARGE', [chunked, 20, large]],
        ['VALIDATION_ERROR', [chunked + chunk('')]],
        ['VALIDATION_ERROR', [chunked, 20, chunk('')]],
        ['BAD_REQUEST', [`${chunked}${chunk(order)}no chunk\r\n`]],
      ];
      for (const [expected, pieces] of attempts) {
        const { replies } = await talk(port, pieces);
        expect(
          replies.map(({ text }) => JSON.parse(text).code),
          expected,
        ).to.deep.equal([expected]);
      }
      const before = fixture.log.length;
      await talk(port, [headOf(`Content-Length: ${order.length}`) + order.slice(0, 20)], 0);
      await eventually('the request is over', async () => fixture.log.length > before);
      expect(JSON.parse(fixture.log.at(-1)!)).to.include({ status: 499, msg: 'request' });
    });
  });

  it('are not read by routes that take none', async () => {
    const reply = await request(fixture.app)
      .get('/v1/orders')
      .set({ Authorization: `Bearer ${trader.token}`, 'Content-Type': 'text/plain' })
      .send('{{{');
    expect(reply.status).to.equal(200);
  });
});
