/** A market of the reference, and the refusals that depend only on its rules. */

import type { ErrorCode } from '../../../src/domain/errors.ts';
import type { MarketStatus, SelfTradePolicy } from '../../../src/domain/market.ts';
import type { OrderType, Side, TimeInForce } from '../../../src/domain/order.ts';
import { divideExactly, ONE, readDecimal, unitsOf } from './decimals.ts';

/** An order as a client sends it, with decimals as text. */
export interface Request {
  readonly market: string;
  readonly side: Side;
  readonly type: OrderType;
  readonly price?: string;
  readonly size?: string;
  readonly quoteAmount?: string;
  readonly clientOrderId: string | null;
  readonly timeInForce: TimeInForce;
  readonly postOnly: boolean;
  readonly reduceOnly: boolean;
  readonly leverage: string | null;
  /** A time long ago, or one far ahead. */
  readonly expiresAfter?: number;
}

/** A market as an operator publishes it, with decimals as text. */
export interface Rules {
  readonly symbol: string;
  readonly status: MarketStatus;
  readonly tradingEnabled: boolean;
  readonly sellEnabled: boolean;
  readonly visible: boolean;
  readonly feeBps: number;
  readonly tickSize: string | null;
  readonly sizeStep: string | null;
  readonly minOrderSize: string | null;
  readonly maxOrderSize: string | null;
  readonly minNotional: string | null;
  readonly selfTrade: SelfTradePolicy;
  readonly referencePrice: string | null;
}

export interface ReferenceMarket {
  readonly number: number;
  readonly base: string;
  readonly quote: string;
  /** Units of one base atom and of one quote atom. */
  readonly baseAtom: bigint;
  readonly quoteAtom: bigint;
  /** Units of the grid that prices and sizes must be on. */
  readonly tick: bigint;
  readonly step: bigint;
  rules: Rules;
  version: number;
  /** Price of the last execution, in units. */
  last: bigint | null;
}

/** Exclusive upper bound of an order's amounts in atoms. */
export const EXACT_LIMIT = 2n ** 53n;

const atomOf = (scale: number): bigint => 10n ** BigInt(18 - scale);

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let larger = a;
  let smaller = b;
  while (smaller > 0n) [larger, smaller] = [smaller, larger % smaller];
  return larger;
}

/** Returns the smallest multiple of `unit` whose product with `other` is a whole number of `atom`s. */
function finestMultiple(unit: bigint, other: bigint, atom: bigint): bigint {
  const product = unit * other;
  const whole = atom * ONE;
  return unit * (whole / greatestCommonDivisor(product, whole));
}

/** Returns a market with its published grid or, by default, the finest grid that keeps notionals integral. */
export function marketOf(rules: Rules, number: number, scales: ReadonlyMap<string, number>): ReferenceMarket {
  const [base, quote] = rules.symbol.split('/') as [string, string];
  const baseAtom = atomOf(scales.get(base)!);
  const quoteAtom = atomOf(scales.get(quote)!);
  const published = {
    tick: rules.tickSize === null ? null : unitsOf(rules.tickSize),
    step: rules.sizeStep === null ? null : unitsOf(rules.sizeStep),
  };
  const step = published.step ?? finestMultiple(baseAtom, published.tick!, quoteAtom);
  const tick = published.tick ?? finestMultiple(1n, step, quoteAtom);
  return { number, base, quote, baseAtom, quoteAtom, tick, step, rules, version: 1, last: null };
}

export const baseAtoms = (market: ReferenceMarket, size: bigint): bigint =>
  divideExactly(size, market.baseAtom);

/** Quote atoms of price x size, always an integer on the market's grid. */
export const notionalAtoms = (market: ReferenceMarket, price: bigint, size: bigint): bigint =>
  divideExactly(price * size, ONE * market.quoteAtom);

/** The taker's fee: its share of the notional, rounded up to a whole quote atom. */
export function feeAtoms(market: ReferenceMarket, notional: bigint): bigint {
  const tenThousandths = notional * BigInt(market.rules.feeBps);
  return tenThousandths / 10_000n + (tenThousandths % 10_000n === 0n ? 0n : 1n);
}

/** True for a limit order whose price x size, or a quote amount, is below the smallest value of its market. */
function isWorthTooLittle(
  { quoteAmount }: Request,
  price: bigint | undefined,
  size: bigint | undefined,
  { minNotional }: Rules,
): boolean {
  if (minNotional === null) return false;
  if (quoteAmount !== undefined) return readDecimal(quoteAmount).units < unitsOf(minNotional);
  return price !== undefined && size !== undefined && price * size < unitsOf(minNotional) * ONE;
}

/** Returns the first refusal, in the documented order of precedence, that the market's rules decide. */
export function refusalByRules(request: Request, market: ReferenceMarket | undefined): ErrorCode | undefined {
  if (market === undefined) return 'MARKET_NOT_FOUND';
  const { rules } = market;
  const { side, type, timeInForce, postOnly, reduceOnly } = request;
  const size = request.size === undefined ? undefined : readDecimal(request.size);
  const price = type === 'market' || request.price === undefined ? undefined : readDecimal(request.price);

  if (size && !size.isPositive) return 'INVALID_ORDER';
  if (type === 'limit' && !price) return 'INVALID_ORDER';
  if (postOnly && (type === 'market' || timeInForce !== 'GTC')) return 'INVALID_ORDER';
  if (request.leverage !== null && unitsOf(request.leverage) > 100n * ONE) return 'INVALID_ORDER';

  if (!rules.tradingEnabled || rules.status === 'halted' || rules.status === 'delisted') {
    return 'MARKET_NOT_TRADING';
  }
  if (rules.status === 'pre_open' && (type === 'market' || timeInForce !== 'GTC')) return 'MARKET_PRE_OPEN';
  if (side === 'sell' && !rules.sellEnabled) return 'SELL_DISABLED';
  if (reduceOnly) return 'REDUCE_ONLY';
  if (price && !(price.isExact && price.units % market.tick === 0n)) {
    return rules.tickSize === null ? 'VALIDATION_ERROR' : 'PRICE_TICK';
  }
  if (size && !(size.isExact && size.units % market.step === 0n)) {
    return rules.sizeStep === null ? 'VALIDATION_ERROR' : 'SIZE_STEP';
  }
  if (size && rules.minOrderSize !== null && size.units < unitsOf(rules.minOrderSize)) {
    return 'ORDER_BELOW_MIN_SIZE';
  }
  if (isWorthTooLittle(request, price?.units, size?.units, rules)) return 'ORDER_BELOW_MIN_SIZE';
  if (size && rules.maxOrderSize !== null && size.units > unitsOf(rules.maxOrderSize)) {
    return 'ORDER_ABOVE_MAX_SIZE';
  }
  if (size && baseAtoms(market, size.units) >= EXACT_LIMIT) return 'ORDER_ABOVE_MAX_SIZE';
  if (size && price) {
    const notional = notionalAtoms(market, price.units, size.units);
    if (notional + feeAtoms(market, notional) >= EXACT_LIMIT) return 'ORDER_ABOVE_MAX_SIZE';
  }
  return undefined;
}
