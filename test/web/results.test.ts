/** The result of trading by market, by average cost, against figures computed by hand. */

import { expect } from 'chai';
import { composeMarket } from '../../src/domain/market-rules.ts';
import { resultsOf } from '../../src/web/figures/results.ts';

const marketOf = (symbol: string) =>
  symbol === 'ETH/USDC'
    ? composeMarket(
        {
          symbol,
          status: 'active',
          sellEnabled: true,
          visible: true,
          feeBps: 10,
          networkId: '1',
          tickSize: '0.01',
          sizeStep: '0.0001',
          minOrderSize: null,
          maxOrderSize: null,
          referencePrice: null,
          selfTrade: 'expire_taker',
        },
        0,
        { symbol: 'ETH', scale: 8 },
        { symbol: 'USDC', scale: 6 },
      )
    : undefined;

const fill = (side: 'buy' | 'sell', size: string, notional: string, feeAmount: string) => ({
  id: '1',
  market: 'ETH/USDC',
  side,
  size,
  notional,
  feeAmount,
});

/** @param fills oldest first */
const resultOf = (fills: readonly ReturnType<typeof fill>[], lastPrice?: string) => {
  const [result] = resultsOf(fills.toReversed(), marketOf, () => lastPrice);
  const { market, ...figures } = result!;
  return figures;
};

describe('results by market', () => {
  it('count fees into the cost of purchases and out of the proceeds of sales', () => {
    const fills = [
      fill('buy', '1', '2000', '2'),
      fill('buy', '1', '3000', '3'),
      fill('sell', '0.5', '1500', '1.5'),
    ];
    expect(resultOf(fills, '2800')).to.deep.equal({
      held: '1.5',
      averageEntry: '2502.5',
      realised: '247.25',
      unrealised: '446.25',
      soldUnbought: null,
    });
  });

  it('leave out the part of a sale that the fills did not buy', () => {
    const fills = [
      fill('buy', '1', '2000', '0'),
      fill('sell', '4', '8400', '0'),
      fill('sell', '1', '2100', '0'),
    ];
    expect(resultOf(fills)).to.deep.equal({
      held: '0',
      averageEntry: null,
      realised: '100',
      unrealised: null,
      soldUnbought: '4',
    });
  });

  it('take the cost of everything that is sold to the last atom', () => {
    const fills = [
      fill('buy', '3', '10', '0'),
      ...['1', '1', '1'].map((size) => fill('sell', size, '3', '0')),
    ];
    expect(resultOf(fills, '5000')).to.include({ held: '0', realised: '-1', unrealised: '0' });
  });

  it('show losses with their sign, and leave out unknown markets', () => {
    expect(resultOf([fill('buy', '1', '2000', '2')], '1500.5')).to.include({ unrealised: '-501.5' });
    expect(resultsOf([{ ...fill('buy', '1', '1', '0'), market: 'X/Y' }], marketOf, () => '1')).to.deep.equal(
      [],
    );
  });
});
