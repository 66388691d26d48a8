/** Reads withdrawals that custody pays later, by their state. */

import type { AccountMoved } from '../domain/event.ts';
import { readTake, type Take, type WithdrawalState } from '../domain/withdrawal-states.ts';
import type { Pools } from './pools.ts';
import { askOnce } from './queries.ts';
import { beginningOf, type Direction, follows, inDirection } from './walk.ts';

export interface ListedWithdrawal
  extends Pick<AccountMoved, 'reference' | 'wallet' | 'asset' | 'amountAtoms'> {
  readonly state: WithdrawalState;
  readonly txid: string | null;
  /** True while the wallet is on custody hold. */
  readonly held: boolean;
  /** Null while nobody took it, and once it ended. */
  readonly taken: Take | null;
  readonly requestedAtMs: number;
  /** Null while it is pending. */
  readonly endedAtMs: number | null;
  /** The event by which lists are in order: the request of a pending one, the end of others. */
  readonly sequence: number;
}

interface ListedRow {
  reference: string;
  wallet: string;
  asset: string;
  amount_atoms: bigint;
  txid: string | null;
  held: boolean;
  take?: string | null;
  requested_ms: bigint;
  ended_ms: bigint | null;
  sequence: bigint;
}

const HELD = 'exists (select from public.holds where holds.wallet = movements.wallet) as held';

const pendingIn = (direction: Direction): string => `
  select movements.reference, wallet, asset, amount_atoms, txid, time_ms as requested_ms, null::bigint as ended_ms, sequence,
    ${HELD}, take
  from (select sequence from public.pending_withdrawals where ${follows(direction, 'sequence', '$1')}
    ${inDirection(direction, 'sequence')} limit $2) as pending
  join public.movements using (sequence) left join public.taken_withdrawals using (reference)
  ${inDirection(direction, 'sequence')}`;

const endedIn = (direction: Direction): string => `
  select ends.reference, ends.wallet, ends.asset, ends.amount_atoms, ends.txid, request.time_ms as requested_ms,
    ends.time_ms as ended_ms, ends.sequence, ${HELD.replace('movements', 'ends')}
  from (select * from public.movements where kind = $3 and kind in ('requested', 'confirmed', 'returned')
    and ${follows(direction, 'sequence', '$1')} ${inDirection(direction, 'sequence')} limit $2) as ends
  join public.movements as request on request.kind = 'requested' and request.reference = ends.reference
  ${inDirection(direction, 'ends.sequence')}`;

export type WithdrawalQueries = ReturnType<typeof withdrawalQueries>;

export function withdrawalQueries({ public: pool }: Pick<Pools, 'public'>) {
  return {
    /** Returns how many withdrawals are taken for longer than their takers said. */
    async overdue(nowMs: number): Promise<number> {
      const [row] = await askOnce<{ count: bigint }>(
        pool,
        'select count(*) from public.taken_withdrawals where until_ms < $1',
        [nowMs],
      );
      return Number(row!.count);
    },

    /** Returns the withdrawals of a state after an event. */
    async list(
      state: WithdrawalState,
      limit: number,
      direction: Direction = 'asc',
      after = beginningOf(direction),
    ): Promise<ListedWithdrawal[]> {
      const isPending = state === 'pending';
      const parameters = isPending ? [after, limit] : [after, limit, state];
      const rows = await askOnce<ListedRow>(
        pool,
        isPending ? pendingIn(direction) : endedIn(direction),
        parameters,
      );
      return rows.map((row) => ({
        reference: row.reference,
        wallet: row.wallet,
        asset: row.asset,
        amountAtoms: row.amount_atoms,
        state,
        txid: row.txid,
        held: row.held,
        taken: row.take == null ? null : readTake(row.take),
        requestedAtMs: Number(row.requested_ms),
        endedAtMs: row.ended_ms === null ? null : Number(row.ended_ms),
        sequence: Number(row.sequence),
      }));
    },
  };
}
