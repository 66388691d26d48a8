/**
 * Before an order is sent, the order form shows its fills, fee, reservation, balances and refusals. The engine then does
 * the same, to the atom, on books with one order a level, own orders among them.
 */

import { expect } from 'chai';
import { Refusal } from '../../src/domain/errors.ts';
import type { Market } from '../../src/domain/market.ts';
import { marketGrid } from '../../src/domain/market-grid.ts';
import type { MarketSpec } from '../../src/domain/market-rules.ts';
import { baseAtoms, notionalAtoms, rejectReasonOf } from '../../src/domain/order.ts';
import { feeAtomsOf } from '../../src/domain/placing.ts';
import { rulesOf } from '../../src/domain/published-rules.ts';
import { formatCount, formatGrid, formatScaled } from '../../src/domain/units.ts';
import { type DraftTexts, type ReadDraft, readDraft } from '../../src/web/figures/draft-request.ts';
import { type Level, type Preview, previewOrder } from '../../src/web/figures/preview.ts';
import { shareSteps } from '../../src/web/figures/shares.ts';
import { PLAIN_STYLE } from '../../src/web/figures/typed-amount.ts';
import {
  ALICE,
  BOB,
  codeOf,
  type EngineFixture,
  fund,
  held,
  limit,
  movement,
  openEngineFixture,
  place,
  spec,
} from '../engine/fixture.ts';
import { type Random, random as randomOf, runSeed } from '../support/seed.ts';

interface Grid {
  readonly name: string;
  readonly scales: readonly [base: number, quote: number];
  readonly rules: Partial<MarketSpec>;
  /** Around which prices lie, in ticks. */
  readonly middle: bigint;
}

const GRIDS: readonly Grid[] = [
  {
    name: 'tick 0.000001, step 1',
    scales: [0, 8],
    rules: { tickSize: '0.000001', sizeStep: '1', feeBps: 7 },
    middle: 35n,
  },
  {
    name: 'scales 0 and 0',
    scales: [0, 0],
    rules: { tickSize: '1', sizeStep: '1', feeBps: 25, minOrderSize: '3' },
    middle: 60n,
  },
  {
    name: 'scales 9 and 9',
    scales: [9, 9],
    rules: { tickSize: '0.001', sizeStep: '0.000001', feeBps: 3, maxOrderSize: '0.00005' },
    middle: 2_000_000n,
  },
  {
    name: 'prices of 1e9',
    scales: [8, 2],
    rules: { tickSize: '1000', sizeStep: '0.00001', feeBps: 10 },
    middle: 1_000_000n,
  },
  {
    name: 'tickSize null',
    scales: [4, 6],
    rules: { tickSize: null, sizeStep: '0.004', feeBps: 1_000 },
    middle: 400_000n,
  },
];
const CASES = 12;
const FUNDS = 10n ** 12n;

describe('the preview of an order', () => {
  let fixture: EngineFixture;
  before(async () => {
    fixture = await openEngineFixture();
  });
  after(() => fixture.close());

  for (const [index, grid] of GRIDS.entries()) {
    it(`predicts what placing does: ${grid.name}`, async () => {
      const random = randomOf(runSeed() + index);
      const market = await publish(fixture, index, grid);
      for (let round = 0; round < CASES; round += 1) await tryOne(fixture, market, grid.middle, random);
    });
  }

  it('buys the largest size that the balance pays for', async () => {
    for (const [index, grid] of GRIDS.entries()) {
      const market = await publish(fixture, index + GRIDS.length, grid);
      await tryShare(fixture, market, grid.middle);
    }
  });
});

/** Publishes a market, and returns its rules as the page makes them of the published record. */
async function publish({ engine }: EngineFixture, index: number, grid: Grid): Promise<Market> {
  const base = `B${index}`;
  const quote = `Q${index}`;
  await engine.assets.set({ symbol: base, scale: grid.scales[0] });
  await engine.assets.set({ symbol: quote, scale: grid.scales[1] });
  const market = await engine.markets.create(
    spec(`${base}/${quote}`, { ...grid.rules, referencePrice: '1' }),
  );
  await fund(engine, BOB, { [base]: FUNDS, [quote]: FUNDS });
  await fund(engine, ALICE, { [base]: FUNDS / 10n, [quote]: FUNDS / 10n });
  const rules = rulesOf({
    ...market,
    takerFeeBps: market.feeBps,
    priceIncrement: market.tick,
    sizeIncrement: market.step,
    baseToken: base,
    quoteToken: quote,
    baseScale: grid.scales[0],
    quoteScale: grid.scales[1],
  });
  const { quoteAtomsPerLot, baseAtomsPerStep, tick, step } = rules;
  expect({ quoteAtomsPerLot, baseAtomsPerStep, tick, step }).to.deep.equal({
    quoteAtomsPerLot: market.quoteAtomsPerLot,
    baseAtomsPerStep: market.baseAtomsPerStep,
    tick: market.tick,
    step: market.step,
  });
  return rules;
}

/** Offers at up to five prices on the side that the order meets, best first: of BOB, and some of ALICE herself. */
async function fillBook(
  { engine }: EngineFixture,
  market: Market,
  side: 'buy' | 'sell',
  middle: bigint,
  random: Random,
): Promise<{ levels: Level[]; own: Map<bigint, bigint> }> {
  const { tick, step } = marketGrid(market);
  const direction = side === 'buy' ? 1n : -1n;
  const levels: Level[] = [];
  const own = new Map<bigint, bigint>();
  for (let away = 1n; away <= 5n; away += 1n) {
    if (random.chance(0.25)) continue;
    const level = { priceTicks: middle + direction * away, sizeSteps: BigInt(3 + random.below(10)) };
    const offer = side === 'buy' ? 'sell' : 'buy';
    const order = limit(
      market.symbol,
      offer,
      formatCount(level.priceTicks, tick),
      formatCount(level.sizeSteps, step),
    );
    const isOwn = random.chance(0.15);
    await place(engine, isOwn ? ALICE : BOB, order);
    if (isOwn) own.set(level.priceTicks, level.sizeSteps);
    levels.push(level);
  }
  return { levels, own };
}

function drawTexts(market: Market, side: 'buy' | 'sell', middle: bigint, random: Random): DraftTexts {
  const { tick, step } = marketGrid(market);
  const type = random.pick(['limit', 'limit', 'market'] as const);
  const isQuote = type === 'market' && side === 'buy' && random.chance(0.5);
  const postOnly = type === 'limit' && random.chance(0.25);
  const price = formatCount(middle + BigInt(random.below(13) - 6), tick);
  const lot = market.quoteAtomsPerLot;
  const spent = formatScaled(
    middle * BigInt(random.below(41)) * lot + BigInt(random.below(Number(lot < 1000n ? lot : 1000n))) + 1n,
    market.quote.scale,
  );
  return {
    side,
    type,
    style: PLAIN_STYLE,
    postOnly,
    clientOrderId: '',
    timeInForce: postOnly ? 'GTC' : random.pick(['GTC', 'IOC', 'FOK'] as const),
    // A comma stands for the point, unless it could separate thousands.
    price: random.chance(0.5) || /\.\d{3}$/.test(price) ? price : price.replace('.', ','),
    size: isQuote ? '' : formatCount(BigInt(1 + random.below(40)), step),
    amount: isQuote ? spent : '',
  };
}

interface Funds {
  readonly base: readonly [available: bigint, reserved: bigint];
  readonly quote: readonly [available: bigint, reserved: bigint];
}

const fundsOf = async ({ engine }: EngineFixture, market: Market): Promise<Funds> => ({
  base: await held(engine, ALICE, market.base.symbol),
  quote: await held(engine, ALICE, market.quote.symbol),
});

function previewOf(
  market: Market,
  texts: DraftTexts,
  draft: ReadDraft,
  book: { readonly levels: Level[]; readonly own: Map<bigint, bigint> },
  funds: Funds,
) {
  if (draft.amounts === null) return null;
  const [available] = texts.side === 'buy' ? funds.quote : funds.base;
  return previewOrder(market, texts, draft.amounts, { ...book, isCut: false }, available);
}

async function tryOne(fixture: EngineFixture, market: Market, middle: bigint, random: Random): Promise<void> {
  const { engine } = fixture;
  const side = random.pick(['buy', 'sell'] as const);
  const book = await fillBook(fixture, market, side, middle, random);
  const texts = drawTexts(market, side, middle, random);
  const before = await fundsOf(fixture, market);
  const draft = readDraft(texts, market);
  const preview = previewOf(market, texts, draft, book, before);
  const told = JSON.stringify({
    texts,
    levels: book.levels.map((level) => `${level.priceTicks} x ${level.sizeSteps}`),
    own: [...book.own.keys()].map(String),
  });
  const answer = await engine.orders
    .place({ wallet: ALICE, request: { ...draft.request!, market: market.symbol, clientOrderId: null } })
    .catch((error: unknown) => error);
  if (answer instanceof Refusal) {
    expect(draft.problems[0]?.code ?? preview?.refusal, told).to.equal(answer.code);
  } else {
    const placement = answer as Awaited<ReturnType<typeof place>>;
    expect(preview, told).to.not.equal(null);
    expectSame(preview!, placement, before, await fundsOf(fixture, market), texts.side, told);
  }
  for (const wallet of [ALICE, BOB]) await engine.orders.cancelAll(wallet, market.symbol);
}

function expectSame(
  preview: Preview,
  placement: Awaited<ReturnType<typeof place>>,
  before: Funds,
  after: Funds,
  side: 'buy' | 'sell',
  told: string,
): void {
  const { order, trades } = placement;
  const rejectReason = rejectReasonOf(order);
  expect(preview.refusal, told).to.equal(null);
  expect(preview.rejectReason, told).to.equal(rejectReason);
  if (rejectReason !== null) return;
  const sum = (atoms: (trade: (typeof trades)[number]) => bigint): bigint =>
    trades.reduce((total, trade) => total + atoms(trade), 0n);
  const { walk } = preview;
  const filled = sum((trade) => trade.sizeSteps);
  expect([walk.levels, walk.steps], told).to.deep.equal([trades.length, filled]);
  expect([walk.notionalAtoms, walk.feeAtoms], told).to.deep.equal([
    sum(notionalAtoms),
    sum((trade) => trade.feeAtoms),
  ]);
  expect(walk.worstTicks, told).to.equal(trades.at(-1)?.priceTicks ?? null);
  const isLive = order.status === 'resting' || order.status === 'partially_filled';
  expect(preview.restingSteps, told).to.equal(isLive ? order.sizeSteps - order.filledSteps : 0n);
  const [paid, got] = side === 'buy' ? (['quote', 'base'] as const) : (['base', 'quote'] as const);
  expect(after[paid], told).to.deep.equal([
    before[paid][0] - preview.neededAtoms,
    before[paid][1] + preview.reservedAtoms,
  ]);
  expect(after[got], told).to.deep.equal([before[got][0] + preview.receivedAtoms, before[got][1]]);
  if (side === 'buy') expect(preview.receivedAtoms, told).to.equal(sum(baseAtoms));
}

/** The share of 100 percent is accepted by the engine, and one more step is not, with and without an atom to spare. */
async function tryShare(fixture: EngineFixture, market: Market, middle: bigint): Promise<void> {
  const { engine } = fixture;
  await engine.markets.change(market.symbol, { minOrderSize: null, minNotional: null });
  const asked = { side: 'buy', type: 'limit', timeInForce: 'GTC', postOnly: false } as const;
  const { tick, step } = marketGrid(market);
  const offers = [middle + 1n, middle + 1n, middle + 2n, middle + 2n];
  const lot = market.quoteAtomsPerLot;
  const fillAtoms = (ticks: bigint): bigint => ticks * lot + feeAtomsOf(ticks * lot, market.feeBps);
  const need = offers.reduce((sum, ticks) => sum + fillAtoms(ticks), 3n * (middle + 3n) * lot);
  for (const available of [need, need - 1n]) {
    // One order for each step: the fees of a level are rounded up as often as they can be.
    for (const ticks of offers) {
      await place(engine, BOB, limit(market.symbol, 'sell', formatCount(ticks, tick), formatGrid(step)));
    }
    const levels = [1n, 2n].map((away) => ({ priceTicks: middle + away, sizeSteps: 2n }));
    const other = { levels, isCut: false, own: new Map<bigint, bigint>() };
    const [funds] = await held(engine, ALICE, market.quote.symbol);
    await engine.funds.move(movement('debited', ALICE, market.quote.symbol, funds - available));
    const steps = shareSteps(market, asked, middle + 3n, other, available, 100);
    expect(steps, market.symbol).to.equal(available === need ? 7n : 6n);
    const buy = (size: bigint) =>
      limit(market.symbol, 'buy', formatCount(middle + 3n, tick), formatCount(size, step));
    expect(await codeOf(engine.orders.place({ wallet: ALICE, request: buy(steps + 1n) }))).to.equal(
      'INSUFFICIENT_BALANCE',
    );
    await place(engine, ALICE, buy(steps));
    for (const wallet of [ALICE, BOB]) await engine.orders.cancelAll(wallet, market.symbol);
    await fund(engine, ALICE, { [market.quote.symbol]: need });
  }
}
