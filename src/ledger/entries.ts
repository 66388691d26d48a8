/** Makes the double entries of a trade, a deposit or a withdrawal. */

import type { AccountMoved, MovementKind } from '../domain/event.ts';
import { baseAtoms, notionalAtoms, type Trade } from '../domain/order.ts';

/** Account that earns the fees. */
export const HOUSE = 'house';
/** Account of the other side of deposits and withdrawals: everything outside the exchange. */
export const CUSTODY = 'custody';

/** Account of withdrawals that were requested, and are neither confirmed nor returned. */
export const WITHDRAWALS = 'withdrawals';

/** Kind of the entries of each kind of movement, and the accounts that pay and receive. Null stands for the wallet. */
const BOOKED = {
  credited: { kind: 'credit', from: CUSTODY, to: null },
  debited: { kind: 'debit', from: null, to: CUSTODY },
  requested: { kind: 'request', from: null, to: WITHDRAWALS },
  confirmed: { kind: 'confirm', from: WITHDRAWALS, to: CUSTODY },
  returned: { kind: 'return', from: WITHDRAWALS, to: null },
} as const;

/** Names of movements in statements and reports. */
export const MOVEMENT_NAMES = {
  credited: 'deposit',
  debited: 'withdrawal',
  requested: 'withdrawal_requested',
  confirmed: 'withdrawal_confirmed',
  returned: 'withdrawal_returned',
} as const satisfies Record<MovementKind, string>;

export type MovementName = (typeof MOVEMENT_NAMES)[MovementKind];

/** `adopt`: what the lost events of a seam changed. */
export type EntryKind = 'trade' | 'fee' | 'adopt' | (typeof BOOKED)[keyof typeof BOOKED]['kind'];

/** SQL: the change of the wallet's balance by a row of `movements`. */
export const WALLET_CHANGE = `case when kind in ('credited', 'returned') then amount_atoms when kind = 'confirmed' then 0
  else -amount_atoms end`;
/** SQL: the change of the asset's supply by a row of `movements`. */
export const SUPPLY_CHANGE = `case when kind = 'credited' then amount_atoms when kind in ('debited', 'confirmed')
  then -amount_atoms else 0 end`;

/** One line of a transaction; the lines of a transaction sum to zero in every asset. */
export interface Entry {
  readonly transactionId: string;
  readonly kind: EntryKind;
  /** A wallet, `house`, `withdrawals` or `custody`. */
  readonly account: string;
  readonly asset: string;
  /** Positive: the account received. Never zero. */
  readonly amountAtoms: bigint;
  /** The account's order, or the reference of a deposit or withdrawal. */
  readonly reference: string;
}

/** An amount that changes hands, and its negative: a bigint or a text. */
export interface Exchanged<Amount> {
  readonly received: Amount;
  readonly paid: Amount;
}

/** Amounts that a trade moves. Null: the amount is zero and has no lines. */
interface TradeAmounts<Amount> {
  readonly base: Exchanged<Amount> | null;
  readonly notional: Exchanged<Amount> | null;
  readonly fee: Exchanged<Amount> | null;
}

/**
 * Books a trade: base one way, notional the other, and the fee from the taker to the house. Calls `book` for each line.
 */
export function bookTrade<Amount>(
  trade: Trade,
  { base, notional, fee }: TradeAmounts<Amount>,
  book: (kind: EntryKind, account: string, asset: string, amount: Amount, reference: string) => void,
): void {
  const { takerWallet, makerWallet, takerOrderId, makerOrderId, units } = trade;
  const isBuy = trade.takerSide === 'buy';
  if (base !== null) {
    book('trade', takerWallet, units.base, isBuy ? base.received : base.paid, takerOrderId);
    book('trade', makerWallet, units.base, isBuy ? base.paid : base.received, makerOrderId);
  }
  if (notional !== null) {
    book('trade', takerWallet, units.quote, isBuy ? notional.paid : notional.received, takerOrderId);
    book('trade', makerWallet, units.quote, isBuy ? notional.received : notional.paid, makerOrderId);
  }
  if (fee !== null) {
    book('fee', takerWallet, units.quote, fee.paid, takerOrderId);
    book('fee', HOUSE, units.quote, fee.received, takerOrderId);
  }
}

const exchanged = (atoms: bigint): Exchanged<bigint> | null =>
  atoms === 0n ? null : { received: atoms, paid: -atoms };

/** The entries of a trade in the order of their lines. */
export function entriesOfTrade(trade: Trade): Entry[] {
  const transactionId = transactionOfTrade(trade);
  const entries: Entry[] = [];
  const amounts = {
    base: exchanged(baseAtoms(trade)),
    notional: exchanged(notionalAtoms(trade)),
    fee: exchanged(trade.feeAtoms),
  };
  bookTrade(trade, amounts, (kind, account, asset, amountAtoms, reference) => {
    entries.push({ transactionId, kind, account, asset, amountAtoms, reference });
  });
  return entries;
}

export const transactionOfTrade = ({ tradeId }: Trade): string => `trade-${tradeId}`;

/** Returns the entries of a movement: that of custody first, then that of the wallet; a step has the pending account. */
export function entriesOfMovement(moved: AccountMoved & { readonly sequence: number }): Entry[] {
  const { wallet, asset, amountAtoms, reference, sequence } = moved;
  const { kind, from, to } = BOOKED[moved.kind];
  const shared = { transactionId: `${kind}-${sequence}`, kind, asset, reference } as const;
  const paid = { ...shared, account: from ?? wallet, amountAtoms: -amountAtoms };
  const received = { ...shared, account: to ?? wallet, amountAtoms };
  return to === null ? [paid, received] : [received, paid];
}
