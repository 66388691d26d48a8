/** The wallets that a driver credits, and the trade history of some of them. */

export const WALLETS = 500;

export const walletOf = (index: number): string => `0x${(index % WALLETS).toString(16).padStart(40, 'b')}`;

const PAIRS = 24;

/**
 * Each taker has `takes` orders, each matched with three makers. Each maker has `makes` trades; the other wallets have
 * `rest`.
 */
export const HISTORY = {
  makers: Array.from({ length: PAIRS }, (_none, index) => index),
  takers: Array.from({ length: PAIRS }, (_none, index) => PAIRS + index),
  rest: 2 * PAIRS,
  makes: 500,
  takes: 100,
} as const;
