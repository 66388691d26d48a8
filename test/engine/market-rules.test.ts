/** Tests which market rules can be published, and the resulting grid of amounts. */

import { expect } from 'chai';
import type { Asset } from '../../src/domain/market.ts';
import type { MarketSpec } from '../../src/domain/market-rules.ts';
import {
  ALICE,
  BOB,
  codeOf,
  type EngineFixture,
  fund,
  held,
  limit,
  openEngineFixture,
  place,
  refusalOf,
  refusedWithoutWriting,
  spec,
} from './fixture.ts';

type Rules = Pick<MarketSpec, 'tickSize' | 'sizeStep'> & { base: number; quote: number };

const rules = (base: number, quote: number, tickSize: string | null, sizeStep: string | null): Rules => ({
  base,
  quote,
  tickSize,
  sizeStep,
});

/** Scales of base and quote, tick and step; then the resulting grid. */
const PUBLISHED: readonly (readonly [Rules, tick: string, step: string])[] = [
  [rules(9, 6, '0.05', '0.003'), '0.05', '0.003'],
  [rules(0, 0, '1', '1'), '1', '1'],
  [rules(9, 9, '0.000000001', '1'), '0.000000001', '1'],
  [rules(9, 9, '1', '0.000000001'), '1', '0.000000001'],
  [rules(0, 9, '0.000000003', '7'), '0.000000003', '7'],
  [rules(0, 0, '3', null), '3', '1'],
  [rules(9, 0, '1', null), '1', '1'],
  [rules(9, 0, '0.5', null), '0.5', '2'],
  [rules(2, 3, '0.05', null), '0.05', '0.02'],
  [rules(9, 6, '0.05', null), '0.05', '0.00002'],
  [rules(3, 6, '0.3', null), '0.3', '0.001'],
  [rules(9, 6, null, '0.003'), '0.001', '0.003'],
  [rules(8, 6, null, '0.00000001'), '100', '0.00000001'],
  [rules(0, 0, null, '4'), '0.25', '4'],
  [rules(0, 9, null, '1000'), '0.000000000001', '1000'],
  [rules(6, 6, null, '0.7'), '0.00001', '0.7'],
];

/** Rules that cannot be exact, and the expected text of the refusal. */
const REFUSED: readonly (readonly [Rules, message: RegExp])[] = [
  [
    rules(8, 6, '0.01', '0.00001'),
    /tickSize 0\.01 x sizeStep 0\.00001 = 0\.0000001 .*tickSize to a multiple of 0\.1 .*sizeStep to a multiple of 0\.0001/,
  ],
  [rules(2, 6, '0.01', '0.001'), /sizeStep 0\.001 is not a whole number of ETH atoms .*multiple of 0\.01/],
  [rules(0, 6, '0.01', '0.5'), /sizeStep/],
  [rules(9, 0, '0.05', '0.003'), /tickSize .*multiple of 1000 .*sizeStep .*multiple of 20\b/],
  [rules(9, 9, null, null), /tickSize and sizeStep cannot both be null/],
  [rules(9, 9, '0', '1'), /tickSize must be a positive decimal/],
  [rules(9, 9, '1', '-1'), /sizeStep must be a positive decimal/],
  [rules(9, 9, 'NaN', '1'), /tickSize/],
  [rules(9, 9, '1e400', '1'), /tickSize/],
];

describe('engine: rules of markets', () => {
  let fixture: EngineFixture;

  beforeEach(async () => {
    fixture = await openEngineFixture();
  });
  afterEach(() => fixture.close());

  const publish = async ({ base, quote, tickSize, sizeStep }: Rules, own: Partial<MarketSpec> = {}) => {
    const scales: Asset[] = [
      { symbol: 'ETH', scale: base },
      { symbol: 'USD', scale: quote },
    ];
    for (const asset of scales) await fixture.engine.assets.set(asset);
    return fixture.engine.markets.create(spec('ETH/USD', { tickSize, sizeStep, ...own }));
  };

  for (const [published, tick, step] of PUBLISHED) {
    const { base, quote, tickSize, sizeStep } = published;
    it(`publishes the grid ${tick} and ${step} for scales ${base} and ${quote}, tick ${tickSize}, step ${sizeStep}`, async () => {
      const { engine } = fixture;
      const market = await publish(published);
      expect([market.tick, market.step]).to.deep.equal([tick, step]);
      // One step at one tick trades exactly, to the last atom.
      await fund(engine, ALICE, { ETH: market.baseAtomsPerStep });
      await fund(engine, BOB, { USD: market.quoteAtomsPerLot });
      await place(engine, ALICE, limit('ETH/USD', 'sell', tick, step));
      await place(engine, BOB, limit('ETH/USD', 'buy', tick, step));
      expect(await held(engine, ALICE, 'USD')).to.deep.equal([market.quoteAtomsPerLot, 0n]);
      expect(await held(engine, BOB, 'ETH')).to.deep.equal([market.baseAtomsPerStep, 0n]);
      const offTick = limit('ETH/USD', 'buy', half(tick), step);
      const offStep = limit('ETH/USD', 'buy', tick, half(step));
      expect(await codeOf(place(engine, BOB, offTick))).to.equal(
        tickSize ? 'PRICE_TICK' : 'VALIDATION_ERROR',
      );
      expect(await codeOf(place(engine, BOB, offStep))).to.equal(sizeStep ? 'SIZE_STEP' : 'VALIDATION_ERROR');
    });
  }

  for (const [refused, message] of REFUSED) {
    const { base, quote, tickSize, sizeStep } = refused;
    it(`rejects scales ${base} and ${quote}, tick ${tickSize}, step ${sizeStep}, and says what to change`, async () => {
      const refusal = await refusalOf(publish(refused));
      expect(refusal.code).to.equal('INVALID_MARKET');
      expect(refusal.message).to.match(message);
      // Publishing the same rules again writes nothing, because the scales are already set.
      const again = (): Promise<unknown> =>
        fixture.engine.markets.create(spec('ETH/USD', { tickSize, sizeStep }));
      expect(await refusedWithoutWriting(fixture.redis, again)).to.equal('INVALID_MARKET');
    });
  }

  it('accepts the values that a refusal recommends', async () => {
    const refusal = await refusalOf(publish(rules(8, 6, '0.01', '0.00001')));
    const [, tick, step] = /tickSize to a multiple of (\S+) or sizeStep to a multiple of (\S+)$/.exec(
      refusal.message,
    )!;
    const { engine } = fixture;
    await engine.markets.create(spec('ETH/USD', { tickSize: tick!, sizeStep: '0.00001' }));
    await engine.markets.create(spec('ETH/EUR', { tickSize: '0.01', sizeStep: step! }));
  });

  it('rounds the minimum size up and the maximum size down to whole steps', async () => {
    const { engine } = fixture;
    await publish(rules(9, 6, '0.05', '0.003'), { minOrderSize: '0.004', maxOrderSize: '0.0119' });
    await fund(engine, ALICE, { ETH: 10n ** 9n });
    const sizes = ['0.003', '0.006', '0.009', '0.012'];
    const codes: (string | undefined)[] = [];
    for (const size of sizes) {
      const placed = place(engine, ALICE, limit('ETH/USD', 'sell', '0.05', size));
      codes.push(
        await placed.then(
          () => undefined,
          (error) => error.code,
        ),
      );
    }
    expect(codes).to.deep.equal(['ORDER_BELOW_MIN_SIZE', undefined, undefined, 'ORDER_ABOVE_MAX_SIZE']);
  });

  it('buys whole steps with a quote amount on a grid that is not published', async () => {
    const { engine } = fixture;
    await publish(rules(2, 3, '0.05', null));
    await fund(engine, ALICE, { ETH: 1_000n });
    await fund(engine, BOB, { USD: 10_000n });
    await place(engine, ALICE, limit('ETH/USD', 'sell', '5.05', '1'));
    const request = { ...limit('ETH/USD', 'buy', 1, 1), type: 'market' as const };
    const { size: _size, price: _price, ...buy } = request;
    const { order } = await place(engine, BOB, { ...buy, quoteAmount: limit('', 'buy', '0.35', 1).price });
    // 0.35 / 5.05 = 0.0693: three steps of 0.02.
    expect([order.sizeSteps, order.status]).to.deep.equal([3n, 'filled']);
    expect(await held(engine, BOB, 'USD')).to.deep.equal([10_000n - 303n, 0n]);
  });

  it('rejects a quote amount that buys more than maxOrderSize, also when a single step is more', async () => {
    const { engine } = fixture;
    const market = await publish(rules(9, 6, '0.05', '0.003'));
    await fund(engine, ALICE, { ETH: 10n ** 9n });
    await fund(engine, BOB, { USD: 10n ** 9n });
    await place(engine, ALICE, limit('ETH/USD', 'sell', '5', '0.9'));
    const { size: _size, price: _price, ...buy } = limit('ETH/USD', 'buy', 1, 1);
    const request = { ...buy, type: 'market' as const, quoteAmount: limit('', 'buy', '1', 1).price };
    for (const maxOrderSize of ['0.1', '0.002']) {
      await engine.markets.change(market.symbol, { maxOrderSize });
      expect(await codeOf(place(engine, BOB, request)), maxOrderSize).to.equal('ORDER_ABOVE_MAX_SIZE');
    }
    expect(await held(engine, BOB, 'USD')).to.deep.equal([10n ** 9n, 0n]);
  });
});

/** Half of a plain decimal that begins with digits. */
function half(text: string): string {
  const places = (text.split('.')[1] ?? '').length + 1;
  const digits = BigInt(text.replace('.', '')) * 5n;
  const padded = digits.toString().padStart(places + 1, '0');
  return `${padded.slice(0, -places)}.${padded.slice(-places)}`;
}
