/** Orders, trades and fills in integer units, as the engine and the ledger exchange them. */

import type { Count } from './units.ts';

export type Side = 'buy' | 'sell';
export type OrderType = 'limit' | 'market';
export type TimeInForce = 'GTC' | 'IOC' | 'FOK';

export const ORDER_STATUSES = [
  'open',
  'resting',
  'partially_filled',
  'filled',
  'cancelled',
  'partially_filled_cancelled',
  'rejected',
  'expired',
  'failed',
] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** Reasons for which an order ended without being filled, each as the end of “the order ended because”. */
export const END_REASONS = {
  user_cancelled: 'the wallet cancelled it',
  replaced: 'the wallet replaced it by another order',
  cancel_after: 'the dead-man switch of the wallet was due',
  operator_voided: 'an operator voided it',
  custody_hold: 'an operator set the wallet on hold',
  market_cleared: 'an operator cleared the market',
  self_trade_prevented: 'it met an order of the same wallet',
  ioc_remainder: 'the book does not fill all of it, and it may not rest',
  max_makers: 'it met as many orders as one order may meet',
  POST_ONLY_WOULD_CROSS: 'it would take liquidity at once, and it is post-only',
  FOK_NOT_FILLED: 'the book does not fill all of it',
  SETTLEMENT_FAILED: 'it could not be settled',
} as const;
export type EndReason = keyof typeof END_REASONS;

/** Reason for which the engine refused an order that is nevertheless recorded, as `rejected`. */
export type RejectReason = Extract<EndReason, Uppercase<string>>;

/** Market facts from which an order's amounts are computed; they never change for a market. */
export interface MarketUnits {
  readonly base: string;
  readonly quote: string;
  /** Base atoms in one size step. */
  readonly baseAtomsPerStep: bigint;
  /** Quote atoms that one step costs at a price of one tick. */
  readonly quoteAtomsPerLot: bigint;
}

const ORDER_ID = /^[0-9a-f]{34}$/;

/** True for 34 lower-case hex digits, the form of an order id. */
export const isOrderId = (text: string): boolean => ORDER_ID.test(text);

/** Returns the sequence of the event that placed an order, which is the end of its id. */
export const placedIn = (orderId: string): number => Number.parseInt(orderId.slice(-12), 16);

/** Terms of an order, which never change after placing. */
export interface OrderTerms {
  /** 34 lower-case hex digits that encode market, side, price and sequence; opaque to clients. */
  readonly id: string;
  /** `0x` and 40 lower-case hex digits. */
  readonly wallet: string;
  /** `BASE/QUOTE`. */
  readonly market: string;
  readonly side: Side;
  readonly type: OrderType;
  readonly timeInForce: TimeInForce;
  readonly postOnly: boolean;
  /** The client's value, or null; stored, without effect on spot markets. */
  readonly leverage: number | null;
  /** null: a market order. */
  readonly priceTicks: bigint | null;
  readonly sizeSteps: bigint;
  readonly clientOrderId: string | null;
  /** Unix milliseconds of the event that created it. */
  readonly createdAtMs: number;
  /** Sequence of the event that created it. */
  readonly sequence: number;
  readonly units: MarketUnits;
}

/** An order and its progress. */
export interface Order extends OrderTerms {
  readonly filledSteps: bigint;
  readonly status: OrderStatus;
  /** Null while it is live and when it is filled; also null when a release ended it that recorded no reason. */
  readonly reason: EndReason | null;
  /** Unix milliseconds of the last status or fill change. */
  readonly updatedAtMs: number;
}

/** One execution: the public print and both of its sides. */
export interface Trade {
  /** Below 2^53, strictly increasing over all markets, never reused. */
  readonly tradeId: number;
  readonly market: string;
  readonly takerSide: Side;
  readonly priceTicks: bigint;
  readonly sizeSteps: bigint;
  /** Paid by the taker in quote atoms. */
  readonly feeAtoms: bigint;
  readonly takerOrderId: string;
  readonly makerOrderId: string;
  readonly takerWallet: string;
  readonly makerWallet: string;
  readonly timeMs: number;
  /** Sequence of the event that holds it. */
  readonly sequence: number;
  readonly units: MarketUnits;
}

/** An order as lists show it. Its counts are displayed and rarely calculated with. */
export type ListedOrder = Omit<
  Order,
  'wallet' | 'leverage' | 'units' | 'priceTicks' | 'sizeSteps' | 'filledSteps'
> & {
  /** null: a market order. */
  readonly priceTicks: Count | null;
  readonly sizeSteps: Count;
  readonly filledSteps: Count;
  /** Number of all its fills. */
  readonly fillCount: number;
};

export type FillRole = 'maker' | 'taker';

/** One order's side of a trade, as replies show it. */
export interface Fill {
  /** Decimal digits. */
  readonly tradeId: string;
  readonly role: FillRole;
  readonly priceTicks: Count;
  readonly sizeSteps: Count;
  /** Price x size in quote atoms. */
  readonly notionalAtoms: Count;
  /** Paid by this side in quote atoms; 0 for a maker. */
  readonly feeAtoms: Count;
  readonly timeMs: number;
}

/** A trade as seen from one of its wallets. */
export interface WalletTrade {
  readonly fill: Fill;
  /** The wallet's own order. */
  readonly orderId: string;
  readonly market: string;
  readonly side: Side;
  readonly counterparty: string;
}

/** An execution as it is shown publicly. */
export interface PublicTrade {
  readonly tradeId: number;
  readonly takerSide: Side;
  readonly priceTicks: Count;
  readonly sizeSteps: Count;
  /** Price x size in quote atoms. */
  readonly notionalAtoms: Count;
  readonly timeMs: number;
}

/** Limits the fills of a reply, because nothing else limits the part of a reply that one order takes. */
export interface FillLimits {
  readonly maxFillsPerOrder: number;
  /** Maximum fills of all orders of a reply together. */
  readonly maxFillsPerReply: number;
}

/** An order that ended without being filled whole: it left the book or never reached it. */
export interface ClosedOrder {
  readonly id: string;
  readonly wallet: string;
  readonly market: string;
  readonly clientOrderId: string | null;
  readonly status: OrderStatus;
  readonly reason: Order['reason'];
}

/** A resting order with its remaining size. */
export interface LiveOrder
  extends Pick<
    OrderTerms,
    'id' | 'wallet' | 'market' | 'side' | 'priceTicks' | 'sizeSteps' | 'clientOrderId' | 'sequence' | 'units'
  > {
  readonly remainingSteps: bigint;
}

/** A live order with its price: a market order never rests. */
export interface RestingOrder extends LiveOrder {
  readonly priceTicks: bigint;
}

/**
 * Returns the atoms that a resting order holds: its remaining base for a sell, the price of its remainder in quote for
 * a buy.
 */
export const heldAtoms = (
  { side, priceTicks, remainingSteps }: Pick<RestingOrder, 'side' | 'priceTicks' | 'remainingSteps'>,
  units: Pick<MarketUnits, 'baseAtomsPerStep' | 'quoteAtomsPerLot'>,
): bigint =>
  side === 'sell'
    ? remainingSteps * units.baseAtomsPerStep
    : priceTicks * remainingSteps * units.quoteAtomsPerLot;

export const isLive = (status: OrderStatus): boolean =>
  status === 'open' || status === 'resting' || status === 'partially_filled';

/** Returns the reason for which the engine refused the order, or null. */
export const rejectReasonOf = ({ status, reason }: Pick<Order, 'status' | 'reason'>): RejectReason | null =>
  status === 'rejected' ? (reason as RejectReason) : null;

export const baseAtoms = (trade: Pick<Trade, 'sizeSteps' | 'units'>): bigint =>
  trade.sizeSteps * trade.units.baseAtomsPerStep;

/** Returns price x size of a trade in quote atoms; exact. */
export const notionalAtoms = (trade: Pick<Trade, 'priceTicks' | 'sizeSteps' | 'units'>): bigint =>
  trade.priceTicks * trade.sizeSteps * trade.units.quoteAtomsPerLot;

/** Returns one order's side of a trade. */
export function fillOf(trade: Trade, orderId: string): Fill {
  const role = trade.takerOrderId === orderId ? 'taker' : 'maker';
  return {
    tradeId: String(trade.tradeId),
    role,
    priceTicks: trade.priceTicks,
    sizeSteps: trade.sizeSteps,
    notionalAtoms: notionalAtoms(trade),
    feeAtoms: role === 'taker' ? trade.feeAtoms : 0n,
    timeMs: trade.timeMs,
  };
}

const opposite = (side: Side): Side => (side === 'buy' ? 'sell' : 'buy');

/** Returns the trade as seen from the wallet, which is one of its two. */
export function walletTradeOf(trade: Trade, wallet: string): WalletTrade {
  const isTaker = trade.takerWallet === wallet;
  const orderId = isTaker ? trade.takerOrderId : trade.makerOrderId;
  return {
    fill: fillOf(trade, orderId),
    orderId,
    market: trade.market,
    side: isTaker ? trade.takerSide : opposite(trade.takerSide),
    counterparty: isTaker ? trade.makerWallet : trade.takerWallet,
  };
}

export const publicTradeOf = (trade: Trade): PublicTrade => ({
  tradeId: trade.tradeId,
  takerSide: trade.takerSide,
  priceTicks: trade.priceTicks,
  sizeSteps: trade.sizeSteps,
  notionalAtoms: notionalAtoms(trade),
  timeMs: trade.timeMs,
});
