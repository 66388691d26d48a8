/** The order form reads, steps and words amounts, and the account's lists add up. */

import { expect } from 'chai';
import type { Market } from '../../src/domain/market.ts';
import { gridOf } from '../../src/domain/units.ts';
import { type DraftTexts, plainAmount, readDraft } from '../../src/web/figures/draft-request.ts';
import { rulesOf } from '../../src/web/figures/market-rules.ts';
import { describeOrder } from '../../src/web/figures/order-words.ts';
import { EMPTY_LIST, itemsOf, type PagedList, without, withPage } from '../../src/web/figures/paged-list.ts';
import { type OtherSide, previewOrder } from '../../src/web/figures/preview.ts';
import { stepped } from '../../src/web/figures/stepping.ts';
import { unlistedReserves } from '../../src/web/figures/unlisted-reserves.ts';

const ETH: Market = rulesOf({
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
  baseToken: 'ETH',
  quoteToken: 'USDC',
  baseScale: 8,
  quoteScale: 6,
  networkId: '1',
});

const texts = (own: Partial<DraftTexts>): DraftTexts => ({
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
  it('a comma as the point, and sends plain decimals', () => {
    expect(plainAmount(' 2000,05 ')).to.equal('2000.05');
    expect(plainAmount('.5')).to.equal('0.5');
    expect(plainAmount('0.1000000000000000000000000000000000000001')).to.equal(
      '0.1000000000000000000000000000000000000001',
    );
    expect([plainAmount('0,500'), plainAmount('1000,125')]).to.deep.equal(['0.5', '1000.125']);
    for (const unread of [
      '1,999',
      '12,000',
      '999,999',
      '1,000.5',
      '1 000',
      '1e3',
      '-1',
      'NaN',
      '0x10',
      ',',
    ]) {
      expect(problemsOf({ size: unread }), unread).to.deep.equal(['size VALIDATION_ERROR']);
    }
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
    expect(stepped('2000', grid, 1, 1n)).to.equal('2000.05');
    expect(stepped('2000', grid, -1, 1n)).to.equal('1999.95');
    expect(stepped('2000,02', grid, 1, 1n)).to.equal('2000.05');
    expect(stepped('2000.02', grid, -1, 1n)).to.equal('2000');
    expect(stepped('0.05', grid, -1, 1n)).to.equal('0.05');
    expect(stepped('', grid, 1, 40n)).to.equal('2');
    expect(stepped('abc', gridOf('1000')!, -1, 0n)).to.equal('1000');
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
  const wordsOf = (own: Partial<DraftTexts>, available: bigint) => {
    const draft = texts(own);
    const { amounts } = readDraft(draft, ETH);
    return describeOrder(ETH, draft, previewOrder(ETH, draft, amounts!, asks, available), available);
  };

  it('shows exact literals, the levels, and where a figure is a bound', () => {
    const words = wordsOf({ price: '2000.05', size: '0.5' }, 5_000_000_000n);
    expect(words.sentence).to.equal('Buy 0.5 ETH at 2000.05 USDC or better, until cancelled.');
    expect(words.figures.map(({ value }) => value)).to.deep.equal([
      '800.815015 USDC',
      '0.4 ETH',
      '0.800015 USDC',
      '0 USDC',
      '4199.184985 USDC',
    ]);
    expect(words.notes.join(' ')).to.include('average 2000.0375, worst 2000.05');
    expect(words.notes.join(' ')).to.include('Your own sell order at 2000.05 is in the way');
    expect(words.notes.join(' ')).to.not.include('would rest');
    const restful = wordsOf({ price: '2000', size: '0.5' }, 5_000_000_000n);
    expect(restful.notes.join(' ')).to.include('0.4 ETH would rest, free of a fee.');
    expect(words.warning).to.equal(null);
  });

  it('says what the service would refuse, and what is missing', () => {
    const short = wordsOf({ price: '1990', size: '1' }, 1_000_000_000n);
    expect(short.warning?.code).to.equal('INSUFFICIENT_BALANCE');
    expect(short.figures.at(-1)?.value).to.equal('990 USDC short');
    expect(wordsOf({ price: '2001', postOnly: true }, 10n ** 12n).warning?.code).to.equal(
      'POST_ONLY_WOULD_CROSS',
    );
    expect(wordsOf({ size: '9', timeInForce: 'FOK' }, 10n ** 12n).warning?.code).to.equal('FOK_NOT_FILLED');
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
