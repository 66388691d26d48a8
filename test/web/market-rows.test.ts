/** The market list, its search, and the alignment of figures. */

import { expect } from 'chai';
import { missingZeros } from '../../src/web/figures/aligned-digits.ts';
import { changeWords, searchMarkets, sortedMarkets } from '../../src/web/figures/market-rows.ts';

describe('the market list', () => {
  const markets = ['WETH/USDC', 'BTC/USDC', 'ETH/USDC', 'ETH/BTC'].map((symbol) => ({ symbol }));
  const found = (query: string): string[] => searchMarkets(markets, query).map(({ symbol }) => symbol);

  it('is sorted by name', () => {
    expect(found(' ')).to.deep.equal(['BTC/USDC', 'ETH/BTC', 'ETH/USDC', 'WETH/USDC']);
  });

  it('finds each word in any case and notation, beginnings first', () => {
    expect(found('eth')).to.deep.equal(['ETH/BTC', 'ETH/USDC', 'WETH/USDC']);
    for (const query of ['eth usd', 'ETH/USDC', 'eth_usdc', 'eth-usdc']) {
      expect(found(query), query).to.deep.equal(['ETH/USDC', 'WETH/USDC']);
    }
    expect(found('doge')).to.deep.equal([]);
  });

  it('is sorted by its figures from the greatest down, favourites first and unknown figures last', () => {
    const volumes: Readonly<Record<string, string>> = {
      'BTC/USDC': '9',
      'ETH/USDC': '10',
      'WETH/USDC': '0.5',
    };
    const sortedBy = (sort: 'volume' | 'name', isTurned: boolean, favourite = ''): string =>
      sortedMarkets(
        markets,
        { sort, isTurned },
        ({ symbol }) => ({ volume: volumes[symbol] ?? null, price: null, change: null }),
        ({ symbol }) => symbol === favourite,
      )
        .map(({ symbol }) => symbol)
        .join(' ');
    expect(sortedBy('volume', false)).to.equal('ETH/USDC BTC/USDC WETH/USDC ETH/BTC');
    expect(sortedBy('volume', true)).to.equal('WETH/USDC BTC/USDC ETH/USDC ETH/BTC');
    expect(sortedBy('volume', false, 'ETH/BTC')).to.equal('ETH/BTC ETH/USDC BTC/USDC WETH/USDC');
    expect(sortedBy('name', false)).to.equal('BTC/USDC ETH/BTC ETH/USDC WETH/USDC');
    expect(sortedBy('name', true)).to.equal('WETH/USDC ETH/USDC ETH/BTC BTC/USDC');
  });

  it('describes changes by their sign', () => {
    expect(changeWords('1.25')).to.deep.equal({ text: '+1.25 %', direction: 'up' });
    expect(changeWords('-0.4')).to.deep.equal({ text: '-0.40 %', direction: 'down' });
    expect(changeWords('0.00')).to.deep.equal({ text: '0.00 %', direction: 'flat' });
  });
});

describe('aligned figures', () => {
  it('have padding zeros up to the decimals of the grid', () => {
    expect(['2000', '2000.5', '2000.05'].map((decimal) => missingZeros(decimal, 2))).to.deep.equal([
      '.00',
      '0',
      '',
    ]);
    expect(missingZeros('5', 0)).to.equal('');
  });

  it('omit padding zeros that would be wider than the numbers', () => {
    expect(missingZeros('0.5', 9)).to.equal('');
  });
});
