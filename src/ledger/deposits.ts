/** Reads deposits that were announced, and have neither arrived nor been dropped. */

import type { AccountMoved } from '../domain/event.ts';
import type { Pools } from './pools.ts';
import { askOnce } from './queries.ts';
import { inTurns } from './turns.ts';

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

/** The settled event, up to which the counts are. */
const COUNT = `select sequence,
    (select count(*) from public.announced_deposits) as in_all,
    (select count(*) from public.announced_deposits join public.operator_acts using (sequence) where operator = $1) as of_holder
  from public.engine_cursor`;
const COUNT_ALL =
  'select sequence, (select count(*) from public.announced_deposits) as in_all from public.engine_cursor';

const OLDEST = `
  select time_ms from public.movements
  where sequence = (select min(sequence) from public.announced_deposits)`;

export interface AnnouncedCounts {
  readonly inAll: number;
  /** Those of one person or key; at most `inAll`. */
  readonly ofHolder: number;
  /** The event up to which they are counted. */
  readonly settledTo: number;
}

export type DepositQueries = ReturnType<typeof depositQueries>;

export function depositQueries({ public: pool, deciding }: Pick<Pools, 'public' | 'deciding'>) {
  return {
    /** Runs work that announces a deposit if there is room for one, while nobody else does. */
    inTurn: inTurns(deciding, 'redbook announced deposits', 'too many deposits are being announced'),

    /**
     * Counts the announced deposits, and those of a person or key.
     * @param share what nobody has who need not be counted
     */
    async count(by: string, share: number): Promise<AnnouncedCounts> {
      const [all] = await askOnce<{ sequence: bigint; in_all: bigint }>(pool, COUNT_ALL);
      const inAll = Number(all!.in_all);
      if (inAll < share) return { inAll, ofHolder: inAll, settledTo: Number(all!.sequence) };
      const [row] = await askOnce<{ sequence: bigint; in_all: bigint; of_holder: bigint }>(pool, COUNT, [by]);
      return {
        inAll: Number(row!.in_all),
        ofHolder: Number(row!.of_holder),
        settledTo: Number(row!.sequence),
      };
    },

    /** Returns the time of the oldest announcement that did not end, in Unix milliseconds; null if there is none. */
    async oldestMs(): Promise<number | null> {
      const [row] = await askOnce<{ time_ms: bigint }>(pool, OLDEST);
      return row === undefined ? null : Number(row.time_ms);
    },

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
