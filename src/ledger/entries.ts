/** Double entry: what one trade, deposit or withdrawal writes into the ledger. */

import type { AccountMoved } from '../domain/event.ts';
import { baseAtoms, notionalAtoms, type Trade } from '../domain/order.ts';

/** Earns the fees. */
export const HOUSE = 'house';
/** The world outside: the other side of deposits and withdrawals. */
export const CUSTODY = 'custody';

export type EntryKind = 'trade' | 'fee' | 'credit' | 'debit';

/** One line of a transaction; the lines of a transaction sum to zero in every asset. */
export interface Entry {
  readonly transactionId: string;
  readonly kind: EntryKind;
  /** A wallet, `house` or `custody`. */
  readonly account: string;
  readonly asset: string;
  /** Positive: the account received. Never zero. */
  readonly amountAtoms: bigint;
  /** The account's order, or the reference of a deposit or withdrawal. */
  readonly reference: string;
}

/** Base one way, notional the other, and the fee from the taker to the house. */
export const entriesOfTrade = (trade: Trade): Entry[] => {
  const { takerWallet, makerWallet, takerOrderId, makerOrderId, lot } = trade;
  const buying = trade.takerSide === 'buy';
  const base = buying ? baseAtoms(trade) : -baseAtoms(trade);
  const quote = buying ? notionalAtoms(trade) : -notionalAtoms(trade);
  const transactionId = `trade-${trade.tradeId}`;
  const line = (kind: EntryKind, account: string, asset: string, amountAtoms: bigint, reference: string) => ({
    transactionId,
    kind,
    account,
    asset,
    amountAtoms,
    reference,
  });
  return [
    line('trade', takerWallet, lot.base, base, takerOrderId),
    line('trade', makerWallet, lot.base, -base, makerOrderId),
    line('trade', takerWallet, lot.quote, -quote, takerOrderId),
    line('trade', makerWallet, lot.quote, quote, makerOrderId),
    line('fee', takerWallet, lot.quote, -trade.feeAtoms, takerOrderId),
    line('fee', HOUSE, lot.quote, trade.feeAtoms, takerOrderId),
  ].filter((entry) => entry.amountAtoms !== 0n);
};

/** A deposit comes from custody, a withdrawal goes there. */
export const entriesOfMovement = (moved: AccountMoved & { readonly sequence: number }): Entry[] => {
  const { wallet, asset, amountAtoms, reference, sequence } = moved;
  const kind = moved.kind === 'credited' ? 'credit' : 'debit';
  const received = kind === 'credit' ? amountAtoms : -amountAtoms;
  const shared = { transactionId: `${kind}-${sequence}`, kind, asset, reference } as const;
  return [
    { ...shared, account: CUSTODY, amountAtoms: -received },
    { ...shared, account: wallet, amountAtoms: received },
  ];
};
