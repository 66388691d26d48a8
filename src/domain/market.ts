/** Markets and assets: the records that an operator publishes and that the engine enforces. */

export const MARKET_STATUSES = ['active', 'pre_open', 'halted', 'delisted'] as const;
export type MarketStatus = (typeof MARKET_STATUSES)[number];

export const SELF_TRADE_POLICIES = ['expire_taker', 'expire_maker', 'expire_both'] as const;
/** Outcome when an incoming order meets an order of its own wallet. */
export type SelfTradePolicy = (typeof SELF_TRADE_POLICIES)[number];

/** Maximum markets of an engine. Order ids have 15 bits for the market's number, and some numbers stay free. */
export const MAX_MARKETS = 32_000;

/** An asset and the number of decimals of its atom, 0 to 9. */
export interface Asset {
  readonly symbol: string;
  readonly scale: number;
}

/** A market: its rules as published (plain decimal strings) and the integer grid they stand on. */
export interface Market {
  /** Given at creation, from 0 to MAX_MARKETS - 1. It is part of every order id. */
  readonly number: number;
  /** `BASE/QUOTE`, upper-case. */
  readonly symbol: string;
  readonly base: Asset;
  readonly quote: Asset;
  readonly status: MarketStatus;
  readonly tradingEnabled: boolean;
  readonly sellEnabled: boolean;
  readonly visible: boolean;
  readonly feeBps: number;
  /** Published rules; null: not enforced. Plain decimals. */
  readonly tickSize: string | null;
  readonly sizeStep: string | null;
  readonly minOrderSize: string | null;
  readonly maxOrderSize: string | null;
  /** Smallest `price x size` of a limit order, and smallest quote amount. */
  readonly minNotional: string | null;
  readonly selfTrade: SelfTradePolicy;
  /** The operator's reference price, plain decimal, or null. */
  readonly referencePrice: string | null;
  readonly networkId: string;
  /** The grid amounts stand on: equals tickSize / sizeStep where published, else the finest exact one. */
  readonly tick: string;
  readonly step: string;
  /** Base atoms in one step. */
  readonly baseAtomsPerStep: bigint;
  /** Quote atoms of one step at one tick. */
  readonly quoteAtomsPerLot: bigint;
  /**
   * Given by the engine with each change, greater than the one before and never given twice, not even by an engine that
   * was rebuilt; scripts refuse rules of another version. 0: not published yet.
   */
  readonly version: number;
}
