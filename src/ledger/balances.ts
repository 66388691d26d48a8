/** Balances of all accounts at a time, and those that are kept: at the end of a closed month and of a day. */

import { createHash } from 'node:crypto';
import { OperatorRefusal } from '../domain/errors.ts';
import { dayStartMs, monthSpan } from '../domain/months.ts';
import { readCursor, type SettledCursor } from './cursor.ts';
import { firstSequenceAt } from './first-after.ts';
import { BALANCES_AT, BALANCES_SINCE_CLOSING, BOOKED_EVENTS } from './kept-balances.ts';
import type { Pools } from './pools.ts';
import { type Ask, inSnapshot, inTransaction } from './queries.ts';
import { cursorRows, LISTS_ARE_READ_WHOLE, streamRows } from './stream-rows.ts';

/** Balance of an account in one asset. */
export interface AccountFigures {
  /** A wallet, `house`, `withdrawals`, `custody`, or `receivable:` and a wallet. */
  readonly account: string;
  readonly asset: string;
  readonly totalAtoms: bigint;
  readonly reservedAtoms: bigint;
}

interface BalanceRow {
  account: string;
  asset: string;
  total: string;
  reserved: string;
}

export interface Closing {
  readonly month: string;
  /** Unix milliseconds, exclusive. */
  readonly endMs: number;
  /** The last booked event before the end; 0: none. */
  readonly sequence: number;
  readonly closedAtMs: number;
  /** SHA-256 of the balances, in hex. */
  readonly digest: string;
  readonly balances: number;
}

export interface BalancesFilter {
  readonly account?: string | undefined;
  readonly asset?: string | undefined;
}

const figuresOf = (row: BalanceRow): AccountFigures => ({
  account: row.account,
  asset: row.asset,
  totalAtoms: BigInt(row.total),
  reservedAtoms: BigInt(row.reserved),
});

/** The line of a balance in the digest of a closing. */
const lineOf = ({ account, asset, totalAtoms, reservedAtoms }: AccountFigures): string =>
  `${account}\t${asset}\t${totalAtoms}\t${reservedAtoms}\n`;

const CLOSINGS = `
  select month, end_ms, sequence, closed_at, encode(digest, 'hex') as digest,
    (select count(*) from public.closing_balances where closing_balances.month = closings.month) as balances
  from public.closings`;

interface ClosingRow {
  month: string;
  end_ms: bigint;
  sequence: bigint;
  closed_at: Date;
  digest: string;
  balances: bigint;
}

const closingOf = (row: ClosingRow): Closing => ({
  month: row.month,
  endMs: Number(row.end_ms),
  sequence: Number(row.sequence),
  closedAtMs: row.closed_at.getTime(),
  digest: row.digest,
  balances: Number(row.balances),
});

const KEEP_MONTH = `
  insert into public.closing_balances (month, account, asset, total_atoms, reserved_atoms)
  select $5, account, asset, total::numeric, reserved::numeric from (${BALANCES_SINCE_CLOSING}) as balances`;

const KEEP_DAY = `
  insert into public.daily_balances (end_ms, account, asset, total_atoms, sequence)
  select $1, account, asset, total::numeric, $5::bigint from (${BALANCES_AT}) as balances
  where total::numeric <> 0
  on conflict do nothing`;

/** Returns the last booked event before a sequence; 0: none. */
async function lastBefore(ask: Ask, end: bigint): Promise<bigint> {
  const [last] = await ask<{ sequence: bigint }>(
    `select sequence from ${BOOKED_EVENTS} where sequence < $1 order by sequence desc limit 1`,
    [end],
  );
  return last?.sequence ?? 0n;
}

async function keepMonth(ask: Ask, month: string): Promise<boolean> {
  const { endMs } = monthSpan(month);
  // A second command waits here, and finds the closing. To lock the table one would need the right to change it.
  await ask(`select pg_advisory_xact_lock(hashtext('redbook closings'))`);
  if ((await ask(`${CLOSINGS} where month = $1`, [month])).length > 0) return false;
  const end = await firstSequenceAt(ask, endMs);
  await ask(KEEP_MONTH, [endMs, end, null, null, month]);
  const digest = createHash('sha256');
  const kept = `select account, asset, total_atoms::text as total, reserved_atoms::text as reserved
    from public.closing_balances where month = $1 order by account, asset`;
  for await (const row of cursorRows<BalanceRow>(ask, kept, [month])) digest.update(lineOf(figuresOf(row)));
  await ask('insert into public.closings (month, end_ms, sequence, digest) values ($1, $2, $3, $4)', [
    month,
    endMs,
    await lastBefore(ask, end),
    digest.digest(),
  ]);
  // Days inside the month stay: a statement that begins there would sum all of the month before it.
  await ask('delete from public.daily_balances where end_ms = $1', [endMs]);
  await ask(
    'insert into public.chain_heads (sequence, head) select sequence, head from public.engine_cursor on conflict do nothing',
  );
  return true;
}

/** The balances of all accounts are read, so lists are read whole. */
const BEGIN = `begin; ${LISTS_ARE_READ_WHOLE}`;

export type BalanceQueries = ReturnType<typeof balanceQueries>;

/** Balances at a time, for the operator. Lists are streams of any length. */
export function balanceQueries({ auditing }: Pick<Pools, 'auditing'>) {
  return {
    /** Yields the balances right before a time (Unix milliseconds), by account and asset. */
    async *at(timeMs: number, { account, asset }: BalancesFilter = {}): AsyncGenerator<AccountFigures> {
      const end = await inSnapshot(auditing, (ask) => firstSequenceAt(ask, timeMs));
      const parameters = [timeMs, end, account ?? null, asset ?? null];
      for await (const row of streamRows<BalanceRow>(auditing, BALANCES_AT, parameters)) yield figuresOf(row);
    },

    /** Returns the last settled event, as long commands read it. */
    cursor(): Promise<SettledCursor> {
      return inSnapshot(auditing, readCursor);
    },

    /**
     * Closes a month: keeps the balances of all accounts at its end. All events before its end must be settled.
     * @returns the closing; `isNew` false when the month was closed before
     */
    async close(month: string): Promise<Closing & { readonly isNew: boolean }> {
      const isNew = await inTransaction(auditing, BEGIN, (ask) => keepMonth(ask, month));
      const [row] = await inSnapshot(auditing, (ask) =>
        ask<ClosingRow>(`${CLOSINGS} where month = $1`, [month]),
      );
      if (row === undefined) throw new OperatorRefusal('NOT_CLOSED', `${month} has no closing`);
      return { ...closingOf(row), isNew };
    },

    /** Returns all closings, the oldest first. */
    async closings(): Promise<Closing[]> {
      const rows = await inSnapshot(auditing, (ask) => ask<ClosingRow>(`${CLOSINGS} order by month`));
      return rows.map(closingOf);
    },

    /** Keeps the balances at the last midnight (UTC) before a time by which all events are settled. */
    async keepDay(timeMs: number): Promise<void> {
      const endMs = dayStartMs(timeMs);
      await inTransaction(auditing, BEGIN, async (ask) => {
        const known =
          'select from public.closings where end_ms = $1 union all (select from public.daily_balances where end_ms = $1 limit 1)';
        if ((await ask(known, [endMs])).length > 0) return;
        const end = await firstSequenceAt(ask, endMs);
        await ask(KEEP_DAY, [endMs, end, null, null, await lastBefore(ask, end)]);
      });
    },
  };
}
