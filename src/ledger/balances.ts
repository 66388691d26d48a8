/** Balances of all accounts at a time, and those that are kept at the end of a day. */

import { dayStartMs } from '../domain/months.ts';
import { CLOSINGS_IN_FORCE } from './closing-acts.ts';
import { readCursor, type SettledCursor } from './cursor.ts';
import { bookedEvents, bookedFrom } from './first-after.ts';
import { BALANCES_AT, lastBookedBefore } from './kept-balances.ts';
import type { Moments } from './moment.ts';
import type { Pools } from './pools.ts';
import { inSnapshot, inTransaction } from './queries.ts';
import { takesSealing } from './seals.ts';
import { LISTS_ARE_READ_WHOLE, streamRows } from './stream-rows.ts';

/** Balance of an account in one asset. */
export interface AccountFigures {
  /** A wallet, `house`, `withdrawals`, `custody`, or `receivable:` and a wallet. */
  readonly account: string;
  readonly asset: string;
  readonly totalAtoms: bigint;
  readonly reservedAtoms: bigint;
}

export interface BalanceRow {
  account: string;
  asset: string;
  total: string;
  reserved: string;
}

export interface BalancesFilter {
  readonly account?: string | undefined;
  readonly asset?: string | undefined;
}

export const figuresOf = (row: BalanceRow): AccountFigures => ({
  account: row.account,
  asset: row.asset,
  totalAtoms: BigInt(row.total),
  reservedAtoms: BigInt(row.reserved),
});

const KEEP = `
  insert into public.kept_balances (sequence, account, asset, total_atoms)
  select $5::bigint, account, asset, total::numeric from (${BALANCES_AT}) as balances
  where total::numeric <> 0
  on conflict do nothing`;

/** SQL of balances that are kept already, since whose event nothing was booked up to an event, and of its seal. */
const KNOWN = `
  select from ${CLOSINGS_IN_FORCE} where sequence >= $1
  union all select from public.seals where to_sequence > $1
  union all (select from public.kept_balances where sequence >= $1 limit 1)`;

/** The balances of all accounts are read, so lists are read whole. */
export const READ_ALL = `begin; ${LISTS_ARE_READ_WHOLE}`;

export type BalanceQueries = ReturnType<typeof balanceQueries>;

/** Balances at a time, for the operator. Lists are streams of any length. */
export function balanceQueries({ auditing }: Pick<Pools, 'auditing'>, moments: Moments) {
  return {
    /** Yields the balances right before a time (Unix milliseconds), by account and asset. */
    async *at(timeMs: number, { account, asset }: BalancesFilter = {}): AsyncGenerator<AccountFigures> {
      const [end] = await bookedEvents(moments, auditing, [timeMs]);
      const parameters = [timeMs, end, account ?? null, asset ?? null];
      for await (const row of streamRows<BalanceRow>(auditing, BALANCES_AT, parameters)) yield figuresOf(row);
    },

    /** Returns the last settled event, as long commands read it. */
    cursor(): Promise<SettledCursor> {
      return inSnapshot(auditing, readCursor);
    },

    /**
     * Keeps the balances at the last midnight (UTC) before a time by which all events are settled, unless later ones are
     * kept, nothing was booked since, or another process seals.
     */
    async keepDay(timeMs: number): Promise<void> {
      const endMs = dayStartMs(timeMs);
      await inTransaction(auditing, READ_ALL, async (ask) => {
        if (!(await takesSealing(ask))) return;
        const { sequence: end } = await bookedFrom(await moments.in(ask), endMs);
        const last = await lastBookedBefore(ask, end);
        if ((await ask(KNOWN, [last])).length === 0) await ask(KEEP, [endMs, end, null, null, last]);
      });
    },
  };
}
