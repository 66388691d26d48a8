/** Proves that every error code is returned over HTTP with the status of the error table. */

import { expect } from 'chai';
import request, { type Response } from 'supertest';
import { CHALLENGE_LIFETIME_MS } from '../../src/auth/challenges.ts';
import { openNonces } from '../../src/auth/nonce.ts';
import { ERRORS, type ErrorCode, Refusal } from '../../src/domain/errors.ts';
import { balancesKey } from '../../src/engine/keys.ts';
import { ethersSigner, loginText, type SiweFields } from '../auth/signers.ts';
import { instead } from '../support/instead.ts';
import { type Attempt, FAULT_SETTINGS, FAULTS, type FaultName, newAttempt, restore, send } from './faults.ts';
import { type Fixture, openFixture, type Replica, SECRET } from './fixture.ts';

/** Documented, but not returned by any route yet. */
const RESERVED: readonly ErrorCode[] = ['RISK_LIMIT', 'RATE_LIMITED'];
/** Codes for requests that no library sends; refused-heads.test.ts covers them. */
const RAW: readonly ErrorCode[] = [
  'EXPRESS_ERR_REQUEST_TIMEOUT',
  'EXPRESS_ERR_EXPECTATION_FAILED',
  'EXPRESS_ERR_HEADERS_TOO_LARGE',
];
/** Returned to a client that has already disconnected. */
const UNHEARD: readonly ErrorCode[] = ['EXPRESS_ERR_BODY_ABORTED'];
const FOUR_FIELDS: readonly ErrorCode[] = ['NOT_FOUND', 'INTERNAL_ERROR'];

type Heard = (attempt: Attempt) => Promise<Response>;

describe('the error table', () => {
  let fixture: Fixture;
  let replica: Replica;

  before(async () => {
    fixture = await openFixture();
    replica = await fixture.replica(FAULT_SETTINGS);
  });

  afterEach(() => restore(fixture));
  after(() => fixture.close());

  const placing =
    (name: FaultName): Heard =>
    async (attempt) => {
      await FAULTS[name].cause(attempt);
      return send(attempt);
    };

  const login =
    (fields: (nonce: string) => SiweFields, by = ethersSigner(), text = loginText): Heard =>
    async () => {
      const { address } = by;
      const { text: nonce } = await request(fixture.app).get('/api/auth/nonce').query({ address });
      const message = text({ address, nonce, ...fields(nonce) });
      const signature = await by.signText(message);
      return request(fixture.app).post('/api/auth/verify').send({ address, message, signature });
    };

  /** Requests that cause each code. */
  const HEARD: Partial<Record<ErrorCode, Heard>> = {
    VALIDATION_ERROR: placing('schema'),
    INVALID_ORDER: placing('invalid'),
    MARKET_NOT_FOUND: placing('unknownMarket'),
    MARKET_NOT_TRADING: placing('halted'),
    MARKET_PRE_OPEN: placing('preOpenCross'),
    NO_REFERENCE_PRICE: placing('noMark'),
    ORDER_BELOW_MIN_SIZE: placing('belowMin'),
    ORDER_ABOVE_MAX_SIZE: placing('aboveMax'),
    SIZE_STEP: placing('offStep'),
    PRICE_TICK: placing('offTick'),
    SELL_DISABLED: placing('noSelling'),
    INSUFFICIENT_BALANCE: placing('noFunds'),
    QUOTE_AMOUNT_TOO_SMALL: placing('smallQuote'),
    NO_LIQUIDITY: placing('noLiquidity'),
    REDUCE_ONLY: placing('reduceOnly'),
    CUSTODY_HOLD: placing('hold'),
    UNAUTHORIZED: placing('bearer'),
    FORBIDDEN: placing('account'),
    STALE_TERMS_VERSION: placing('terms'),
    RESTRICTED_JURISDICTION: placing('country'),
    OPERATIONAL_PAUSED: placing('paused'),
    EXPRESS_ERR_INVALID_JSON: placing('json'),
    SETTLEMENT_FAILED: async (attempt) => {
      const { maker, base, symbol } = attempt;
      await maker.order({ market: symbol, side: 'sell' });
      const reserved = Buffer.concat([Buffer.from(maker.wallet.slice(2), 'hex'), Buffer.from('r')]);
      await fixture.redis.hset(balancesKey(base), reserved, '0');
      return send(attempt);
    },
    CONFLICT: async ({ maker, symbol }) => {
      const { body } = await maker.order({ market: symbol, side: 'sell' });
      const { market, side, type, price, size } = body;
      const order = { market, side, type, price, size };
      return maker.post('/v1/orders/replace', { ...order, orderId: body.id, filledSize: 1 });
    },
    ORDER_NOT_FOUND: ({ trader }) => trader.delete('/v1/orders/1'),
    BAD_REQUEST: async () =>
      request(fixture.app).post('/v1/auth/verify').send({ address: ethersSigner().address, signature: '0x' }),
    NOT_FOUND: async () => request(fixture.app).get('/v1/nothing'),
    INTERNAL_ERROR: async ({ trader }) => {
      const quotes = () => Promise.reject(new TypeError('a mistake of ours'));
      const engine = { ...fixture.engine, reads: instead(fixture.engine.reads, { quotes }) };
      const { app } = await fixture.replica({}, { engine });
      return request(app)
        .get(`/v1/portfolio/${trader.wallet}`)
        .set('Authorization', `Bearer ${trader.token}`);
    },
    SERVICE_UNAVAILABLE: async () => {
      const all = () => Promise.reject(new Refusal('SERVICE_UNAVAILABLE'));
      const engine = { ...fixture.engine, markets: instead(fixture.engine.markets, { all }) };
      const { app } = await fixture.replica({}, { engine });
      return request(app).get('/v1/markets');
    },

    signature_mismatch: login(() => ({}), { ...ethersSigner(), signText: ethersSigner().signText }),
    malformed_message: login(
      () => ({}),
      ethersSigner(),
      () => 'let me in',
    ),
    domain_mismatch: login(() => ({ domain: 'evil.example' })),
    address_mismatch: login(() => ({ address: ethersSigner().address })),
    message_expired: login(() => ({ expirationTime: '2020-01-01T00:00:00.000Z' })),
    nonce_missing: login(() => ({ nonce: undefined })),
    nonce_invalid: login((nonce) => ({ nonce: nonce.split('').reverse().join('') })),
    nonce_expired: async () => {
      const signer = ethersSigner();
      const { address } = signer;
      const nonce = openNonces([SECRET]).issue(address.toLowerCase(), Date.now() - CHALLENGE_LIFETIME_MS);
      const message = loginText({ address, nonce });
      const signature = await signer.signText(message);
      return request(fixture.app).post('/api/auth/verify').send({ address, message, signature });
    },

    EXPRESS_ERR_INVALID_URL: async () => request(fixture.app).get('/v1/markets?%'),
    EXPRESS_ERR_BODY_TOO_LARGE: async () =>
      request(fixture.app)
        .post('/v1/auth/challenge')
        .send({ address: ' '.repeat(20_000) }),
    EXPRESS_ERR_UNSUPPORTED_MEDIA_TYPE: async () =>
      request(fixture.app).post('/v1/auth/challenge').type('text/plain').send('hello'),
  };

  it('has a case for every code that is not reserved', () => {
    const met = [...Object.keys(HEARD), ...RESERVED, ...UNHEARD, ...RAW];
    expect(met).to.have.members(Object.keys(ERRORS));
  });

  for (const [code, hear] of Object.entries(HEARD) as [ErrorCode, Heard][]) {
    it(`returns ${ERRORS[code].status} with ${code}`, async () => {
      const { status, body, headers } = await hear(await newAttempt(fixture, replica));
      expect(body.code, body.error).to.equal(code);
      expect(status).to.equal(ERRORS[code].status);
      const fields = FOUR_FIELDS.includes(code)
        ? ['statusCode', 'code', 'error', 'message']
        : ['error', 'code'];
      expect(Object.keys(body)).to.deep.equal(fields);
      expect(body.error).to.be.a('string').and.not.equal('');
      expect(headers['content-type']).to.equal('application/json; charset=utf-8');
      expect(headers).to.have.property('x-request-id');
    });
  }
});
