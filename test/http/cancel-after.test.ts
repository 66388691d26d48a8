/** POST /v1/orders/cancel-after sets and clears the dead-man switch of a wallet. */

import { expect } from 'chai';
import request from 'supertest';
import { walletBytes } from '../../src/engine/codec.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { startDueCancels } from '../../src/workers/due-cancels.ts';
import { eventually } from '../support/eventually.ts';
import { FAULT_SETTINGS } from './faults.ts';
import { type Fixture, openFixture, type Replica, type Trader, traderOf } from './fixture.ts';

const PATH = '/v1/orders/cancel-after';

describe('the dead-man switch', () => {
  let fixture: Fixture;
  let guarded: Replica;
  let trader: Trader;

  before(async () => {
    fixture = await openFixture();
    guarded = await fixture.replica(FAULT_SETTINGS);
  });
  beforeEach(async () => {
    trader = await fixture.trader({ USDC: '100000' });
  });
  after(() => fixture.close());

  const dueMsOf = async ({ wallet }: Trader): Promise<number | null> => {
    const score = await fixture.redis.zscore(KEYS.cancelAfter, walletBytes(wallet));
    return score === null ? null : Number(score);
  };

  it('returns its due time by the clock of the engine, and null when it is off', async () => {
    const beforeMs = await fixture.engine.reads.time();
    const { status, body } = await trader.post(PATH, { timeoutMs: 30_000 });
    expect(status).to.equal(200);
    expect(Object.keys(body)).to.deep.equal(['cancelAt']);
    expect(body.cancelAt).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(body.cancelAt)).to.be.within(
      beforeMs + 30_000,
      (await fixture.engine.reads.time()) + 30_000,
    );
    expect(await dueMsOf(trader)).to.equal(Date.parse(body.cancelAt));
    for (let times = 0; times < 2; times += 1) {
      const off = await trader.post(PATH, { timeoutMs: 0 });
      expect([off.status, off.body]).to.deep.equal([200, { cancelAt: null }]);
    }
    expect(await dueMsOf(trader)).to.equal(null);
  });

  it('accepts 0 and whole numbers from 5000 to 86400000, and rejects other values', async () => {
    for (const timeout of ['5000', '5e3', '5000.0', '86400000', '"5000"', '8.64E7'])
      expect((await trader.post(PATH, `{"timeoutMs":${timeout}}`)).body.cancelAt, timeout).to.be.a('string');
    for (const off of ['0', '-0', '0.0', '"0"', '0e9'])
      expect((await trader.post(PATH, `{"timeoutMs":${off}}`)).body, off).to.deep.equal({ cancelAt: null });
    await trader.post(PATH, { timeoutMs: 60_000 });
    const dueMs = await dueMsOf(trader);
    for (const wrong of [
      '1',
      '4999',
      '4999.9999999999999999999',
      '5000.0000000000000000001',
      '5000.5',
      '86400000.00000001',
      '86400001',
      '-5000',
      '1e400',
      '1e-400',
      '9007199254740993',
      'null',
      'true',
      '""',
      '"5s"',
      '[5000]',
      '{}',
    ]) {
      const { status, body } = await trader.post(PATH, `{"timeoutMs":${wrong}}`);
      expect([status, body.code], wrong).to.deep.equal([400, 'VALIDATION_ERROR']);
      expect(body.error, wrong).to.match(/^timeoutMs: must be /);
    }
    for (const body of ['{}', '', '{"timeout":5000}', '[5000]', '{"timeoutms":5000}'])
      expect((await trader.post(PATH, body)).body.code, body).to.equal('VALIDATION_ERROR');
    expect((await trader.post(PATH, '{"timeoutMs":5000')).body.code).to.equal('EXPRESS_ERR_INVALID_JSON');
    expect(await dueMsOf(trader), 'no refusal changed the switch').to.equal(dueMs);
  });

  it('requires a session before it checks anything else', async () => {
    const { status, body } = await request(fixture.app)
      .post(PATH)
      .set('Content-Type', 'application/json')
      .send('{"timeoutMs":');
    expect([status, body.code]).to.deep.equal([401, 'UNAUTHORIZED']);
  });

  it('is shared by all sessions of a wallet on all replicas', async () => {
    const { address } = trader.signer;
    const { typedData } = await fixture.services.auth.challenge(address);
    const { token } = await fixture.services.auth.verify(address, await trader.signer.signTyped(typedData));
    const again = traderOf(guarded.app, trader.signer, token);
    const later = (await again.post(PATH, { timeoutMs: 3_600_000 })).body.cancelAt;
    expect(Date.parse(later)).to.equal(await dueMsOf(trader));
    const sooner = (await trader.post(PATH, { timeoutMs: 5_000 })).body.cancelAt;
    expect(Date.parse(sooner))
      .to.equal(await dueMsOf(again))
      .and.to.be.lessThan(Date.parse(later));
    await again.post(PATH, { timeoutMs: 0 });
    expect(await dueMsOf(trader)).to.equal(null);
  });

  it('works while trading is paused, on custody hold, under stale terms and from a blocked country', async () => {
    await fixture.engine.switches.pause();
    await fixture.engine.switches.requireTerms('2');
    await fixture.engine.switches.hold(trader.wallet);
    try {
      for (const timeoutMs of [5_000, 0]) {
        const { status } = await request(guarded.app)
          .post(PATH)
          .set({ Authorization: `Bearer ${trader.token}`, 'X-Country': 'KP' })
          .send({ timeoutMs });
        expect(status).to.equal(200);
      }
    } finally {
      await fixture.engine.switches.resume();
      await fixture.engine.switches.requireTerms(null);
    }
  });

  it('cancels all orders when it is due, and shows the reason', async () => {
    const { body: order } = await trader.order({ clientOrderId: 'mine' });
    await trader.post(PATH, { timeoutMs: 5_000 });
    await fixture.engine.switches.pause();
    await fixture.redis.zadd(KEYS.cancelAfter, '1', walletBytes(trader.wallet));
    const { engine, logger } = guarded.services;
    let woken = 0;
    const wakeSettlement = (): void => {
      woken += 1;
    };
    const worker = startDueCancels({ engine, log: logger, wakeSettlement });
    try {
      await eventually('the switch has fired', async () => worker.counts().fired === 1);
    } finally {
      await worker.stop();
      await fixture.engine.switches.resume();
    }
    expect(woken, 'settlement hears of it').to.equal(1);
    const { orders } = (await trader.get('/v1/orders')).body;
    expect(orders[0]).to.include({ id: order.id, status: 'cancelled', reason: 'cancel_after' });
    expect((await trader.get(`/v1/portfolio/${trader.wallet}`)).body.balances[0]).to.include({ reserved: 0 });
    const told = guarded.log.filter((line) => line.includes('cancel-after: '));
    expect(told).to.have.length(1);
    expect(told[0]).to.include(trader.wallet).and.to.not.include(trader.token);
  });
});
