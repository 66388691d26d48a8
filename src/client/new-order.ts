/** Orders to be placed: a shape for each kind, so that an order without a price or with two sizes does not compile. */

import type { Amount } from './replies.ts';

interface OrderTerms {
  /** Symbol of a market, like `ETH/USDC`. */
  readonly market: string;
  readonly side: 'buy' | 'sell';
  /** `GTC` unless given. A market order never rests. */
  readonly timeInForce?: 'GTC' | 'IOC' | 'FOK';
  /**
   * 1 to 128 characters, unique per wallet and remembered permanently: a reused id stands for the order that it
   * was first given to, and nothing is placed. A new id is made unless given.
   */
  readonly clientOrderId?: string;
  readonly reduceOnly?: boolean;
  /** 1 to 50; without effect on spot markets. */
  readonly leverage?: number;
  /** Must be the wallet of the session. */
  readonly account?: string;
  /**
   * Unix milliseconds: the service refuses the order if it begins it later. Ten seconds after the sending unless given,
   * by the service's time as earlier answers tell it; null for no deadline.
   */
  readonly expiresAfter?: number | null;
}

export interface LimitOrder extends OrderTerms {
  readonly type: 'limit';
  /** A multiple of the market's `priceIncrement`. */
  readonly price: Amount;
  /** In base units: a multiple of the market's `sizeIncrement`. */
  readonly size: Amount;
  readonly quoteAmount?: undefined;
  /** Refuses an order that would take liquidity at once; GTC orders only. */
  readonly postOnly?: boolean;
}

export interface MarketOrder extends OrderTerms {
  readonly type: 'market';
  readonly price?: undefined;
  /** In base units: a multiple of the market's `sizeIncrement`. */
  readonly size: Amount;
  readonly quoteAmount?: undefined;
  readonly postOnly?: false;
}

/** A market buy of as much as an amount of the quote asset pays for. */
export interface MarketBuyByAmount extends OrderTerms {
  readonly side: 'buy';
  readonly type: 'market';
  readonly price?: undefined;
  readonly size?: undefined;
  /** The amount to spend, without the fee. */
  readonly quoteAmount: Amount;
  readonly postOnly?: false;
}

/** An order to be placed. Amounts are decimal strings. */
export type NewOrder = LimitOrder | MarketOrder | MarketBuyByAmount;
