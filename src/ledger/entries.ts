/** The double entries of a trade, a deposit or a withdrawal, as the view `ledger_entries` makes them of their rows. */

import type { AccountMoved, MovementKind } from '../domain/event.ts';
import { baseAtoms, notionalAtoms, type Trade } from '../domain/order.ts';

/** Account that earns the fees. */
export const HOUSE = 'house';
/** Account of the other side of deposits and withdrawals: everything outside the exchange. */
export const CUSTODY = 'custody';

/** Account of withdrawals that were requested, and are neither confirmed nor returned. */
export const WITHDRAWALS = 'withdrawals';

const RECEIVABLE = 'receivable:';
/** Account of what a wallet owes since a deposit was reversed that it had spent; its balance is negative or 0. */
export const receivableOf = (wallet: string): string => RECEIVABLE + wallet;
/** Returns the wallet that owes what an account says; undefined for other accounts. */
export const debtorOf = (account: string): string | undefined =>
  account.startsWith(RECEIVABLE) ? account.slice(RECEIVABLE.length) : undefined;

/** The accounts that pay and receive a movement of each kind; null for one that moves nothing. Null stands for the wallet. */
const MOVED = {
  credited: { from: CUSTODY, to: null },
  debited: { from: null, to: CUSTODY },
  requested: { from: null, to: WITHDRAWALS },
  confirmed: { from: WITHDRAWALS, to: CUSTODY },
  returned: { from: WITHDRAWALS, to: null },
  announced: null,
  dropped: null,
} as const satisfies Record<
  MovementKind,
  { readonly from: string | null; readonly to: string | null } | null
>;

/** Names of movements in statements and reports. */
export const MOVEMENT_NAMES = {
  credited: 'deposit',
  debited: 'withdrawal',
  requested: 'withdrawal_requested',
  confirmed: 'withdrawal_confirmed',
  returned: 'withdrawal_returned',
  announced: 'deposit_announced',
  dropped: 'deposit_dropped',
} as const satisfies Record<MovementKind, string>;

/** Names of movements, and of takes of withdrawals, in the changes for custody. */
export const CHANGE_NAMES = {
  ...MOVEMENT_NAMES,
  withdrawal_taken: 'withdrawal_taken',
  withdrawal_released: 'withdrawal_released',
} as const;

export type MovementName = (typeof MOVEMENT_NAMES)[MovementKind];

/** `adopt`: what the lost events of a seam changed. */
export type EntryKind =
  | 'trade'
  | 'fee'
  | 'credit'
  | 'debit'
  | 'request'
  | 'confirm'
  | 'return'
  | 'receivable'
  | 'adopt';

/** SQL: the change of the wallet's balance by a row of `movements`. */
export const WALLET_CHANGE = `case when kind in ('credited', 'returned') then amount_atoms - owed_atoms
  when kind in ('debited', 'requested') then owed_atoms - amount_atoms else 0 end`;
/** SQL: the transaction of a row of `movements`. A request has that of its confirmation, because it has the amount. */
export const PAID_BY = `case when movements.kind <> 'requested' then movements.txid else (
    select ended.txid from public.movements as ended
    where ended.kind in ('confirmed', 'returned') and ended.reference = movements.reference) end`;
/** SQL: the change of the asset's supply, which all accounts but custody and receivables have, by a row of `movements`. */
export const SUPPLY_CHANGE = `case kind when 'credited' then amount_atoms - owed_atoms when 'debited' then owed_atoms - amount_atoms
  when 'confirmed' then -amount_atoms when 'returned' then -owed_atoms else 0 end`;

/** The change of an account by a transaction. The changes of a transaction sum to zero in every asset. */
interface Entry {
  /** A wallet, `house`, `withdrawals`, `custody`, or `receivable:` and a wallet. */
  readonly account: string;
  readonly asset: string;
  /** Positive: the account received. */
  readonly amountAtoms: bigint;
}

const moved = (asset: string, amountAtoms: bigint, from: string, to: string): Entry[] => [
  { account: from, asset, amountAtoms: -amountAtoms },
  { account: to, asset, amountAtoms },
];

/** Returns the entries of a trade: base one way, notional the other, and the fee from the taker to the house. */
export function entriesOfTrade(trade: Trade): Entry[] {
  const { takerSide, takerWallet, makerWallet, units, feeAtoms } = trade;
  const [buyer, seller] = takerSide === 'buy' ? [takerWallet, makerWallet] : [makerWallet, takerWallet];
  return [
    ...moved(units.base, baseAtoms(trade), seller, buyer),
    ...moved(units.quote, notionalAtoms(trade), buyer, seller),
    ...moved(units.quote, feeAtoms, takerWallet, HOUSE),
  ];
}

/** Returns the entries of a movement: its amount, and what the wallet owes since, or pays of what it owed. */
export function entriesOfMovement({ kind, wallet, asset, amountAtoms, owedAtoms }: AccountMoved): Entry[] {
  if (MOVED[kind] === null) return [];
  const { from, to } = MOVED[kind];
  const entries = moved(asset, amountAtoms, from ?? wallet, to ?? wallet);
  if (owedAtoms === undefined) return entries;
  const lentAtoms = kind === 'debited' ? owedAtoms : -owedAtoms;
  return [...entries, ...moved(asset, lentAtoms, receivableOf(wallet), wallet)];
}
