/** The markets of the demo, and the play money to trade on them. */

import type { MarketSpec } from '../domain/market-rules.ts';

const RULES: Omit<MarketSpec, 'symbol' | 'tickSize' | 'sizeStep' | 'minOrderSize' | 'networkId'> = {
  status: 'active',
  sellEnabled: true,
  visible: true,
  feeBps: 10,
  maxOrderSize: null,
  minNotional: '1',
  selfTrade: 'expire_taker',
  referencePrice: null,
};

export const DEMO_MARKETS: readonly Omit<MarketSpec, 'networkId'>[] = [
  { ...RULES, symbol: 'ETH/USDC', tickSize: '0.01', sizeStep: '0.0001', minOrderSize: '0.001' },
  { ...RULES, symbol: 'BTC/USDC', tickSize: '0.1', sizeStep: '0.00001', minOrderSize: '0.0001' },
];

/** Amount of one faucet credit, in whole units of each asset of these markets. */
export const FAUCET_AMOUNTS: Readonly<Record<string, string>> = { BTC: '1', ETH: '10', USDC: '10000' };
