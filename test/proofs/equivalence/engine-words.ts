/** Translates between the engine's types and the reference's types. */

import type { AccountMoved, EngineEvent } from '../../../src/domain/event.ts';
import type { Market } from '../../../src/domain/market.ts';
import { parseDecimal } from '../../../src/domain/units.ts';
import type { OrderRequest } from '../../../src/order/request.ts';
import type { MovementRecord, ReferenceEvent } from './reference-book.ts';
import type { Request, Rules } from './reference-rules.ts';

const decimalOf = (text: string) => {
  const value = parseDecimal(text);
  if (value === undefined) throw new Error(`${text} is not read as a decimal`);
  return value;
};

export function asEngineTakes({ price, size, quoteAmount, leverage, ...rest }: Request): OrderRequest {
  return {
    ...rest,
    leverage: leverage === null ? null : Number(leverage),
    ...(price !== undefined && { price: decimalOf(price) }),
    ...(size !== undefined && { size: decimalOf(size) }),
    ...(quoteAmount !== undefined && { quoteAmount: decimalOf(quoteAmount) }),
  };
}

export function withoutPlan<Answer extends object>(answer: Answer): Omit<Answer, 'plan'> {
  const { plan: _plan, ...rest } = answer as Answer & { plan?: unknown };
  return rest as Omit<Answer, 'plan'>;
}

export const movementIn = ({
  kind,
  wallet,
  asset,
  amountAtoms: atoms,
  reference,
  reverses,
  txid,
  owedAtoms: owed,
}: AccountMoved): MovementRecord => ({
  kind,
  wallet,
  asset,
  atoms,
  reference,
  ...(reverses !== undefined && { reverses }),
  ...(txid !== undefined && { txid }),
  ...(owed !== undefined && { owed }),
});

export const inOrder = <One extends { readonly number: number }>(orders: readonly One[]): One[] =>
  [...orders].sort((a, b) => a.number - b.number);

export function withClosedInOrder(event: ReferenceEvent): ReferenceEvent {
  if (event.kind === 'orders_closed') return { ...event, orders: inOrder(event.orders) };
  if (event.kind === 'order_placed') return { ...event, expired: inOrder(event.expired) };
  return event;
}

/** Sorts by market, because one command closes orders market by market in an unspecified market order. */
export const sortedClosings = (events: readonly ReferenceEvent[]): ReferenceEvent[] =>
  sortedBy(events, (event) => (event.kind === 'orders_closed' ? event.orders[0]!.market : ''));

/** Sorts by market and wallet, because commands of several wallets close orders concurrently. */
export const sortedClosingsOfWallets = (events: readonly ReferenceEvent[]): ReferenceEvent[] =>
  sortedClosings(
    sortedBy(events, (event) => (event.kind === 'orders_closed' ? event.orders[0]!.wallet : '')),
  );

function sortedBy<One>(list: readonly One[], keyOf: (one: One) => string): One[] {
  const keyed = list.map((one) => ({ one, key: keyOf(one) }));
  keyed.sort((a, b) => Number(a.key > b.key) - Number(a.key < b.key));
  return keyed.map(({ one }) => one);
}

export function rulesIn(market: Market): Rules {
  const { symbol, status, tradingEnabled, sellEnabled, visible, feeBps, tickSize, sizeStep } = market;
  const { minOrderSize, maxOrderSize, minNotional, selfTrade, referencePrice } = market;
  return {
    symbol,
    status,
    tradingEnabled,
    sellEnabled,
    visible,
    feeBps,
    tickSize,
    sizeStep,
    minOrderSize,
    maxOrderSize,
    minNotional,
    selfTrade,
    referencePrice,
  };
}

export function balancesIn(
  balances: ReadonlyMap<string, { availableAtoms: bigint; reservedAtoms: bigint }>,
): Map<string, readonly [bigint, bigint]> {
  const held = [...balances].filter(([, one]) => one.availableAtoms !== 0n || one.reservedAtoms !== 0n);
  return new Map(held.map(([account, one]) => [account, [one.availableAtoms, one.reservedAtoms]]));
}

export function walletsOf(event: EngineEvent): Set<string> {
  switch (event.kind) {
    case 'order_placed':
      return new Set([event.order.wallet, ...event.trades.map(({ makerWallet }) => makerWallet)]);
    case 'orders_closed':
      return new Set(event.orders.map(({ wallet }) => wallet));
    default:
      return new Set('wallet' in event ? [event.wallet] : []);
  }
}
