/** Lists of a reference ledger: counts as digits, and each trade from one side. */

import { type Fill, fillOf, type ListedOrder, type Trade, walletTradeOf } from '../../src/domain/order.ts';
import type { ReferenceOrder } from './reference-ledger.ts';

export const fillInDigits = (fill: Fill): Fill => ({
  ...fill,
  priceTicks: String(fill.priceTicks),
  sizeSteps: String(fill.sizeSteps),
  notionalAtoms: String(fill.notionalAtoms),
  feeAtoms: String(fill.feeAtoms),
});

export const orderInDigits = <Order extends ListedOrder>(order: Order) => ({
  ...order,
  priceTicks: order.priceTicks === null ? null : String(order.priceTicks),
  sizeSteps: String(order.sizeSteps),
  filledSteps: String(order.filledSteps),
});

export function listedOrder({ trades, ...order }: ReferenceOrder) {
  const { wallet: _wallet, leverage: _leverage, units: _units, ...listed } = order;
  return orderInDigits({ ...listed, fills: trades.map((trade) => fillInDigits(fillOf(trade, order.id))) });
}

export const listedTrades = (trades: readonly Trade[], wallet: string) =>
  trades.map((trade) => {
    const { fill, ...rest } = walletTradeOf(trade, wallet);
    return { ...rest, fill: fillInDigits(fill) };
  });
