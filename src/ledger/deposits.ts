/** Reads deposits that were announced, and have neither arrived nor been dropped. */

import type { AccountMoved } from '../domain/event.ts';
import type { Pools } from './pools.ts';
import { askOnce } from './queries.ts';

export interface AnnouncedDeposit
  extends Pick<AccountMoved, 'reference' | 'wallet' | 'asset' | 'amountAtoms'> {
  readonly announcedAtMs: number;
  /** The event of its announcement, by which lists are in order. */
  readonly sequence: number;
}

interface Row {
  reference: string;
  wallet: string;
  asset: string;
  amount_atoms: bigint;
  time_ms: bigint;
  sequence: bigint;
}

const ANNOUNCED = `
  select reference, wallet, asset, amount_atoms, time_ms, sequence
  from (select sequence from public.announced_deposits where sequence > $1 order by sequence limit $2) as announced
  join public.movements using (sequence) order by sequence`;

export type DepositQueries = ReturnType<typeof depositQueries>;

export function depositQueries({ public: pool }: Pick<Pools, 'public'>) {
  return {
    /** Returns the announced deposits after an event, oldest first. */
    async announced(after: number, limit: number): Promise<AnnouncedDeposit[]> {
      const rows = await askOnce<Row>(pool, ANNOUNCED, [after, limit]);
      return rows.map(({ amount_atoms: amountAtoms, time_ms: announcedAtMs, sequence, ...row }) => ({
        ...row,
        amountAtoms,
        announcedAtMs: Number(announcedAtMs),
        sequence: Number(sequence),
      }));
    },
  };
}
