/** Market definitions of the tests, as a record and as options of the command: a plain market, and the rules that a test changes. */

import type { MarketSpec } from '../../src/domain/market-rules.ts';

export const marketSpec = (symbol: string, own: Partial<MarketSpec> = {}): MarketSpec => ({
  symbol,
  status: 'active',
  sellEnabled: true,
  visible: true,
  feeBps: 10,
  tickSize: '0.01',
  sizeStep: '0.001',
  minOrderSize: null,
  maxOrderSize: null,
  selfTrade: 'expire_taker',
  referencePrice: null,
  networkId: '1',
  ...own,
});

/** Options of `market create` for a market without bounds of an order's size. */
export const marketRules = (tickSize = '0.01', sizeStep = '0.001'): string[] => [
  '--tick-size',
  tickSize,
  '--size-step',
  sizeStep,
  '--min-order-size',
  'null',
  '--max-order-size',
  'null',
];
