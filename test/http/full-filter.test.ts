/** Tests a full claim filter, which sends each new client order id to Postgres, while Postgres is down. */

import { expect } from 'chai';
import { openLedger } from '../../src/ledger/index.ts';
import { LIMITS } from '../support/limits.ts';
import { type Link, openLink } from '../support/link.ts';
import { type Fixture, openFixture, type Replica, type Trader } from './fixture.ts';

describe('placing with a full claim filter', () => {
  let fixture: Fixture;
  let link: Link;
  let replica: Replica;
  let trader: Trader;
  let ids = 0;

  before(async () => {
    fixture = await openFixture();
    link = await openLink(fixture.databaseUrl);
    const ledger = openLedger({ databaseUrl: link.url, poolSize: 2 });
    replica = await fixture.replica({}, { ledger });
    trader = await fixture.trader({ USDC: '1000000' }, replica.app);
    await fixture.redis.set('{redbook}:claim-filter', Buffer.alloc(LIMITS.claimFilterBytes, 0xff));
  });
  after(async () => {
    await link.mend();
    await replica.services.ledger.close();
    await fixture.close();
    link.close();
  });

  const order = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: 10, size: 1 };
  const named = () => {
    ids += 1;
    return { ...order, clientOrderId: `id ${ids}` };
  };

  it('accepts orders with and without a client order id while Postgres is available', async () => {
    for (const body of [order, named()]) expect((await trader.post('/v1/orders', body)).status).to.equal(200);
  });

  it('accepts orders without a client order id while Postgres hangs, and rejects others with the reason', async () => {
    link.stall();
    const first = await trader.post('/v1/orders', named());
    expect(first.status).to.equal(503);
    for (let count = 0; count < 20; count += 1) {
      const reply = await trader.post('/v1/orders', named());
      expect(reply.status).to.equal(503);
      expect(reply.body.code).to.equal('SERVICE_UNAVAILABLE');
      expect(reply.body.error).to.match(/^clientOrderId: the ledger is unavailable.*without a clientOrderId/);
      expect((await trader.post('/v1/orders', order)).status).to.equal(200);
    }
  });

  it('accepts orders with a client order id again soon after Postgres is back', async () => {
    await link.mend();
    const body = named();
    for (let tries = 0; ; tries += 1) {
      const reply = await trader.post('/v1/orders', body);
      if (reply.status === 200) break;
      expect(reply.status).to.equal(503);
      expect(tries).to.be.below(100);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
});
