/** The rules of every market of the bench. */

import type { MarketSpec } from '../../../src/domain/market-rules.ts';

export const marketSpec = (symbol: string): MarketSpec => ({
  symbol,
  status: 'active',
  sellEnabled: true,
  visible: true,
  feeBps: 10,
  tickSize: '0.01',
  sizeStep: '0.0001',
  minOrderSize: null,
  maxOrderSize: null,
  selfTrade: 'expire_taker',
  referencePrice: null,
  networkId: '1',
});
