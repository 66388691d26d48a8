/** Markets and assets: what an operator publishes and the engine enforces. */

export const MARKET_STATUSES = ['active', 'pre_open', 'halted', 'delisted'] as const;
export type MarketStatus = (typeof MARKET_STATUSES)[number];

export const SELF_TRADE_POLICIES = ['expire_taker', 'expire_maker', 'expire_both'] as const;
/** What happens when an incoming order meets an order of its own wallet. */
export type SelfTradePolicy = (typeof SELF_TRADE_POLICIES)[number];

/** An asset and the number of decimals of its atom, 0 to 9. */
export interface Asset {
  readonly symbol: string;
  readonly scale: number;
}

/** A market: its rules as published (plain decimal strings) and the integer grid they stand on. */
export interface Market {
  /** 0..32767, given at creation, part of every order id. */
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
  /** Counts the changes; a script refuses rules of another version. */
  readonly version: number;
}
