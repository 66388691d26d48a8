/** Tests the rules that a replica applies to an order against plain integer arithmetic. */

import { expect } from 'chai';
import type { Market } from '../../src/domain/market.ts';
import { composeMarket } from '../../src/domain/market-rules.ts';
import { EXACT_LIMIT, feeAtomsOf, type MeasuredRequest, measureOrder } from '../../src/domain/placing.ts';
import { parseDecimal } from '../../src/domain/units.ts';
import { unitsOf } from '../proofs/equivalence/decimals.ts';
import { marketSpec } from '../support/market-spec.ts';
import { type Random, random, runSeed } from '../support/seed.ts';

const SPEC = marketSpec('AAA/BBB', {
  feeBps: 25,
  tickSize: '0.05',
  sizeStep: '0.002',
  minOrderSize: '0.01',
  maxOrderSize: '4000',
  minNotional: '1.7',
});
const MARKET = composeMarket(SPEC, 1, { symbol: 'AAA', scale: 6 }, { symbol: 'BBB', scale: 4 });

/** A random decimal near the grid, off it, or far above it. */
function decimal(dice: Random): string {
  const units = String(dice.below(10 ** (1 + dice.below(9))));
  const places = dice.below(6);
  if (places === 0) return units;
  const padded = units.padStart(places + 1, '0');
  return `${padded.slice(0, -places)}.${padded.slice(-places)}`;
}

const drawOrder = (dice: Random, price: string, size: string): MeasuredRequest => ({
  side: dice.pick(['buy', 'sell']),
  type: 'limit',
  timeInForce: 'GTC',
  postOnly: false,
  price: parseDecimal(price),
  size: parseDecimal(size),
  reduceOnly: false,
  leverage: null,
});

/** Returns the first rule that an order breaks, computed with integers of 10^-18; undefined if it breaks none. */
function brokenRule(market: Market, price: bigint, size: bigint): string | undefined {
  if (size <= 0n) return 'INVALID_ORDER';
  if (price % unitsOf(market.tick) !== 0n) return 'PRICE_TICK';
  if (size % unitsOf(market.step) !== 0n) return 'SIZE_STEP';
  if (size < unitsOf(market.minOrderSize!)) return 'ORDER_BELOW_MIN_SIZE';
  if (price * size < unitsOf(market.minNotional!) * 10n ** 18n) return 'ORDER_BELOW_MIN_SIZE';
  if (size > unitsOf(market.maxOrderSize!)) return 'ORDER_ABOVE_MAX_SIZE';
  const notional = (price * size * 10n ** 4n) / 10n ** 36n;
  const fee = (notional * BigInt(market.feeBps)) / 10_000n + 1n;
  return notional + fee > EXACT_LIMIT ? 'ORDER_ABOVE_MAX_SIZE' : undefined;
}

describe('an order before it reaches the engine', () => {
  it('is measured exactly, or rejected by the first rule that it breaks', () => {
    const dice = random(runSeed());
    const seen = new Set<string>();
    for (let round = 0; round < 6_000; round += 1) {
      const price = decimal(dice);
      const size = decimal(dice);
      if (unitsOf(price) === 0n) continue; // the request schema refuses it
      const expected = brokenRule(MARKET, unitsOf(price), unitsOf(size));
      const measured = measureOrder(drawOrder(dice, price, size), MARKET);
      const told = 'refusal' in measured ? measured.refusal.code : undefined;
      expect(told, `${size} at ${price}`).to.equal(expected);
      seen.add(told ?? 'admitted');
      if ('refusal' in measured) continue;
      const { priceTicks, sizeSteps } = measured.amounts;
      expect(priceTicks! * unitsOf(MARKET.tick)).to.equal(unitsOf(price));
      expect(sizeSteps! * unitsOf(MARKET.step)).to.equal(unitsOf(size));
    }
    expect([...seen]).to.include.members(['admitted', 'PRICE_TICK', 'SIZE_STEP', 'ORDER_ABOVE_MAX_SIZE']);
  });

  it('pays the smallest whole fee that covers its basis points', () => {
    const dice = random(runSeed());
    const edges = [0n, 1n, 9_999n, 10_000n, 10_001n, EXACT_LIMIT];
    const drawn = Array.from(
      { length: 2_000 },
      () => BigInt(dice.below(2 ** 31)) * BigInt(1 + dice.below(2 ** 21)),
    );
    for (const notional of [...edges, ...drawn]) {
      const bps = dice.below(1_001);
      const fee = feeAtomsOf(notional, bps);
      const owed = notional * BigInt(bps);
      expect(fee * 10_000n >= owed && (fee - 1n) * 10_000n < owed, `${notional} at ${bps}`).to.equal(true);
    }
  });
});
