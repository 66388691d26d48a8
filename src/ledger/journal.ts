/** Reads the books of account: ledger entries of a span of time, and deposits and withdrawals by their reference. */

import type pg from 'pg';
import type { AccountMoved } from '../domain/event.ts';
import type { EntryKind } from './entries.ts';
import type { Pools } from './pools.ts';
import { askOnce } from './queries.ts';
import { storable } from './text.ts';

export interface LedgerEntry {
  /** `sequence-line`, in the order of the entries; an export resumes after it. */
  readonly entryId: string;
  readonly transactionId: string;
  readonly kind: EntryKind;
  readonly account: string;
  readonly asset: string;
  /** Decimals of an atom; null for an asset without a record, which has the default. */
  readonly scale: number | null;
  readonly amountAtoms: bigint;
  readonly reference: string;
  readonly timeMs: number;
}

export interface EntriesFilter {
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number;
  /** Unix milliseconds, exclusive. */
  readonly toMs: number;
  readonly asset?: string;
  /** Entry id after which the list begins. */
  readonly after?: string;
}

interface EntryRow {
  sequence: bigint;
  line: number;
  transaction_id: string;
  kind: EntryKind;
  account: string;
  asset: string;
  scale: number | null;
  amount_atoms: bigint;
  reference: string;
  time_ms: bigint;
}

const PAGE_ROWS = 5_000;
const ENTRY_ID = /^(\d{1,15})-(\d{1,9})$/;

/** @throws RangeError when `text` is no entry id */
function parseEntryId(text: string): { sequence: bigint; line: number } {
  const [, sequence, line] = ENTRY_ID.exec(text) ?? [];
  if (sequence === undefined || line === undefined) throw new RangeError(`not an entry id: ${text}`);
  return { sequence: BigInt(sequence), line: Number(line) };
}

/**
 * SQL that finds the first entry at or after a time by bisection: times never run backwards, so they need no index.
 * Each step looks at the entry in the middle of [low, high), some forty times for any length.
 */
const FIRST_SEQUENCE = `
  with recursive halves (low, high) as (
    select 0::bigint, max(sequence) + 1 from ledger_entries
    union all
    select case when time_ms < $1 then sequence + 1 else low end, case when time_ms < $1 then high else middle end
    from halves
    cross join lateral (select (low + high) / 2 as middle) as halved
    cross join lateral (
      select sequence, time_ms from ledger_entries where sequence >= middle order by sequence, line limit 1) as entry
    where low < high)
  select sequence from ledger_entries
  where sequence >= (select max(low) from halves) order by sequence, line limit 1`;

/** Returns the sequence of the first entry at or after the time; all later entries are of later sequences. */
async function firstSequence(pool: pg.Pool, timeMs: number): Promise<bigint | null> {
  const [row] = await askOnce<{ sequence: bigint }>(pool, FIRST_SEQUENCE, [timeMs]);
  return row?.sequence ?? null;
}

const PAGE = `
  select entry.*, assets.scale from ledger_entries as entry
  left join assets on assets.symbol = entry.asset
  where (sequence, line) > ($1, $2) and ($3::bigint is null or sequence < $3) and time_ms < $4
    and ($5::text is null or asset = $5)
  order by sequence, line limit ${PAGE_ROWS}`;

const entryOf = (row: EntryRow): LedgerEntry => ({
  entryId: `${row.sequence}-${row.line}`,
  transactionId: row.transaction_id,
  kind: row.kind,
  account: row.account,
  asset: row.asset,
  scale: row.scale,
  amountAtoms: row.amount_atoms,
  reference: row.reference,
  timeMs: Number(row.time_ms),
});

interface MovementRow {
  sequence: bigint;
  wallet: string;
  asset: string;
  amount_atoms: bigint;
}

export type Journal = ReturnType<typeof journal>;

/** Reads of the books of account. */
export function journal({ public: reading, auditing }: Pick<Pools, 'public' | 'auditing'>) {
  return {
    /**
     * Yields the entries of a span of time in their order. Pages are read by key, not in one snapshot: the table only
     * grows at its end, and an export of hours must not keep Postgres from vacuuming dead rows. //
     * @throws RangeError when `after` is no entry id; Refusal SERVICE_UNAVAILABLE when Postgres is unavailable
     */
    async *entries(filter: EntriesFilter): AsyncGenerator<LedgerEntry> {
      const first = await firstSequence(auditing, filter.fromMs);
      if (first === null) return;
      const end = await firstSequence(auditing, filter.toMs);
      let after = { sequence: first, line: -1 };
      if (filter.after !== undefined) {
        const resumed = parseEntryId(filter.after);
        if (resumed.sequence >= first) after = resumed;
      }
      for (;;) {
        const parameters = [after.sequence, after.line, end, filter.toMs, filter.asset ?? null];
        const rows = await askOnce<EntryRow>(auditing, PAGE, parameters);
        yield* rows.map(entryOf);
        const last = rows.at(-1);
        if (last === undefined || rows.length < PAGE_ROWS) return;
        after = last;
      }
    },

    /** Returns the deposit or withdrawal with an operator's reference, or null. */
    async movement(
      kind: AccountMoved['kind'],
      reference: string,
    ): Promise<(AccountMoved & { sequence: number }) | null> {
      const [row] = await askOnce<MovementRow>(
        reading,
        'select sequence, wallet, asset, amount_atoms from movements where kind = $1 and reference = $2',
        [kind, storable(reference)],
      );
      if (row === undefined) return null;
      const { wallet, asset, amount_atoms: amountAtoms } = row;
      return { kind, wallet, asset, amountAtoms, reference, sequence: Number(row.sequence) };
    },
  };
}
