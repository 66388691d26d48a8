/** Tests amounts at the limits of exact arithmetic. */

import { expect } from 'chai';
import { writeBookMember } from '../../../src/engine/index.ts';
import { balancesKey, bookKey } from '../../../src/engine/keys.ts';
import {
  ALICE,
  atMarket,
  BOB,
  CAROL,
  codeOf,
  dump,
  type EngineFixture,
  expectConserved,
  fund,
  held,
  limit,
  movement,
  openEngineFixture,
  place,
  publishPlain,
  refusedWithoutWriting,
  spend,
} from '../../engine/fixture.ts';
import { assetContents } from '../../support/engine-contents.ts';

const LIMIT = 2n ** 53n;
const feeOf = (notional: bigint, bps: bigint): bigint => (notional * bps + 9_999n) / 10_000n;

/** Returns the largest size at this price whose notional plus fee stays below 2^53. */
function largestSize(price: bigint, bps: bigint): bigint {
  let size = ((LIMIT - 1n) * 10_000n) / (price * (10_000n + bps)) + 1n;
  while (price * size + feeOf(price * size, bps) >= LIMIT) size -= 1n;
  return size;
}

describe('engine: amounts at the limits of exact numbers', () => {
  let fixture: EngineFixture;

  beforeEach(async () => {
    fixture = await openEngineFixture();
  });
  afterEach(() => fixture.close());

  const PRICES = [1n, 2n, 3n, 9_999n, 1_000_003n, 94_906_267n, 3_333_333_333_331n] as const;
  for (const bps of [0n, 1n, 7n, 333n, 1000n]) {
    it(`trades the largest exact notional at a fee of ${bps} bps, and rejects one step more`, async () => {
      const { engine, redis } = fixture;
      await publishPlain(engine, 'ETH/USD', { feeBps: Number(bps) });
      for (const price of PRICES) {
        const size = largestSize(price, bps);
        const notional = price * size;
        const fee = feeOf(notional, bps);
        await fund(engine, ALICE, { ETH: size + 1n });
        await fund(engine, BOB, { USD: notional + fee });
        const [aliceUsd] = await held(engine, ALICE, 'USD');

        const refused = limit('ETH/USD', 'buy', price, size + 1n);
        expect(await refusedWithoutWriting(redis, () => place(engine, BOB, refused))).to.equal(
          'ORDER_ABOVE_MAX_SIZE',
        );

        await place(engine, ALICE, limit('ETH/USD', 'sell', price, size));
        const { order, trades } = await place(engine, BOB, limit('ETH/USD', 'buy', price, size));
        expect([order.status, trades[0]?.feeAtoms, trades[0]?.sizeSteps]).to.deep.equal([
          'filled',
          fee,
          size,
        ]);
        expect(await held(engine, BOB, 'USD')).to.deep.equal([0n, 0n]);
        expect(await held(engine, ALICE, 'USD')).to.deep.equal([aliceUsd + notional, 0n]);
      }
      await expectConserved(engine, 'USD');
      await expectConserved(engine, 'ETH');
    });
  }

  it('rests, cuts and cancels the largest exact order', async () => {
    const { engine } = fixture;
    await publishPlain(engine, 'ETH/USD');
    await fund(engine, ALICE, { USD: LIMIT - 1n });
    await fund(engine, BOB, { ETH: 5n });
    const { order } = await place(engine, ALICE, limit('ETH/USD', 'buy', 1, LIMIT - 1n));
    await place(engine, BOB, limit('ETH/USD', 'sell', 1, 3));
    expect(await held(engine, ALICE, 'USD')).to.deep.equal([0n, LIMIT - 4n]);
    const closed = await engine.orders.cancel(ALICE, order.id);
    expect(closed.status).to.equal('partially_filled_cancelled');
    expect(await held(engine, ALICE, 'USD')).to.deep.equal([LIMIT - 4n, 0n]);
  });

  it('keeps the remaining size of a cut order exact down to its lowest bits', async () => {
    const { engine } = fixture;
    await publishPlain(engine, 'ETH/USD');
    await fund(engine, ALICE, { ETH: 2n ** 53n });
    await fund(engine, BOB, { USD: 100n });
    for (const size of [8n, 9n, 10n, 11n, 2n ** 31n + 3n, 2n ** 32n + 2n, 2n ** 50n + 7n]) {
      const { order } = await place(engine, ALICE, limit('ETH/USD', 'sell', 1, size));
      await place(engine, BOB, limit('ETH/USD', 'buy', 1, 1));
      const { resting } = await assetContents(engine, 'ETH');
      expect(resting.map(({ remainingSteps }) => remainingSteps)).to.deep.equal([size - 1n]);
      await engine.orders.cancel(ALICE, order.id);
      await expectConserved(engine, 'ETH');
    }
  });

  it('rejects a size of 2^53 base atoms, or a match whose total passes it, before it writes anything', async () => {
    const { engine, redis } = fixture;
    await publishPlain(engine, 'ETH/USD', { referencePrice: '1' });
    await fund(engine, ALICE, { ETH: 2n ** 54n, USD: 2n ** 54n });
    await fund(engine, BOB, { ETH: 2n ** 54n, USD: 2n ** 56n });
    const above = 'ORDER_ABOVE_MAX_SIZE';
    const refused = (wallet: string, order: Parameters<typeof place>[2]): Promise<string> =>
      refusedWithoutWriting(redis, () => place(engine, wallet, order));

    expect(await refused(BOB, atMarket('ETH/USD', 'sell', LIMIT))).to.equal(above);
    expect(await refused(BOB, limit('ETH/USD', 'sell', '1e300', 1))).to.equal(above);

    await place(engine, ALICE, limit('ETH/USD', 'sell', 1, 2n ** 52n));
    await place(engine, ALICE, limit('ETH/USD', 'sell', 2, 2n ** 51n));
    await place(engine, ALICE, limit('ETH/USD', 'sell', 3, 1));
    // 2^52 + 2 * 2^51 = 2^53 quote atoms in all.
    expect(await refused(BOB, atMarket('ETH/USD', 'buy', 2n ** 52n + 2n ** 51n))).to.equal(above);
    expect(await refused(BOB, spend('ETH/USD', LIMIT))).to.equal(above);
    expect(await refused(BOB, spend('ETH/USD', LIMIT + 12_345n))).to.equal(above);
    const bought = await place(engine, BOB, spend('ETH/USD', LIMIT - 1n));
    expect(bought.order.sizeSteps).to.equal(2n ** 52n + 2n ** 51n - 1n);

    await engine.orders.clear('ETH/USD');
    await place(engine, ALICE, limit('ETH/USD', 'buy', 5, 2n ** 50n));
    await place(engine, ALICE, limit('ETH/USD', 'buy', 4, 2n ** 50n));
    expect(await refused(BOB, atMarket('ETH/USD', 'sell', 2n ** 51n))).to.equal(above);
    const sold = await place(engine, BOB, atMarket('ETH/USD', 'sell', 2n ** 50n + 2n ** 49n));
    expect(sold.order.status).to.equal('filled');
    await expectConserved(engine, 'USD');
    await expectConserved(engine, 'ETH');
  });

  it('accepts a quote amount of any length when the asks end first', async () => {
    const { engine } = fixture;
    await publishPlain(engine, 'ETH/USD', { feeBps: 1000 });
    await fund(engine, ALICE, { ETH: 3n });
    await fund(engine, BOB, { USD: 100n });
    await place(engine, ALICE, limit('ETH/USD', 'sell', 7, 3));
    const { order, trades } = await place(engine, BOB, spend('ETH/USD', '1e300'));
    expect([order.status, order.sizeSteps, trades[0]?.feeAtoms]).to.deep.equal(['filled', 3n, 3n]);
  });

  it('rejects an order whose fills, fees and remainder together pass 2^53', async () => {
    const { engine, redis } = fixture;
    await publishPlain(engine, 'ETH/USD', { feeBps: 1 });
    const size = largestSize(1n, 1n);
    const rest = 20n;
    const singles = 10n;
    await fund(engine, ALICE, { ETH: LIMIT });
    await fund(engine, BOB, { USD: 2n ** 54n + 1n });
    // Ten fills of one atom pay one atom of fee each, which is more than their share of a fee on the total.
    for (let placed = 0n; placed < singles; placed += 1n) {
      await place(engine, ALICE, limit('ETH/USD', 'sell', 1, 1));
    }
    await place(engine, ALICE, limit('ETH/USD', 'sell', 1, size - rest - singles));
    const code = await refusedWithoutWriting(redis, async () => {
      const { order } = await place(engine, BOB, limit('ETH/USD', 'buy', 1, size));
      await expectConserved(engine, 'USD');
      return order;
    });
    expect(code).to.equal('ORDER_ABOVE_MAX_SIZE');
  });

  it('cancels orders that together hold more than 2^53 atoms', async () => {
    const { engine } = fixture;
    await publishPlain(engine, 'ETH/USD');
    await fund(engine, ALICE, { USD: 2n ** 58n, ETH: 2n ** 58n });
    const sizes = [LIMIT - 1n, LIMIT - 1n, ...Array.from({ length: 20 }, () => 3n)];
    for (const side of ['buy', 'sell'] as const) {
      const price = side === 'buy' ? 1 : 2;
      for (const size of sizes) {
        // The notional of an ask of 2^53 - 1 at 2 would exceed the limit; that of a bid at 1 does not.
        const exact = side === 'sell' && size > 3n ? size / 2n : size;
        await place(engine, ALICE, limit('ETH/USD', side, price, exact));
      }
    }
    expect(await engine.orders.cancelAll(ALICE, null)).to.have.length(2 * sizes.length);
    expect(await held(engine, ALICE, 'USD')).to.deep.equal([2n ** 58n, 0n]);
    expect(await held(engine, ALICE, 'ETH')).to.deep.equal([2n ** 58n, 0n]);
  });

  it('sums a level past 2^53 steps exactly', async () => {
    const { engine } = fixture;
    await publishPlain(engine, 'ETH/USD');
    await fund(engine, ALICE, { USD: 2n ** 58n });
    await fund(engine, BOB, { ETH: 100n });
    for (let orders = 0; orders < 5; orders += 1) {
      await place(engine, ALICE, limit('ETH/USD', 'buy', 1, LIMIT - 1n));
    }
    await place(engine, BOB, limit('ETH/USD', 'sell', 1, 3));
    expect((await engine.reads.book('ETH/USD', 10))?.bids).to.deep.equal([
      { priceTicks: 1n, sizeSteps: 5n * (LIMIT - 1n) - 3n },
    ]);
    await engine.orders.cancelAll(ALICE, null);
    expect(await engine.reads.book('ETH/USD', 10)).to.deep.include({ bids: [], asks: [] });
  });

  it('expires own orders that together hold more than 2^53 atoms', async () => {
    const { engine } = fixture;
    await publishPlain(engine, 'ETH/USD', { selfTrade: 'expire_maker' });
    await fund(engine, ALICE, { USD: 2n ** 58n, ETH: 2n ** 58n });
    for (const size of [LIMIT - 1n, LIMIT - 1n, ...Array.from({ length: 20 }, () => 3n)]) {
      await place(engine, ALICE, limit('ETH/USD', 'buy', 1, size));
    }
    const { order } = await place(engine, ALICE, limit('ETH/USD', 'sell', 1, 5, { timeInForce: 'IOC' }));
    expect(order.status).to.equal('expired');
    expect(await engine.orders.liveCount(ALICE)).to.equal(0);
    expect(await held(engine, ALICE, 'USD')).to.deep.equal([2n ** 58n, 0n]);
  });

  it('keeps balances past 2^53 atoms exact, and limits the supply to 2^62', async () => {
    const { engine, redis } = fixture;
    await publishPlain(engine, 'ETH/USD', { feeBps: 7 });
    const supply = 2n ** 62n;
    await fund(engine, ALICE, { USD: supply - 3n });
    await fund(engine, BOB, { USD: 2n, ETH: 11n });
    const credit = (atoms: bigint): Promise<unknown> =>
      engine.funds.move(movement('credited', CAROL, 'USD', atoms));
    expect(await refusedWithoutWriting(redis, () => credit(2n))).to.equal('SUPPLY_LIMIT');
    expect(await refusedWithoutWriting(redis, () => credit(supply))).to.equal('SUPPLY_LIMIT');
    expect(await refusedWithoutWriting(redis, () => credit(supply + 1n))).to.equal('INVALID_AMOUNT');
    expect(await refusedWithoutWriting(redis, () => credit(0n))).to.equal('INVALID_AMOUNT');
    await credit(1n);
    expect(await codeOf(credit(1n))).to.equal('SUPPLY_LIMIT');

    await place(engine, ALICE, limit('ETH/USD', 'buy', 3, 11));
    expect(await held(engine, ALICE, 'USD')).to.deep.equal([supply - 36n, 33n]);
    await place(engine, BOB, limit('ETH/USD', 'sell', 3, 10));
    expect(await held(engine, ALICE, 'USD')).to.deep.equal([supply - 36n, 3n]);
    expect(await held(engine, BOB, 'USD')).to.deep.equal([31n, 0n]);
    const debit = (atoms: bigint): Promise<unknown> =>
      engine.funds.move(movement('debited', ALICE, 'USD', atoms));
    expect(await refusedWithoutWriting(redis, () => debit(supply - 35n))).to.equal('INSUFFICIENT_BALANCE');
    await debit(supply - 36n);
    expect(await held(engine, ALICE, 'USD')).to.deep.equal([0n, 3n]);
    await expectConserved(engine, 'USD');
  });

  it('compares an order with a balance exactly, above and below 2^53', async () => {
    const { engine, redis } = fixture;
    await publishPlain(engine, 'ETH/USD');
    for (const atoms of [1n, LIMIT - 2n]) {
      await fund(engine, ALICE, { ETH: atoms });
      const tooMuch = limit('ETH/USD', 'sell', 1, atoms + 1n);
      expect(await refusedWithoutWriting(redis, () => place(engine, ALICE, tooMuch))).to.equal(
        'INSUFFICIENT_BALANCE',
      );
      await place(engine, ALICE, limit('ETH/USD', 'sell', 1, atoms));
      expect(await held(engine, ALICE, 'ETH')).to.deep.equal([0n, atoms]);
      await engine.orders.cancelAll(ALICE, 'ETH/USD');
      await engine.funds.move(movement('debited', ALICE, 'ETH', atoms));
    }
    expect(await dump(redis)).to.not.deep.equal({});
  });

  it('skips a member of a damaged book that has nothing left', async () => {
    const { engine, redis } = fixture;
    await publishPlain(engine, 'ETH/USD');
    await fund(engine, ALICE, { ETH: 10n });
    await fund(engine, BOB, { USD: 1_000n });
    const { id } = (await place(engine, ALICE, limit('ETH/USD', 'sell', 10, 1))).order;
    await place(engine, ALICE, limit('ETH/USD', 'sell', 11, 9));
    const [whole, empty] = [1n, 0n].map((steps) => writeBookMember(id, ALICE, steps));
    const asks = bookKey('ETH/USD', 'asks');
    expect(await redis.zrem(asks, whole!)).to.equal(1);
    await redis.zadd(asks, 0, empty!);
    for (const timeInForce of ['IOC', 'GTC'] as const) {
      const { trades } = await place(engine, BOB, limit('ETH/USD', 'buy', 11, 2, { timeInForce }));
      expect(trades.map(({ priceTicks, sizeSteps }) => [priceTicks, sizeSteps])).to.deep.equal([[11n, 2n]]);
      expect(await redis.zscore(asks, empty!)).to.equal('0');
    }
  });

  it('treats an amount that no engine can have written as none, and writes nothing', async () => {
    const { engine, redis } = fixture;
    await publishPlain(engine, 'ETH/USD');
    await fund(engine, BOB, { USD: 1_000n });
    const field = Buffer.concat([Buffer.from(BOB.slice(2), 'hex'), Buffer.from('a')]);
    for (const text of ['9'.repeat(20), '9'.repeat(30), `-${'9'.repeat(17)}`, '']) {
      await redis.hset(balancesKey('USD'), field, text);
      const before = await dump(redis);
      const error = await place(engine, BOB, limit('ETH/USD', 'buy', 10, 1)).catch(
        (failure: Error) => failure,
      );
      expect(String(error), text).to.match(/not an amount/);
      expect(await dump(redis), text).to.deep.equal(before);
    }
  });

  it('returns no withdrawal to a wallet that owes when the supply is no amount, and writes nothing', async () => {
    const { engine, redis } = fixture;
    await publishPlain(engine, 'ETH/USD');
    const deposit = movement('credited', BOB, 'USD', 10n);
    await engine.funds.move(deposit);
    const request = movement('requested', BOB, 'USD', 4n);
    await engine.funds.move(request);
    const reversal = { ...movement('debited', BOB, 'USD', 10n), reverses: deposit.reference };
    const asked = await engine.funds.move(reversal);
    if (asked.outcome !== 'unchecked') throw new Error(asked.outcome);
    await engine.funds.move(reversal, { ...asked.moment, leftAtoms: 10n });
    const supply = await redis.hget(balancesKey('USD'), 'supply');
    const returned = { ...request, kind: 'returned' } as const;
    for (const text of ['1 000', '9x', '-1', '9'.repeat(20)]) {
      await redis.hset(balancesKey('USD'), 'supply', text);
      const before = await dump(redis);
      const error = await engine.funds.move(returned).catch((failure) => failure);
      expect(String(error), text).to.match(/not an amount/);
      expect(await dump(redis), text).to.deep.equal(before);
    }
    await redis.hset(balancesKey('USD'), 'supply', supply!);
    expect(await engine.funds.move(returned)).to.deep.include({
      outcome: 'moved',
      movement: { ...returned, owedAtoms: 4n },
    });
    await expectConserved(engine, 'USD');
  });

  it('moves no funds when a balance or the supply is no amount, and writes nothing', async () => {
    const { engine, redis } = fixture;
    await publishPlain(engine, 'ETH/USD');
    await fund(engine, BOB, { USD: 1_000n });
    const available = Buffer.concat([Buffer.from(BOB.slice(2), 'hex'), Buffer.from('a')]);
    for (const field of [available, 'supply'])
      for (const text of ['007', '1 000', '-1', '9x', '9'.repeat(19)]) {
        const found = await redis.hgetBuffer(balancesKey('USD'), field);
        await redis.hset(balancesKey('USD'), field, text);
        for (const kind of ['credited', 'debited'] as const) {
          const before = await dump(redis);
          const error = await engine.funds.move(movement(kind, BOB, 'USD', 1n)).catch((failure) => failure);
          expect(String(error), `${kind} ${text}`).to.match(
            /not an amount|SUPPLY_LIMIT|INSUFFICIENT_BALANCE|2\^62/,
          );
          expect(await dump(redis), `${kind} ${text}`).to.deep.equal(before);
        }
        await redis.hset(balancesKey('USD'), field, found!);
      }
    await engine.funds.move(movement('credited', BOB, 'USD', 1n));
    await expectConserved(engine, 'USD');
  });
});
