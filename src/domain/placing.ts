/**
 * Checks order requests, and decides the part of the precedence of refusals that a replica can decide.
 *
 * The whole precedence: bearer, JSON syntax, replay of a client order id, request schema, account, then the engine's
 * own (pause, jurisdiction and terms, custody hold), then `REFUSALS` below in its order, then what only the match can
 * tell (see `lua/place_orders.lua`): pre-open crossing, no reference price or no liquidity, balance, engine refusals. A
 * test has one row for each pair of neighbours.
 */

import type { ErrorCode } from './errors.ts';
import type { Market } from './market.ts';
import { type MarketGrid, marketGrid } from './market-grid.ts';
import type { OrderType, Side, TimeInForce } from './order.ts';
import { compareWith, countOf, type Decimal, isPositive, toScaledDown } from './units.ts';

/** Members of a request that the rules of a market look at. */
export interface MeasuredRequest {
  readonly side: Side;
  readonly type: OrderType;
  /** Positive; meaningless on a market order. */
  readonly price?: Decimal | undefined;
  /** Any finite number. Exactly one of size and quoteAmount is given. */
  readonly size?: Decimal | undefined;
  /** Positive; market buys only. */
  readonly quoteAmount?: Decimal | undefined;
  readonly timeInForce: TimeInForce;
  readonly postOnly: boolean;
  readonly reduceOnly: boolean;
  /** 1 to 50, or above 100 (which is refused). */
  readonly leverage: number | null;
}

/** Amounts of one order stay below this many atoms, so that they are exact in a double. */
export const EXACT_LIMIT = 2n ** 53n;

/** An order in integer units that passed every rule a replica can check. */
export interface OrderAmounts {
  /** null: a market order. */
  readonly priceTicks: bigint | null;
  /** null: an order by quote amount. */
  readonly sizeSteps: bigint | null;
  /** Maximum quote atoms that the notional may reach; 2^53 stands for any larger amount. Null for a size. */
  readonly budgetAtoms: bigint | null;
}

export interface OrderRefusal {
  readonly code: ErrorCode;
  readonly message?: string;
}

/** An order measured on its market's grid; undefined: not on the grid. */
interface MeasuredOrder {
  readonly request: MeasuredRequest;
  readonly market: Market;
  readonly grid: MarketGrid;
  readonly priceTicks: bigint | null | undefined;
  readonly sizeSteps: bigint | null | undefined;
}

type OrderCheck = (order: MeasuredOrder) => boolean | string;

const MAX_LEVERAGE = 100;

/** Returns the taker fee: ceil(notional x bps / 10000) quote atoms. */
export const feeAtomsOf = (notional: bigint, bps: number): bigint =>
  (notional * BigInt(bps) + 9999n) / 10000n;

function isInexact({ market, priceTicks, sizeSteps }: MeasuredOrder): boolean {
  if (sizeSteps == null) return false;
  if (sizeSteps * market.baseAtomsPerStep >= EXACT_LIMIT) return true;
  if (priceTicks == null) return false;
  const notional = priceTicks * sizeSteps * market.quoteAtomsPerLot;
  return notional + feeAtomsOf(notional, market.feeBps) >= EXACT_LIMIT;
}

/** True for a limit order whose price x size, or a quote amount, is below `minNotional`. */
function isWorthTooLittle({ market, grid, request, priceTicks, sizeSteps }: MeasuredOrder): boolean {
  if (market.minNotional === null) return false;
  if (request.quoteAmount !== undefined) return compareWith(request.quoteAmount, market.minNotional) < 0;
  if (priceTicks == null || sizeSteps == null) return false;
  return priceTicks * sizeSteps * market.quoteAtomsPerLot < grid.minNotionalAtoms!;
}

/** The unit is the published increment, also where the market publishes no tick or step. */
const offGrid = (name: 'price' | 'size', unit: string): string =>
  `${name} must be a multiple of ${name}Increment, ${unit}`;

/** Checks in the documented order. A check returns true or a message in order to refuse. */
const REFUSALS: readonly (readonly [code: ErrorCode, refuses: OrderCheck])[] = [
  [
    'MARKET_NOT_TRADING',
    ({ market }) => !market.tradingEnabled || market.status === 'halted' || market.status === 'delisted',
  ],
  [
    'MARKET_PRE_OPEN',
    ({ market, request }) =>
      market.status === 'pre_open' && (request.type === 'market' || request.timeInForce !== 'GTC'),
  ],
  ['SELL_DISABLED', ({ market, request }) => request.side === 'sell' && !market.sellEnabled],
  ['REDUCE_ONLY', ({ request }) => request.reduceOnly && 'reduceOnly is only for position markets'],
  [
    'VALIDATION_ERROR',
    ({ market, priceTicks }) =>
      priceTicks === undefined && market.tickSize === null && offGrid('price', market.tick),
  ],
  ['PRICE_TICK', ({ market, priceTicks }) => priceTicks === undefined && offGrid('price', market.tick)],
  [
    'VALIDATION_ERROR',
    ({ market, sizeSteps }) =>
      sizeSteps === undefined && market.sizeStep === null && offGrid('size', market.step),
  ],
  ['SIZE_STEP', ({ market, sizeSteps }) => sizeSteps === undefined && offGrid('size', market.step)],
  [
    'ORDER_BELOW_MIN_SIZE',
    ({ sizeSteps, grid }) => sizeSteps != null && grid.minSteps !== null && sizeSteps < grid.minSteps,
  ],
  [
    'ORDER_BELOW_MIN_SIZE',
    (order) => isWorthTooLittle(order) && `the value is below minNotional, ${order.market.minNotional}`,
  ],
  [
    'ORDER_ABOVE_MAX_SIZE',
    ({ sizeSteps, grid }) => sizeSteps != null && grid.maxSteps !== null && sizeSteps > grid.maxSteps,
  ],
  ['ORDER_ABOVE_MAX_SIZE', isInexact],
];

/** Returns the reason why a request is INVALID_ORDER in any market, or undefined. */
function invalidOrder(request: MeasuredRequest): string | undefined {
  if (request.size !== undefined && !isPositive(request.size)) return 'size must be positive';
  if (request.type === 'limit' && request.price === undefined) return 'a limit order needs a price';
  if (request.postOnly && request.type === 'market') return 'postOnly is only for limit orders';
  if (request.postOnly && request.timeInForce !== 'GTC') return 'postOnly needs timeInForce GTC';
  if (request.leverage !== null && request.leverage > MAX_LEVERAGE) return 'leverage is above 100';
  return undefined;
}

function measure(request: MeasuredRequest, market: Market): MeasuredOrder {
  const grid = marketGrid(market);
  return {
    request,
    market,
    grid,
    priceTicks: request.type === 'market' ? null : countOf(request.price!, grid.tick),
    sizeSteps: request.size === undefined ? null : countOf(request.size, grid.step),
  };
}

function budgetAtoms(request: MeasuredRequest, market: Market): bigint | null {
  if (request.quoteAmount === undefined) return null;
  const atoms = toScaledDown(request.quoteAmount, market.quote.scale);
  return atoms < EXACT_LIMIT ? atoms : EXACT_LIMIT;
}

/**
 * Checks a request against the rules of its market (undefined: there is none with that symbol). Returns the first
 * refusal in the documented order, or the order's amounts in integer units.
 */
export function measureOrder(
  request: MeasuredRequest,
  market: Market | undefined,
): { refusal: OrderRefusal } | { amounts: OrderAmounts } {
  if (market === undefined) return { refusal: { code: 'MARKET_NOT_FOUND' } };
  const invalid = invalidOrder(request);
  if (invalid !== undefined) return { refusal: { code: 'INVALID_ORDER', message: invalid } };
  const order = measure(request, market);
  for (const [code, refuses] of REFUSALS) {
    const answer = refuses(order);
    if (answer !== false)
      return { refusal: typeof answer === 'string' ? { code, message: answer } : { code } };
  }
  return {
    amounts: {
      priceTicks: order.priceTicks!,
      sizeSteps: order.sizeSteps!,
      budgetAtoms: budgetAtoms(request, market),
    },
  };
}
