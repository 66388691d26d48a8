/** Closings: the balances of all accounts at the end of a month, which stay as they are. */

import { createHash } from 'node:crypto';
import { monthSpan } from '../domain/months.ts';
import { type AccountFigures, type BalanceRow, figuresOf, READ_ALL } from './balances.ts';
import { CLOSE_ACT, IS_OF_MONTH, REOPEN_ACT, TURN_OF_CLOSINGS } from './closing-acts.ts';
import { bookedFrom } from './first-after.ts';
import { BALANCES_SINCE_CLOSING, BOOKED_EVENTS, lastBookedBefore } from './kept-balances.ts';
import type { Moment, Moments } from './moment.ts';
import type { Pools } from './pools.ts';
import { type Ask, inSnapshot, inTransaction } from './queries.ts';
import { cursorRows } from './stream-rows.ts';
import { inTurns } from './turns.ts';

/** The balances that were kept. */
interface KeptFigures {
  /** The last booked event before the end; 0: none. */
  readonly sequence: number;
  readonly balances: number;
}

/** A closing that an act made. */
export interface Closing {
  readonly month: string;
  /** Unix milliseconds, exclusive. */
  readonly endMs: number;
  /** Unix milliseconds of the act that closed the month. */
  readonly closedAtMs: number;
  /** Unix milliseconds of the act that withdrew the closing; null while it is in force. */
  readonly reopenedAtMs: number | null;
  /** SHA-256 of the balances, in hex. */
  readonly digest: string;
  /** Null if the rows were lost, as with an older copy of Postgres. */
  readonly figures: KeptFigures | null;
}

/** A second closing of the same digest right after the first is of a command that ran at the same moment. */
const CLOSINGS = `
  select acts.month, acts.digest, acts.time_ms, case next when '${REOPEN_ACT}' then next_ms end as reopened_ms, closings.sequence,
    (select count(*) from public.closing_balances where closing = closings.id) as balances
  from (
    select subject as month, name, after as digest, sequence as act, time_ms, lead(name) over later as next,
      lead(time_ms) over later as next_ms
    from public.operator_acts where ${IS_OF_MONTH}
    window later as (partition by subject order by sequence)) as acts
  left join public.closings on closings.month = acts.month and encode(closings.digest, 'hex') = acts.digest
  where acts.name = '${CLOSE_ACT}' and next is distinct from '${CLOSE_ACT}'
  order by acts.month, act`;

interface ClosingRow {
  month: string;
  digest: string;
  time_ms: bigint;
  reopened_ms: bigint | null;
  sequence: bigint | null;
  balances: bigint;
}

const closingOf = ({ month, digest, time_ms, reopened_ms, sequence, balances }: ClosingRow): Closing => ({
  month,
  endMs: monthSpan(month).endMs,
  closedAtMs: Number(time_ms),
  reopenedAtMs: reopened_ms === null ? null : Number(reopened_ms),
  digest,
  figures: sequence === null ? null : { sequence: Number(sequence), balances: Number(balances) },
});

const KEEP_BALANCES = `
  insert into public.closing_balances (closing, account, asset, total_atoms, reserved_atoms)
  select $5::bigint, account, asset, total::numeric, reserved::numeric from (${BALANCES_SINCE_CLOSING}) as balances`;

/** Balances without a closing are not of the release, and must not get into the next one. */
const NEXT_ID = `
  select greatest((select max(id) from public.closings), (select max(closing) from public.closing_balances), 0) + 1 as id`;

/** The line of a balance in the digest of a closing. */
const lineOf = ({ account, asset, totalAtoms, reservedAtoms }: AccountFigures): string =>
  `${account}\t${asset}\t${totalAtoms}\t${reservedAtoms}\n`;

async function digestOf(ask: Ask, id: bigint): Promise<Buffer> {
  const digest = createHash('sha256');
  const kept = `select account, asset, total_atoms::text as total, reserved_atoms::text as reserved
    from public.closing_balances where closing = $1 order by account, asset`;
  for await (const row of cursorRows<BalanceRow>(ask, kept, [id])) digest.update(lineOf(figuresOf(row)));
  return digest.digest();
}

async function keepFigures(ask: Ask, moment: Moment, month: string): Promise<string> {
  const { endMs } = monthSpan(month);
  const { sequence: end } = await bookedFrom(moment, endMs);
  const [{ id }] = (await ask<{ id: bigint }>(NEXT_ID)) as [{ id: bigint }];
  await ask('savepoint before_figures');
  await ask(KEEP_BALANCES, [endMs, end, null, null, id]);
  const digest = await digestOf(ask, id);
  const known = 'select from public.closings where month = $1 and digest = $2';
  if ((await ask(known, [month, digest])).length > 0) {
    await ask('rollback to savepoint before_figures');
    return digest.toString('hex');
  }
  await ask('insert into public.closings (id, month, end_ms, sequence, digest) values ($1, $2, $3, $4, $5)', [
    id,
    month,
    endMs,
    await lastBookedBefore(ask, end),
    digest,
  ]);
  await ask(
    'insert into public.chain_heads (sequence, head) select sequence, head from public.engine_cursor on conflict do nothing',
  );
  return digest.toString('hex');
}

export type ClosingQueries = ReturnType<typeof closingQueries>;

export function closingQueries({ auditing }: Pick<Pools, 'auditing'>, moments: Moments) {
  return {
    /**
     * Runs work that closes or reopens a month, while nobody else does: it decides by the closings that there are. A
     * lock of the table would need the right to change its rows.
     */
    inTurn: inTurns(auditing, TURN_OF_CLOSINGS, 'another month is being closed or reopened'),

    /** Returns all closings that acts made, by month and in the order of their acts; the last of a month may be in force. */
    async all(): Promise<Closing[]> {
      return (await inSnapshot(auditing, (ask) => ask<ClosingRow>(CLOSINGS))).map(closingOf);
    },

    /**
     * Keeps the balances of all accounts at the end of a month, unless the same ones are kept. All events before its end
     * must be settled. An act with their digest puts them in force. The caller has its turn.
     * @returns the digest, in hex
     */
    keep(month: string): Promise<string> {
      return inTransaction(auditing, READ_ALL, async (ask) => keepFigures(ask, await moments.in(ask), month));
    },

    /** Returns the time of the first booked event at or after a time, both in Unix milliseconds; null: there is none. */
    firstBookedAt(timeMs: number): Promise<number | null> {
      return inSnapshot(auditing, async (ask) => {
        const { sequence } = await bookedFrom(await moments.in(ask), timeMs);
        const [row] = await ask<{ time_ms: bigint }>(
          `select time_ms from ${BOOKED_EVENTS} where sequence = $1 limit 1`,
          [sequence],
        );
        return row === undefined ? null : Number(row.time_ms);
      });
    },
  };
}
