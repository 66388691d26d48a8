/** Proves that the login routes open sessions, name invalid fields, and refuse blocked countries. */

import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import request from 'supertest';
import { ethersSigner, loginText, SIGNERS } from '../auth/signers.ts';
import { type Fixture, openFixture, traderOf } from './fixture.ts';

describe('login routes', () => {
  let fixture: Fixture;
  let app: RequestListener;

  before(async () => {
    fixture = await openFixture();
    ({ app } = fixture);
  });

  beforeEach(() => fixture.forgetRequests());

  after(() => fixture.close());

  const post = (path: string, body: object, to = app) => request(to).post(path).send(body);
  for (const [name, signerOf] of Object.entries(SIGNERS)) {
    it(`opens a session for typed data signed by ${name}, once`, async () => {
      const signer = signerOf();
      const { status, body } = await post('/v1/auth/challenge', { address: signer.address });
      expect(status).to.equal(200);
      expect(body).to.have.all.keys('typedData', 'expiresIn');
      expect(body.expiresIn).to.equal('5m');
      expect(body.typedData).to.deep.include({
        domain: { name: 'Redbook', version: '1' },
        primaryType: 'Login',
        types: {
          Login: [
            { name: 'address', type: 'address' },
            { name: 'nonce', type: 'string' },
            { name: 'issuedAt', type: 'string' },
          ],
        },
      });
      const answer = { address: signer.address, signature: await signer.signTyped(body.typedData) };
      const verified = await post('/v1/auth/verify', answer);
      expect(verified.body).to.have.all.keys('verified', 'token');
      expect(verified.body.verified).to.equal(true);
      const trader = traderOf(app, signer, verified.body.token);
      expect((await trader.get(`/v1/portfolio/${signer.address}`)).body.address).to.equal(trader.wallet);
      const again = await post('/v1/auth/verify', answer);
      expect([again.status, again.body.code]).to.deep.equal([400, 'BAD_REQUEST']);
    });

    it(`opens a session for a SIWE message signed by ${name}, once`, async () => {
      const signer = signerOf();
      const nonce = await request(app).get('/api/auth/nonce').query({ address: signer.address });
      expect(nonce.headers['content-type']).to.equal('text/plain; charset=utf-8');
      expect(nonce.text).to.match(/^[0-9a-f]{32}$/);
      const message = loginText({ address: signer.address, nonce: nonce.text });
      const answer = { address: signer.address, message, signature: await signer.signText(message) };
      const verified = await post('/api/auth/verify', answer);
      expect(verified.status).to.equal(200);
      expect(verified.body).to.have.all.keys('sessionToken');
      const trader = traderOf(app, signer, verified.body.sessionToken);
      expect((await trader.get('/v1/orders')).status).to.equal(200);
      const again = await post('/api/auth/verify', answer);
      expect([again.status, again.body.code]).to.deep.equal([401, 'nonce_invalid']);
    });
  }

  it('return a nonce to GET and POST, with the address in the query or the body', async () => {
    const { address } = ethersSigner();
    const replies = await Promise.all([
      request(app).get('/api/auth/nonce').query({ address }),
      request(app).post('/api/auth/nonce').query({ address }),
      request(app).post('/api/auth/nonce').query({ address }).send({ address: 'ignored' }),
      post('/api/auth/nonce', { address }),
      post('/api/auth/nonce', { address: address.toLowerCase() }),
    ]);
    for (const { status, text } of replies) {
      expect(status).to.equal(200);
      expect(text).to.match(/^[0-9a-f]{32}$/);
    }
    expect(new Set(replies.map(({ text }) => text)).size).to.equal(replies.length);
  });

  it('name a missing or invalid field', async () => {
    const { address } = ethersSigner();
    const wrong: readonly (readonly [request.Test, RegExp])[] = [
      [post('/v1/auth/challenge', {}), /^address: is required$/],
      [post('/v1/auth/challenge', { address: 'me' }), /^address: must be 0x and 40 hex digits$/],
      [post('/v1/auth/challenge', { address: 1 }), /^address: must be a string$/],
      [post('/v1/auth/challenge', [address]), /^the body must be a JSON object$/],
      [request(app).post('/v1/auth/challenge'), /^address: is required$/],
      [post('/v1/auth/verify', { address }), /^signature: is required$/],
      [post('/v1/auth/verify', { signature: '' }), /^address: is required; signature: must not be empty$/],
      [post('/api/auth/verify', { address, signature: '0x' }), /^message: is required$/],
      [request(app).get('/api/auth/nonce'), /^address: is required$/],
      [
        request(app).get(`/api/auth/nonce?address=${address}&address=${address}`),
        /^address: must be a string$/,
      ],
      [request(app).post('/api/auth/nonce'), /^address: is required$/],
    ];
    for (const [attempt, message] of wrong) {
      const { status, body } = await attempt;
      expect(status).to.equal(400);
      expect(body).to.have.all.keys('error', 'code');
      expect(body.code).to.equal('VALIDATION_ERROR');
      expect(body.error).to.match(message);
    }
  });

  describe('from a blocked country', () => {
    const settings = { trustProxyHops: 1, countryHeader: 'CF-IPCountry', blockedCountries: ['kp', 'XX'] };

    it('are rejected, like placing and no other route', async () => {
      const { app: guarded } = await fixture.replica(settings);
      const trader = await fixture.trader({ USDC: '10000' }, guarded);
      const { body: order } = await trader.order();
      const calls = [
        ['post', '/v1/auth/challenge', 451],
        ['post', '/v1/auth/verify', 451],
        ['get', '/api/auth/nonce', 451],
        ['post', '/api/auth/nonce', 451],
        ['post', '/api/auth/verify', 451],
        ['get', '/v1/markets', 200],
        ['get', '/v1/orders', 200],
        ['get', '/v1/trades', 200],
        ['get', `/v1/portfolio/${trader.wallet}`, 200],
        ['delete', `/v1/orders/${order.id}`, 200],
        ['delete', '/v1/orders', 200],
      ] as const;
      for (const [method, path, status] of calls) {
        const reply = await request(guarded)
          [method](path)
          .set('Authorization', `Bearer ${trader.token}`)
          .set('cf-ipcountry', 'KP');
        expect(reply.status, path).to.equal(status);
        if (status === 451) expect(reply.body.code).to.equal('RESTRICTED_JURISDICTION');
      }
      const placing = await request(guarded)
        .post('/v1/orders')
        .set({ Authorization: `Bearer ${trader.token}`, 'cf-ipcountry': 'de, xx' })
        .send({ market: 'ETH/USDC', side: 'buy', type: 'limit', price: 1, size: 1 });
      expect([placing.status, placing.body.code]).to.deep.equal([451, 'RESTRICTED_JURISDICTION']);
    });

    it('ignore the header while no proxy is trusted, and block nobody without the setting', async () => {
      const { address } = ethersSigner();
      for (const more of [{ trustProxyHops: 0 }, { countryHeader: undefined }, { blockedCountries: [] }]) {
        const { app: open } = await fixture.replica({ ...settings, ...more });
        const { status } = await post('/v1/auth/challenge', { address }, open).set('cf-ipcountry', 'KP');
        expect(status).to.equal(200);
      }
      const { app: guarded } = await fixture.replica(settings);
      expect(
        (await post('/v1/auth/challenge', { address }, guarded).set('cf-ipcountry', 'DE')).status,
      ).to.equal(200);
      expect((await post('/v1/auth/challenge', { address }, guarded)).status).to.equal(200);
    });
  });
});
