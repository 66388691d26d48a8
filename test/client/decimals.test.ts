/** Tests the exact helpers against arithmetic on integers, and what they refuse. */

import { expect } from 'chai';
import {
  add,
  compare,
  costOf,
  type Market,
  multiply,
  RedbookError,
  roundToStep,
  roundToTick,
  subtract,
} from '../../src/client/index.ts';
import { unitsOf, writeDecimal } from '../proofs/equivalence/decimals.ts';
import { random, runSeed } from '../support/seed.ts';

const MARKET = {
  symbol: 'ETH/USDC',
  baseToken: 'ETH',
  quoteToken: 'USDC',
  baseScale: 8,
  quoteScale: 6,
  priceIncrement: '0.05',
  sizeIncrement: '0.0001',
  takerFeeBps: 10,
} as Market;
const BID = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: '2000.05', size: '0.1000' } as const;

describe('the exact helpers', () => {
  it('add, subtract, multiply and compare as integers do', () => {
    const dice = random(runSeed());
    const draw = (): string => `${dice.below(10 ** 9)}.${String(dice.below(10 ** 9)).padStart(9, '0')}`;
    for (let round = 0; round < 300; round += 1) {
      const a = draw();
      const b = dice.chance(0.1) ? '0' : draw();
      const one = unitsOf(a);
      const other = unitsOf(b);
      const results = [add(a, b), subtract(a, b), multiply(a, b), compare(a, b), compare(a, `${a}0`)];
      expect(results, `${a} ${b}`).to.deep.equal([
        writeDecimal(one + other),
        writeDecimal(one - other),
        writeDecimal((one * other) / 10n ** 18n),
        one < other ? -1 : one > other ? 1 : 0,
        0,
      ]);
    }
    expect([add('0.1', '0.2'), subtract('1', '1.0'), multiply('-0.5', '2e1')]).to.deep.equal([
      '0.3',
      '0',
      '-10',
    ]);
  });

  it('round to the market’s grid in the given direction', () => {
    const rows = [
      ['2000.07', '2000.05', '2000.1', '2000.05'],
      ['2000.075', '2000.05', '2000.1', '2000.1'],
      ['2000.0999999999999999999', '2000.05', '2000.1', '2000.1'],
      ['2000.050', '2000.05', '2000.05', '2000.05'],
      ['0.01', '0', '0.05', '0'],
    ] as const;
    for (const [price, ...expected] of rows)
      expect(
        (['down', 'up', 'nearest'] as const).map((way) => roundToTick(MARKET, price, way)),
        price,
      ).to.deep.equal(expected);
    expect(roundToStep(MARKET, '0.12349999')).to.equal('0.1234');
    expect(roundToStep(MARKET, '0.12340001', 'up')).to.equal('0.1235');
  });

  it('tell what an order costs at most', () => {
    const cost = { asset: 'USDC', notional: '200.005', fee: '0.200005', amount: '200.205005' };
    expect(costOf(MARKET, BID)).to.deep.equal(cost);
    expect(costOf(MARKET, { ...BID, postOnly: true })).to.include({ fee: '0', amount: '200.005' });
    expect(costOf(MARKET, { ...BID, side: 'sell' })).to.deep.equal({ ...cost, asset: 'ETH', amount: '0.1' });
    const spending = { market: 'ETH/USDC', side: 'buy', type: 'market', quoteAmount: '250.0000019' } as const;
    expect(costOf(MARKET, spending)).to.include({ notional: '250.000001', fee: '0.250001' });
  });

  it('refuse what is no decimal, or off the grid', () => {
    const calls: (() => unknown)[] = [
      ...['', '1,5', 'x', '1e999999', 'NaN', 0.1, null].flatMap((text) => [
        () => add(text as string, '1'),
        () => subtract('1', text as string),
        () => multiply(text as string, '1'),
        () => compare('1', text as string),
        () => roundToTick(MARKET, text as string, 'up'),
      ]),
      () => roundToStep(MARKET, '-1'),
      () => costOf(MARKET, { ...BID, price: '2000.06' }),
      () => costOf(MARKET, { ...BID, size: '0.00001' }),
    ];
    for (const call of calls) {
      let thrown: unknown;
      try {
        call();
      } catch (error) {
        thrown = error;
      }
      expect(thrown, String(call)).to.be.instanceOf(RedbookError).and.include({ code: 'INVALID_ARGUMENT' });
    }
  });
});
