/** The order form reads, steps and words amounts, and the account's lists add up. */

import { expect } from 'chai';
import type { Market } from '../../src/domain/market.ts';
import { rulesOf } from '../../src/domain/published-rules.ts';
import { formatDecimal, gridOf } from '../../src/domain/units.ts';
import { type DraftTexts, readDraft } from '../../src/web/figures/draft-request.ts';
import { questionBefore } from '../../src/web/figures/guard.ts';
import { impactOf, referenceOf } from '../../src/web/figures/impact.ts';
import { planOrder } from '../../src/web/figures/order-plan.ts';
import { describeOrder } from '../../src/web/figures/order-words.ts';
import { EMPTY_LIST, itemsOf, type PagedList, without, withPage } from '../../src/web/figures/paged-list.ts';
import { type OtherSide, previewOrder } from '../../src/web/figures/preview.ts';
import { stepped } from '../../src/web/figures/stepping.ts';
import { PLAIN_STYLE, readAmount, withoutUnit } from '../../src/web/figures/typed-amount.ts';
import { unlistedReserves } from '../../src/web/figures/unlisted-reserves.ts';

const PUBLISHED = {
  symbol: 'ETH/USDC',
  status: 'active',
  tradingEnabled: true,
  sellEnabled: true,
  takerFeeBps: 10,
  tickSize: '0.01',
  sizeStep: '0.0001',
  priceIncrement: '0.01',
  sizeIncrement: '0.0001',
  minOrderSize: '0.001',
  maxOrderSize: null,
  minNotional: null,
  baseToken: 'ETH',
  quoteToken: 'USDC',
  baseScale: 8,
  quoteScale: 6,
  networkId: '1',
} as const;
const ETH: Market = rulesOf(PUBLISHED);

const texts = (own: Partial<DraftTexts>): DraftTexts => ({
  style: PLAIN_STYLE,
  side: 'buy',
  type: 'limit',
  price: '2000',
  size: '0.5',
  amount: '',
  clientOrderId: '',
  timeInForce: 'GTC',
  postOnly: false,
  ...own,
});

const problemsOf = (own: Partial<DraftTexts>): string[] =>
  readDraft(texts(own), ETH).problems.map(({ field, code }) => `${field} ${code}`);

describe('the order form reads', () => {
  const read = (text: string): string | undefined => {
    const amount = readAmount(text);
    return amount && formatDecimal(amount);
  };

  it('a comma as the point, and thousands as people write and paste them', () => {
    for (const [plain, ...typed] of [
      ['2000.05', ' 2000,05 ', '2,000.05', '2.000,05', '2 000,05', '2\u202f000.05', '2’000.05', '$2,000.05'],
      ['0.5', '.5', '0,500', '0.5 €'],
      ['1000.125', '1000,125', '1,000.125'],
      ['1234567', '1,234,567', '1.234.567', "1'234'567", '12,34,567'],
      ['1000', '1 000', '1,000.'],
      ['0.1000000000000000000000000000000000000001', '0.1000000000000000000000000000000000000001'],
    ])
      for (const text of typed) expect(read(text), text).to.equal(plain);
    expect([withoutUnit('5 eth', 'ETH'), withoutUnit('5 k', 'ETH')]).to.deep.equal(['5', '5 k']);
  });

  it('digits and signs of other scripts, and what pasted figures carry unseen', () => {
    for (const [plain, ...typed] of [
      ['1234.5', '١٢٣٤٫٥', '۱۲۳۴٫۵', '１２３４．５', '१२३४.५', '𝟏𝟐𝟑𝟒.𝟓', '١٬٢٣٤٫٥'],
      [
        '1234567.5',
        '१२,३४,५६७.५',
        '\u200e1,234,567.5\u200f',
        '1\u2009234\u2009567,5',
        '\ufeff1\u00ad234567.5',
      ],
      ['0.5', '\u2066٠٫٥\u2069', '₹0.5', '0.5\u00a0₺', '\u200b.5'],
    ])
      for (const text of typed) expect(read(text), text).to.equal(plain);
  });

  it('a point before three digits as thousands or not at all, where a country groups by points', () => {
    const german = { decimal: ',', group: '.' };
    const problem = (own: Partial<DraftTexts>): string | undefined =>
      readDraft(texts(own), ETH).problems[0]?.message;
    const twoWays = 'price can be read in two ways: write 2990 or 2,9900';
    expect(problem({ style: german, price: '2.990' })).to.equal(twoWays);
    expect(problem({ style: german, price: '2,990' })).to.equal(undefined);
    expect(problem({ style: german, price: '2.990,5' })).to.equal(undefined);
    // A tick of 0.01 gives no third decimal, and a step of 0.0001 does.
    const plainGerman = { decimal: '.', group: '.' };
    expect(problem({ style: plainGerman, price: '2.990' })).to.include('write 2990 or 2.9900');
    expect(problem({ style: plainGerman, size: '1.999' })).to.equal(undefined);
    expect(problem({ style: german, size: '1,999' })).to.equal(undefined);
    expect(problem({ style: german, size: '1.999' })).to.include('write 1999 or 1,9990');
  });

  it('nothing that can be read in two ways, and nothing else', () => {
    for (const unread of ['1,999', '12,000', '999,999', '1,00.5', '1 00', '1,2,3', '1 000 00', '5 k']) {
      expect(problemsOf({ size: unread }), unread).to.deep.equal(['size VALIDATION_ERROR']);
    }
    for (const unread of ['1e3', '-1', 'NaN', '0x10', ',', '1.000,5,5', "1'000 000"]) {
      expect(problemsOf({ size: unread }), unread).to.deep.equal(['size VALIDATION_ERROR']);
    }
  });

  it('a quote amount as the whole steps that it pays for at the price', () => {
    const sized = (own: Partial<DraftTexts>) =>
      readDraft(texts({ size: '', ...own }), ETH).amounts?.sizeSteps;
    expect(sized({ amount: '1,000.1' })).to.equal(5_000n);
    expect(sized({ side: 'sell', amount: '1000.39' })).to.equal(5_001n);
    expect(problemsOf({ size: '', amount: '0.19' })).to.deep.equal(['amount QUOTE_AMOUNT_TOO_SMALL']);
    expect(problemsOf({ size: '', amount: '1' })).to.deep.equal(['amount ORDER_BELOW_MIN_SIZE']);
    expect(problemsOf({ size: '', amount: '1', price: '' })).to.deep.equal(['price INVALID_ORDER']);
  });

  it('a value below the smallest of the market as a wrong size or amount', () => {
    const market = rulesOf({ ...PUBLISHED, minNotional: '1000.01' });
    const problems = (own: Partial<DraftTexts>): string[] =>
      readDraft(texts(own), market).problems.map(({ field, code }) => `${field} ${code}`);
    expect(problems({ size: '0.5' })).to.deep.equal(['size ORDER_BELOW_MIN_SIZE']);
    expect(problems({ size: '0.5001' })).to.deep.equal([]);
    expect(problems({ size: '0.6', price: '' })).to.deep.equal(['price INVALID_ORDER']);
    const spent = { type: 'market', price: '', size: '' } as const;
    expect(problems({ ...spent, amount: '1000' })).to.deep.equal(['amount ORDER_BELOW_MIN_SIZE']);
    expect(problems({ ...spent, amount: '1000.01' })).to.deep.equal([]);
  });

  it('each refusal beside its field, one wrong field not hiding another', () => {
    expect(problemsOf({ price: '2000.001', size: '0.00005' })).to.deep.equal([
      'price PRICE_TICK',
      'size SIZE_STEP',
    ]);
    expect(problemsOf({ size: '0.0001' })).to.deep.equal(['size ORDER_BELOW_MIN_SIZE']);
    expect(problemsOf({ size: '0' })).to.deep.equal(['size INVALID_ORDER']);
    expect(problemsOf({ price: '', size: '' })).to.deep.equal(['price INVALID_ORDER', 'size INVALID_ORDER']);
    expect(problemsOf({ type: 'market', price: '', size: '', amount: '0,5' })).to.deep.equal([]);
    expect(problemsOf({ clientOrderId: 'x'.repeat(129) })).to.deep.equal(['clientOrderId VALIDATION_ERROR']);
    expect(problemsOf({ price: '123456789', size: '123456789' })).to.deep.equal([
      'size ORDER_ABOVE_MAX_SIZE',
    ]);
  });
});

describe('arrow keys in an amount', () => {
  it('go to the next multiple of the grid, and never below one unit', () => {
    const grid = gridOf('0.05')!;
    expect(stepped('2000', PLAIN_STYLE, grid, 1, 1n)).to.equal('2000.05');
    expect(stepped('2000', PLAIN_STYLE, grid, -1, 1n)).to.equal('1999.95');
    expect(stepped('2000,02', PLAIN_STYLE, grid, 1, 1n)).to.equal('2000.05');
    expect(stepped('2000.02', PLAIN_STYLE, grid, -1, 1n)).to.equal('2000');
    expect(stepped('0.05', PLAIN_STYLE, grid, -1, 1n)).to.equal('0.05');
    expect(stepped('', PLAIN_STYLE, grid, 1, 40n)).to.equal('2');
    expect(stepped('abc', PLAIN_STYLE, gridOf('1000')!, -1, 0n)).to.equal('1000');
  });
});

describe('the preview in words', () => {
  const asks: OtherSide = {
    levels: [
      { priceTicks: 200_000n, sizeSteps: 1_000n },
      { priceTicks: 200_005n, sizeSteps: 3_333n },
    ],
    isCut: false,
    own: new Map([[200_005n, 333n]]),
  };
  const plannedOf = (own: Partial<DraftTexts>, availableAtoms: bigint) => {
    const draft = texts(own);
    const { amounts } = readDraft(draft, ETH);
    const preview = previewOrder(ETH, draft, amounts!, asks, availableAtoms);
    const plan = planOrder(ETH, draft, amounts!, preview.walk, 100n);
    const book = { bids: [{ price: '1999' }], asks: [{ price: '2000' }] };
    const impact =
      plan && impactOf(ETH, draft, preview.walk, plan, referenceOf(book, undefined, gridOf('0.01')!)!);
    return { market: ETH, texts: draft, preview, plan, impact, availableAtoms, slippage: '1' };
  };
  const wordsOf = (own: Partial<DraftTexts>, available: bigint) => describeOrder(plannedOf(own, available));

  it('shows exact literals, the levels, and where a figure is a bound', () => {
    const words = wordsOf({ price: '2000.05', size: '0.5' }, 5_000_000_000n);
    expect(words.sentence).to.equal('Buy 0.5 ETH at 2000.05 USDC or better, until cancelled.');
    expect(words.figures.map(({ value }) => value)).to.deep.equal([
      '800.815015 USDC',
      '0.800015 USDC',
      '4199.184985 USDC',
    ]);
    expect(words.details.map(({ value }) => value)).to.deep.equal(['800.815015 USDC', '0.4 ETH', '0 USDC']);
    expect(words.impact).to.deep.equal({ alarm: 'usual', text: 'Impact 0.02 %' });
    expect(words.notes.join(' ')).to.include('average 2000.0375, worst 2000.05');
    expect(words.notes.join(' ')).to.include('Your own sell order at 2000.05 is in the way');
    expect(words.notes.join(' ')).to.not.include('would rest');
    const restful = wordsOf({ price: '2000', size: '0.5' }, 5_000_000_000n);
    expect(restful.notes.join(' ')).to.include('0.4 ETH would rest, free of a fee.');
    expect(words.warning).to.equal(null);
  });

  it('says what the service would refuse, and what is missing', () => {
    const short = wordsOf({ price: '1990', size: '1' }, 1_000_000_000n);
    expect(short.warning).to.deep.equal({
      code: 'INSUFFICIENT_BALANCE',
      text: 'it needs 1990 USDC, and 1000 USDC is available',
    });
    expect(short.figures.at(-1)?.value).to.equal('990 USDC short');
    expect(wordsOf({ price: '2001', postOnly: true }, 10n ** 12n).warning?.code).to.equal(
      'POST_ONLY_WOULD_CROSS',
    );
    expect(wordsOf({ size: '9', timeInForce: 'FOK' }, 10n ** 12n).warning?.code).to.equal('FOK_NOT_FILLED');
  });

  it('sends a market order as a limit order that never rests, at the worst price shown and the slippage', () => {
    const market = { type: 'market', price: '' } as const;
    expect(plannedOf({ ...market, size: '0.3' }, 10n ** 12n).plan?.order).to.deep.include({
      type: 'limit',
      timeInForce: 'IOC',
      price: '2020.05',
      size: '0.3',
    });
    expect(wordsOf({ ...market, size: '0.3' }, 10n ** 12n).sentence).to.equal(
      'Buy 0.3 ETH at 2020.05 USDC or better (the worst price shown and 1 %), the rest is dropped.',
    );
    const byAmount = plannedOf({ ...market, size: '', amount: '300' }, 10n ** 12n).plan;
    expect(byAmount?.order).to.deep.include({ price: '2020.05', size: '0.1499' });
    const fok = plannedOf({ ...market, side: 'sell', size: '0.1', timeInForce: 'FOK' }, 10n ** 12n).plan;
    expect(fok?.order).to.deep.include({ timeInForce: 'FOK', price: '1980', size: '0.1' });
  });

  it('asks before a loss from the chosen one on, and tells it in quote', () => {
    const questionOf = (own: Partial<DraftTexts>, askAt: '1' | 'always' | 'never', isBookLive = true) => {
      const { texts: draft, preview, ...planned } = plannedOf(own, 10n ** 12n);
      const guarded = { ...planned, plan: planned.plan!, type: draft.type, walk: preview.walk, isBookLive };
      return questionBefore({ ...guarded, words: 'Words.' }, askAt);
    };
    const far = questionOf({ price: '20000', size: '0.1' }, '1');
    expect(far.question.title).to.equal('Buy up to 900.25 % above the mid?');
    expect(far.question.text).to.equal(
      'Words. The mid is 1999.5. The fills shown average 2000, 0.02 % above it: 0.05 USDC lost. ' +
        'The limit allows 20000, 900.25 % above it: at most 1800.05 USDC lost.',
    );
    expect(far.mustAsk).to.equal(true);
    expect(questionOf({ price: '20000', size: '0.1' }, 'never').mustAsk).to.equal(false);
    expect(questionOf({ price: '2000', size: '0.1' }, '1').mustAsk).to.equal(false);
    expect(questionOf({ price: '1999', size: '0.1' }, '1').mustAsk).to.equal(false);
    const plain = questionOf({ price: '1999', size: '0.1' }, 'always');
    expect([plain.question.title, plain.mustAsk]).to.deep.equal(['Send this order?', true]);
    const stale = questionOf({ price: '2000', size: '0.1' }, '1', false);
    expect(stale.question.text).to.include('not up to date');
    expect(stale.mustAsk).to.equal(true);
  });

  it('rounds an average against the reader', () => {
    const average = (side: 'buy' | 'sell'): string =>
      wordsOf({ side, type: 'market', price: '', size: '0.3' }, 10n ** 12n).notes[0]!;
    expect(average('buy')).to.include('average about 2000.0334');
    expect(average('sell')).to.include('average about 2000.0333');
  });
});

describe('the lists of the account', () => {
  interface Item {
    readonly id: string;
    readonly createdAt: string;
  }
  const items = (...numbers: number[]): Item[] =>
    numbers.map((at) => ({
      id: String(at),
      createdAt: `2026-01-01T00:00:00.${String(at).padStart(3, '0')}Z`,
    }));
  const idsOf = (list: PagedList<Item>): string =>
    itemsOf(list)
      .map(({ id }) => id)
      .join(' ');

  it('lose no item that new ones push off a page before the next page is read again', () => {
    let list: PagedList<Item> = withPage<Item>(EMPTY_LIST, 0, items(9, 8, 7), 'after 7');
    list = withPage(list, 1, items(6, 5, 4), 'after 4');
    list = withPage(list, 0, items(11, 10, 9), 'after 9');
    expect(idsOf(list)).to.equal('11 10 9 8 7 6 5 4');
    // Item 8 was closed meanwhile, and the second page tells.
    list = withPage(list, 1, items(7, 6, 5), 'after 5');
    expect(idsOf(list)).to.equal('11 10 9 7 6 5');
    expect(idsOf(without(list, new Set(['9', '6'])))).to.equal('11 10 7 5');
    expect(idsOf(withPage(list, 0, items(11), null))).to.equal('11');
  });

  it('hold what orders that are not loaded still reserve', () => {
    const balances = [
      { asset: 'USDC', reserved: '1200.5' },
      { asset: 'ETH', reserved: '0.75' },
      { asset: 'BTC', reserved: '0.1' },
      { asset: 'EUR', reserved: '0' },
    ];
    const order = { market: 'ETH/USDC', side: 'buy', price: '2000', remainingSize: '0.5' } as const;
    const listed = [order, { ...order, side: 'sell', remainingSize: '0.75' } as const];
    const marketOf = (symbol: string) => (symbol === 'ETH/USDC' ? ETH : undefined);
    expect(unlistedReserves(balances, listed, marketOf)).to.deep.equal([
      { asset: 'USDC', amount: '200.5' },
      { asset: 'BTC', amount: '0.1' },
    ]);
  });
});
