/** Creates markets with awkward grids, each with a book and a trade, through REST. */

import { hexlify, randomBytes } from 'ethers';
import type { Rest, Stage } from './stage.ts';

export interface Grid {
  readonly symbol: string;
  readonly tickSize: string;
  readonly sizeStep: string;
  readonly scales: Readonly<Record<string, number>>;
  /** A price on the grid. */
  readonly price: string;
  /** The same price some ticks higher and lower. */
  readonly asks: readonly string[];
  readonly bids: readonly string[];
  /** A size on the grid. */
  readonly size: string;
  /** Amounts of base and quote asset for a few orders. */
  readonly funds: Readonly<Record<string, string>>;
}

export const GRIDS: readonly Grid[] = [
  {
    symbol: 'DUST/USDC',
    tickSize: '0.000001',
    sizeStep: '1',
    scales: { DUST: 0, USDC: 6 },
    price: '0.001234',
    asks: ['0.001235', '0.0013', '0.01'],
    bids: ['0.001233', '0.00123', '0.000001'],
    size: '1234567',
    funds: { DUST: '100000000', USDC: '1000000.000001' },
  },
  {
    symbol: 'BAR/YEN',
    tickSize: '1',
    sizeStep: '1',
    scales: { BAR: 0, YEN: 0 },
    price: '1000000000',
    asks: ['1000000001', '1000000010', '1100000000'],
    bids: ['999999999', '999999990', '1'],
    size: '3',
    funds: { BAR: '1000', YEN: '1000000000000' },
  },
  {
    symbol: 'SPECK/NINE',
    tickSize: '1',
    sizeStep: '0.000000001',
    scales: { SPECK: 9, NINE: 9 },
    price: '1000000000',
    asks: ['1000000001', '1000000010', '1100000000'],
    bids: ['999999999', '999999990', '1'],
    size: '0.000000007',
    funds: { SPECK: '1000', NINE: '1000000.000000001' },
  },
];

export const newWallet = (): string => hexlify(randomBytes(20));

export const tickerOf = (symbol: string): string => symbol.replace('/', '_');

/**
 * Places a limit order, by default good till cancelled.
 * @throws Error if the service rejects it
 */
export async function placeLimit(
  rest: Rest,
  order: { market: string; side: 'buy' | 'sell'; price: string; size: string },
  more: object = {},
): Promise<{ id: string }> {
  const { status, body } = await rest('POST', '/v1/orders', { type: 'limit', ...order, ...more });
  if (status !== 200) throw new Error(`order refused: ${JSON.stringify(body)}`);
  return body.order;
}

/** Publishes a market of the grid, quotes both sides of it, and trades once at the best ask. */
export async function openGridMarket(stage: Stage, grid: Grid): Promise<{ maker: string; taker: string }> {
  const { symbol, tickSize, sizeStep, size } = grid;
  await stage.market({ symbol, tickSize, sizeStep }, grid.scales);
  const maker = newWallet();
  const taker = newWallet();
  for (const wallet of [maker, taker]) await stage.credit(wallet, grid.funds);
  const rest = stage.as(maker);
  for (const price of grid.asks) await placeLimit(rest, { market: symbol, side: 'sell', price, size });
  for (const price of grid.bids) await placeLimit(rest, { market: symbol, side: 'buy', price, size });
  const [best] = grid.asks;
  await placeLimit(stage.as(taker), { market: symbol, side: 'buy', price: best!, size: grid.sizeStep });
  return { maker, taker };
}
