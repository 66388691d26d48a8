/** The wallets that a driver credits, and what some of them have traded. */

export const WALLETS = 500;

export const walletOf = (index: number): string => `0x${(index % WALLETS).toString(16).padStart(40, 'b')}`;

const PAIRS = 24;

/** Each taker has `takes` orders that met three makers each; each maker has `makes` trades, the others with `rest`. */
export const HISTORY = {
  makers: Array.from({ length: PAIRS }, (_none, index) => index),
  takers: Array.from({ length: PAIRS }, (_none, index) => PAIRS + index),
  rest: 2 * PAIRS,
  makes: 500,
  takes: 100,
} as const;
