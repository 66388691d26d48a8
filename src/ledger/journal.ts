/** Reads the books of account: ledger entries of a span of time, and deposits and withdrawals by their reference. */

import type { AccountMoved, MovementKind, MovementSide } from '../domain/event.ts';
import type { Side } from '../domain/order.ts';
import { readTake } from '../domain/withdrawal-states.ts';
import { CHANGE_NAMES, type EntryKind, MOVEMENT_NAMES, type MovementName, PAID_BY } from './entries.ts';
import { bookedEvents } from './first-after.ts';
import type { Moments } from './moment.ts';
import type { Pools } from './pools.ts';
import {
  isPriced,
  PRICED_TRADE_COLUMNS,
  type PricedTrade,
  type PricedTradeRow,
  pricedTradeOf,
} from './priced-trade.ts';
import { askOnce, BY_INDEX, inSnapshot } from './queries.ts';
import { streamRows } from './stream-rows.ts';
import { storable } from './text.ts';
import { beginningOf, type Direction, follows, inDirection } from './walk.ts';

export interface LedgerEntry {
  /** `sequence-line`, in the order of the entries; an export resumes after it. */
  readonly entryId: string;
  readonly transactionId: string;
  readonly kind: EntryKind;
  readonly account: string;
  readonly asset: string;
  readonly amountAtoms: bigint;
  readonly reference: string;
  readonly timeMs: number;
  /** The trade that the entry books; null for a deposit or a withdrawal. */
  readonly trade: EntryTrade | null;
}

interface EntryTrade extends PricedTrade {
  /** Side of the account; null for the house. */
  readonly side: Side | null;
}

export interface EntriesFilter {
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number;
  /** Unix milliseconds, exclusive. */
  readonly toMs: number;
  readonly asset?: string | undefined;
  /** A wallet, `house`, `withdrawals`, `custody`, or `receivable:` and a wallet. */
  readonly account?: string | undefined;
  /** Entry id after which the list begins. */
  readonly after?: string | undefined;
}

interface EntryRow extends Partial<PricedTradeRow> {
  sequence: bigint;
  line: number;
  transaction_id: string;
  kind: EntryKind;
  account: string;
  asset: string;
  amount_atoms: bigint;
  reference: string;
  time_ms: bigint;
  side: Side | null;
}

/** Maximum entries of a page, and maximum of trades, movements and adopted balances below it. */
const PAGE_ROWS = 5_000;
const PAGE_TRANSFERS = 1_000;
const NO_LINE = -1;
const ENTRY_ID = /^(\d{1,15})-(\d{1,9})$/;

/** @throws RangeError when `text` is no entry id */
function parseEntryId(text: string): { sequence: bigint; line: number } {
  const [, sequence, line] = ENTRY_ID.exec(text) ?? [];
  if (sequence === undefined || line === undefined) throw new RangeError(`not an entry id: ${text}`);
  return { sequence: BigInt(sequence), line: Number(line) };
}

/** A trade's id is in the name of its transaction. */
const TRADE_ID = `case when entry.transaction_id ~ '^trade-[0-9]{1,16}$' then substr(entry.transaction_id, 7)::bigint end`;

const transfersFrom = (table: string, order: string): string => `
    (select sequence from public.${table} where sequence >= $1 and sequence < $2 order by ${order} limit ${PAGE_TRANSFERS})`;

/**
 * The event of the last transfer of a page that begins with an event, found by index: the view has no order that a limit
 * could stop at. No row when fewer transfers are left.
 */
const PAGE_END = `
  select sequence from (${[
    transfersFrom('trades', 'sequence, trade_id'),
    transfersFrom('movements', 'sequence'),
    transfersFrom('adopted_balances', 'sequence, line'),
  ].join(' union all')}) as transfers
  order by sequence offset ${PAGE_TRANSFERS - 1} limit 1`;

const PAGE = `
  select entry.*, ${PRICED_TRADE_COLUMNS},
    case account when taker_wallet then taker_side
      when maker_wallet then case taker_side when 'buy' then 'sell' else 'buy' end end as side
  from (
    select * from public.ledger_entries
    where sequence >= $1 and (sequence, line) > ($1, $2) and sequence < $3 and time_ms < $4
      and ($5::text is null or asset = $5) and ($6::text is null or account = $6)
    order by sequence, line limit ${PAGE_ROWS}
  ) as entry
  left join lateral (select * from public.trades
    where sequence = entry.sequence and sequence >= $1 and sequence < $3 and trade_id = ${TRADE_ID} offset 0) as trades on true
  left join public.markets on markets.symbol = trades.market
  order by entry.sequence, line`;

const entryOf = (row: EntryRow): LedgerEntry => ({
  entryId: `${row.sequence}-${row.line}`,
  transactionId: row.transaction_id,
  kind: row.kind,
  account: row.account,
  asset: row.asset,
  amountAtoms: row.amount_atoms,
  reference: row.reference,
  timeMs: Number(row.time_ms),
  trade: isPriced(row) ? { ...pricedTradeOf(row), side: row.side } : null,
});

export interface MovementsFilter {
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number;
  /** Unix milliseconds, exclusive. */
  readonly toMs: number;
  readonly wallet?: string | undefined;
  readonly asset?: string | undefined;
  /** Only deposits, or only withdrawals, with their steps. */
  readonly side?: MovementSide | undefined;
  readonly direction?: Direction | undefined;
  /** Event after which the list begins. */
  readonly after?: number | undefined;
  /** Maximum movements; all of them unless given. */
  readonly limit?: number | undefined;
}

/** A deposit, a withdrawal, or a step of one. */
interface BookedMovement extends Omit<AccountMoved, 'kind' | 'reverses' | 'txid' | 'owedAtoms'> {
  readonly kind: MovementName;
  readonly reverses: string | null;
  readonly txid: string | null;
  readonly owedAtoms: bigint;
  readonly sequence: number;
  readonly timeMs: number;
}

/** A movement with who made it, and why; null for one without an act. */
interface ReportedMovement extends BookedMovement {
  readonly by: string | null;
  readonly reason: string | null;
}

const KINDS: Readonly<Record<MovementSide, readonly MovementKind[]>> = {
  deposit: ['credited', 'announced', 'dropped'],
  withdrawal: ['debited', 'requested', 'confirmed', 'returned'],
};

const movementsIn = (direction: Direction): string => `
  select movements.sequence, kind, movements.wallet, movements.asset, amount_atoms, reference, movements.time_ms,
    reverses, ${PAID_BY} as txid, owed_atoms, operator as by, reason
  from public.movements left join public.operator_acts using (sequence)
  where movements.sequence >= $1 and movements.sequence < $2 and ${follows(direction, 'movements.sequence', '$5')}
    and ($3::text is null or movements.wallet = $3) and ($4::text is null or movements.asset = $4)
    and ($7::text[] is null or kind = any($7))
  ${inDirection(direction, 'movements.sequence')} limit $6`;

/** A take has the wallet, asset and amount of its request. */
const CHANGES_AFTER = `
  select * from (
    (select sequence, kind, wallet, asset, amount_atoms, reference, time_ms, reverses, txid, owed_atoms, null as take
      from public.movements where sequence > $1 order by sequence limit $2)
    union all
    select changes.sequence, changes.kind, request.wallet, request.asset, request.amount_atoms, request.reference,
      changes.time_ms, null, null, 0, changes.value
    from (select * from public.setting_changes
        where kind in ('withdrawal_taken', 'withdrawal_released') and sequence > $1 order by sequence limit $2) as changes
    join public.movements as request on request.kind = 'requested' and request.reference = changes.subject) as changed
  order by sequence limit $2`;

/** A movement, or a take of a withdrawal or its end. */
export interface MovementChange extends Omit<BookedMovement, 'kind'> {
  readonly kind: (typeof CHANGE_NAMES)[keyof typeof CHANGE_NAMES];
  /** Name of who took the withdrawal. */
  readonly takenBy: string | null;
}

interface ChangeRow extends Omit<MovementRow, 'kind'> {
  kind: keyof typeof CHANGE_NAMES;
  reference: string;
  take: string | null;
}

const changeOf = ({ kind, take, ...row }: ChangeRow): MovementChange => ({
  ...bookedMovementOf({ ...row, kind: 'requested' }),
  kind: CHANGE_NAMES[kind],
  takenBy: take === null ? null : readTake(take).by,
});

const bookedMovementOf = (row: MovementRow & { reference: string }): BookedMovement => ({
  kind: MOVEMENT_NAMES[row.kind],
  wallet: row.wallet,
  asset: row.asset,
  amountAtoms: row.amount_atoms,
  reference: row.reference,
  reverses: row.reverses,
  txid: row.txid,
  owedAtoms: row.owed_atoms,
  sequence: Number(row.sequence),
  timeMs: Number(row.time_ms),
});

interface MovementRow {
  sequence: bigint;
  kind: MovementKind;
  wallet: string;
  asset: string;
  amount_atoms: bigint;
  reverses: string | null;
  txid: string | null;
  owed_atoms: bigint;
  time_ms: bigint;
}

interface ReportedRow extends MovementRow, Pick<ReportedMovement, 'by' | 'reason'> {
  reference: string;
}

/** A movement as it is settled. */
export interface SettledMovement extends AccountMoved {
  readonly sequence: number;
  readonly timeMs: number;
}

/** Kinds of movements that share the references of a kind, as claims of the engine do. */
const SHARING: Readonly<Record<MovementKind, readonly MovementKind[]>> = {
  credited: ['credited', 'dropped'],
  debited: ['debited', 'requested'],
  requested: ['debited', 'requested'],
  confirmed: ['confirmed', 'returned'],
  returned: ['confirmed', 'returned'],
  announced: ['announced'],
  dropped: ['credited', 'dropped'],
};

const BY_REFERENCE = `
  select sequence, kind, wallet, asset, amount_atoms, reverses, txid, owed_atoms, time_ms from public.movements
  where kind = any($1::text[]) and reference = $2`;

const settledMovementOf = (row: MovementRow, reference: string): SettledMovement => ({
  kind: row.kind,
  wallet: row.wallet,
  asset: row.asset,
  amountAtoms: row.amount_atoms,
  reference,
  sequence: Number(row.sequence),
  timeMs: Number(row.time_ms),
  ...(row.reverses !== null && { reverses: row.reverses }),
  ...(row.txid !== null && { txid: row.txid }),
  ...(row.owed_atoms !== 0n && { owedAtoms: row.owed_atoms }),
});

export type Journal = ReturnType<typeof journal>;

/** Reads of the books of account. */
export function journal({ public: reading, auditing }: Pick<Pools, 'public' | 'auditing'>, moments: Moments) {
  return {
    /**
     * Yields the entries of a span of time in their order. Pages are read by key, not in one snapshot: the tables only
     * grow at their end, and an export of hours must not keep Postgres from vacuuming dead rows.
     * @throws RangeError when `after` is no entry id; Refusal SERVICE_UNAVAILABLE when Postgres is unavailable
     */
    async *entries(filter: EntriesFilter): AsyncGenerator<LedgerEntry> {
      const events = await bookedEvents(moments, auditing, [filter.fromMs, filter.toMs]);
      const [first, end] = events.map(BigInt) as [bigint, bigint];
      let after = { sequence: first, line: NO_LINE };
      if (filter.after !== undefined) {
        const resumed = parseEntryId(filter.after);
        if (resumed.sequence >= first) after = resumed;
      }
      const { toMs, asset = null, account = null } = filter;
      for (;;) {
        const { rows, next } = await inSnapshot(auditing, async (ask) => {
          await ask(BY_INDEX);
          const [last] = await ask<{ sequence: bigint }>(PAGE_END, [after.sequence, end]);
          const next = last === undefined ? end : last.sequence + 1n;
          const parameters = [after.sequence, after.line, next, toMs, asset, account];
          return { rows: await ask<EntryRow>(PAGE, parameters), next };
        });
        yield* rows.map(entryOf);
        if (rows.length === PAGE_ROWS) after = rows.at(-1)!;
        else if (next === end) return;
        else after = { sequence: next, line: NO_LINE };
      }
    },

    /** Yields the deposits and withdrawals of a span of time in their order. */
    async *movements({ fromMs, toMs, ...filter }: MovementsFilter): AsyncGenerator<ReportedMovement> {
      const bounds = await bookedEvents(moments, auditing, [fromMs, toMs]);
      const { wallet = null, asset = null, side, direction = 'asc', limit = null } = filter;
      const { after = beginningOf(direction) } = filter;
      const kinds = side === undefined ? null : KINDS[side];
      const parameters = [...bounds, wallet, asset, after, limit, kinds];
      const rows = streamRows<ReportedRow>(auditing, movementsIn(direction), parameters);
      for await (const row of rows) yield { ...bookedMovementOf(row), by: row.by, reason: row.reason };
    },

    /** Returns the movements and takes after an event, oldest first. */
    async changesAfter(after: number, limit: number): Promise<MovementChange[]> {
      return (await askOnce<ChangeRow>(reading, CHANGES_AFTER, [after, limit])).map(changeOf);
    },

    /** Returns the movement that has a reference, of the kind or of one that shares its references; or null. */
    async movement(kind: MovementKind, reference: string): Promise<SettledMovement | null> {
      const [row] = await askOnce<MovementRow>(reading, BY_REFERENCE, [SHARING[kind], storable(reference)]);
      return row === undefined ? null : settledMovementOf(row, reference);
    },

    /** Returns the sum of the movements of this kind that reverse the movement of the other kind with the reference. */
    async reversedAtoms(kind: MovementKind, reference: string): Promise<bigint> {
      const [sum] = await askOnce<{ atoms: string }>(
        reading,
        'select coalesce(sum(amount_atoms), 0)::text as atoms from public.movements where kind = $1 and reverses = $2',
        [kind, storable(reference)],
      );
      return BigInt(sum!.atoms);
    },
  };
}
