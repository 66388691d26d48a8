/**
 * Seals of segments: digests of all rows of the events of a segment that can no longer change. Each seal has the digest of
 * the one before.
 */

import { createHash } from 'node:crypto';
import type pg from 'pg';
import { balancesAfter } from './kept-balances.ts';
import { type Ask, askOnce } from './queries.ts';
import { dayOfLast, type Part, textOf, WHOLE_HISTORY } from './span.ts';
import { cursorChunks } from './stream-rows.ts';
import {
  ADOPTED_BALANCES,
  ADOPTED_FILLS,
  ADOPTED_PRICES,
  ADOPTIONS,
  type Columns,
  FIXED_OF_ORDERS,
  MARKET_VERSIONS,
  MOVEMENTS,
  namesOf,
  OPERATOR_ACTS,
  ORDERS,
  rowTextOf,
  SETTING_CHANGES,
  TRADES,
} from './tables.ts';

/** The rows of a table, by number and digest. */
interface SealedRows {
  readonly rows: number;
  /** SHA-256 in hex. */
  readonly digest: string;
}

type SealedTables = Readonly<Record<string, SealedRows>>;

const plain = (...names: readonly string[]): Columns =>
  Object.fromEntries(names.map((name) => [name, 'plain']));

const CANDLES = plain(
  'market',
  'timeframe',
  'open_ms',
  'open_ticks',
  'high_ticks',
  'low_ticks',
  'close_ticks',
  'volume_steps',
  'quote_atoms',
  'first_trade_id',
  'last_trade_id',
);

const OF_EVENTS = 'sequence > {from} and sequence <= {to}';
const FIXED_NAMES = namesOf(FIXED_OF_ORDERS);

interface RowsOfSegment {
  /** SQL of the table and its condition. */
  readonly from: string;
  readonly columns: Columns;
  readonly order: string;
}

const ofEvents = (table: string, columns: Columns, ...order: readonly string[]): RowsOfSegment => ({
  from: `public.${table} where ${OF_EVENTS}`,
  columns,
  order: ['sequence', ...order].join(', '),
});

/** The rows of a segment that never change once the cursor is past its end. Parts in braces are those of the segment. */
const ROWS: Readonly<Record<string, RowsOfSegment>> = {
  ended_orders: { from: 'segments.ended_orders_{segment}', columns: ORDERS, order: 'sequence, id' },
  late_orders: {
    from: 'public.late_orders where closed_sequence > {from} and closed_sequence <= {to}',
    columns: ORDERS,
    order: 'closed_sequence, sequence, id',
  },
  // The orders that outlived the segment, as they were placed there.
  placed_orders: {
    from: `(select ${FIXED_NAMES} from public.live_orders union all select ${FIXED_NAMES} from public.late_orders) as placed
      where ${OF_EVENTS}`,
    columns: FIXED_OF_ORDERS,
    order: 'sequence, id',
  },
  trades: { from: 'segments.trades_{segment}', columns: TRADES, order: 'sequence, trade_id' },
  chain_links: {
    from: 'segments.chain_links_{segment}',
    columns: plain('sequence', 'links'),
    order: 'sequence',
  },
  chain_heads: ofEvents('chain_heads', plain('sequence', 'head')),
  epoch_starts: ofEvents('epoch_starts', plain('epoch', 'sequence'), 'epoch'),
  movements: ofEvents('movements', MOVEMENTS),
  market_versions: ofEvents('market_versions', MARKET_VERSIONS, 'market'),
  setting_changes: ofEvents('setting_changes', SETTING_CHANGES),
  operator_acts: ofEvents('operator_acts', OPERATOR_ACTS),
  adoptions: ofEvents('adoptions', ADOPTIONS),
  adopted_balances: ofEvents('adopted_balances', ADOPTED_BALANCES, 'account', 'asset'),
  adopted_fills: ofEvents('adopted_fills', ADOPTED_FILLS, 'order_id'),
  adopted_prices: ofEvents('adopted_prices', ADOPTED_PRICES, 'market'),
  kept_balances: ofEvents(
    'kept_balances',
    plain('sequence', 'account', 'asset', 'total_atoms'),
    'account',
    'asset',
  ),
  // The day of the last trade is of the next segment, because it may go on there.
  candles: {
    from: `public.candles where open_ms >= coalesce(${dayOfLast('{from}')}, ${WHOLE_HISTORY.from})
      and open_ms < coalesce(${dayOfLast('{to}')}, ${WHOLE_HISTORY.from})`,
    columns: CANDLES,
    order: 'market, timeframe, open_ms',
  },
};

async function digestOf(ask: Ask, { from, columns, order }: RowsOfSegment, part: Part): Promise<SealedRows> {
  const digest = createHash('sha256');
  let rows = 0;
  const sql = textOf(`select ${rowTextOf(columns)} as text from ${from} order by ${order}`, part);
  for await (const chunk of cursorChunks<{ text: string }>(ask, sql, [])) {
    rows += chunk.length;
    digest.update(chunk.map(({ text }) => `${text}\n`).join(''));
  }
  return { rows, digest: digest.digest('hex') };
}

/** Reads the rows of a segment. @param ask in a snapshot */
export async function readTables(ask: Ask, part: Part): Promise<SealedTables> {
  const tables: Record<string, SealedRows> = {};
  for (const [name, rows] of Object.entries(ROWS)) tables[name] = await digestOf(ask, rows, part);
  return tables;
}

/** SQL of the digest of a row of seals that follows `digest_before`. No text depends on a setting. */
export const SEAL_DIGEST = `sha256(coalesce(digest_before, '') || convert_to(concat_ws('/', segment, from_sequence,
    to_sequence, tables, head_sequence, head, extract(epoch from sealed_at)), 'UTF8'))`;

/** SQL of the rows of tables that seals up to an event counted. */
export const sealedRows = (upTo: string, ...tables: readonly string[]): string =>
  `(select coalesce(sum(${tables.map((table) => `(tables #>> '{${table},rows}')::bigint`).join(' + ')}), 0)
    from public.seals where to_sequence <= ${upTo} + 1)`;

const BOUNDS = `segment, case segment when 0 then ${WHOLE_HISTORY.from} else from_sequence - 1 end as "from",
  to_sequence - 1 as "to"`;

interface BoundsRow {
  readonly segment: number;
  readonly from: bigint;
  readonly to: bigint;
}

const partOf = ({ segment, from, to }: BoundsRow): Part => ({
  segment,
  from: Number(from),
  to: Number(to),
  end: Number(to),
});

/** Returns the last event of the last sealed segment; that before all events if none is sealed. */
export async function lastSealed(ask: Ask): Promise<number> {
  const [last] = await ask<{ to: bigint }>(
    'select to_sequence - 1 as "to" from public.seals order by segment desc limit 1',
  );
  return last === undefined ? WHOLE_HISTORY.from : Number(last.to);
}

/** Returns the segments without a seal whose rows can no longer change, in their order. */
export const closedSegments = async (ask: Ask): Promise<Part[]> =>
  (
    await ask<BoundsRow>(
      `select ${BOUNDS} from (select number as segment, from_sequence, to_sequence from public.segments) as segments
       where to_sequence <= (select sequence from public.engine_cursor)
         and segment > coalesce((select max(segment) from public.seals), -1) order by segment`,
    )
  ).map(partOf);

/** Returns the segments that have a seal, in their order. */
export const sealedSegments = async (ask: Ask): Promise<Part[]> =>
  (await ask<BoundsRow>(`select ${BOUNDS} from public.seals order by segment`)).map(partOf);

/** A sealed segment, and when it was read last. */
export interface ReadSegment extends Part {
  /** True if it was not read for long, or differed then. */
  readonly isDue: boolean;
  /** True if a run has read it that did not end. */
  readonly isRead: boolean;
}

/** Runs do not begin at the same minute of each day. */
const EARLIER = `interval '36 hours'`;

const READINGS = `
  select ${BOUNDS}, not coalesce(holds, true) or coalesce(read_at, sealed_at) < now() - $1 * interval '1 day' + ${EARLIER} as "isDue",
    coalesce(holds and read_at > coalesce((select max(finished_at) from public.reconciliations), '-infinity'), false) as "isRead"
  from public.seals left join lateral (
    select read_at, holds from public.scrubs where scrubs.segment = seals.segment order by read_at desc limit 1) as last on true
  order by segment`;

/** Returns the sealed segments, in their order. @param days within which each is to be read */
export const readSegments = async (ask: Ask, days: number): Promise<ReadSegment[]> =>
  (await ask<BoundsRow & Pick<ReadSegment, 'isDue' | 'isRead'>>(READINGS, [days])).map(
    ({ isDue, isRead, ...bounds }) => ({ ...partOf(bounds), isDue, isRead }),
  );

/** Notes that a segment was read. @param holds true if its rows were as sealed */
export async function noteReading(pool: pg.Pool, { segment }: Part, holds: boolean): Promise<void> {
  await askOnce(pool, 'insert into public.scrubs (segment, holds) values ($1, $2)', [segment, holds]);
}

/** Returns the digests of a seal; undefined if it is gone. */
export async function readSeal(ask: Ask, segment: number): Promise<SealedTables | undefined> {
  const [seal] = await ask<{ tables: SealedTables }>('select tables from public.seals where segment = $1', [
    segment,
  ]);
  return seal?.tables;
}

/**
 * Held while rows are added that seals cover: one process seals, or keeps balances, at a time.
 * @returns false if another process holds it. @param ask in a transaction
 */
export async function takesSealing(ask: Ask): Promise<boolean> {
  const [taken] = await ask<{ mine: boolean }>(
    `select pg_try_advisory_xact_lock(hashtext('redbook seals')) as mine`,
  );
  return taken!.mine;
}

/** Balances after a sealed segment, from which those of later events follow: no balances are kept in it afterwards. */
const KEEP_BALANCES = `
  insert into public.kept_balances (sequence, account, asset, total_atoms)
  select {to}, account, asset, atoms from (${balancesAfter('{to}')}) as balances where atoms <> 0
  on conflict do nothing`;

const ADD_SEAL = `
  with before as (select digest as digest_before from public.seals where segment = $1::integer - 1),
    added as (
      select $1::integer as segment, from_sequence, to_sequence, $2::jsonb as tables, chain.sequence as head_sequence,
        chain.head, clock_timestamp() as sealed_at, (select digest_before from before) as digest_before
      from public.segments left join lateral (select sequence, head from public.chain_heads
        where chain_heads.sequence < to_sequence order by sequence desc limit 1) as chain on true
      where number = $1)
  insert into public.seals (segment, from_sequence, to_sequence, tables, head_sequence, head, sealed_at, digest)
  select segment, from_sequence, to_sequence, tables, head_sequence, head, sealed_at, ${SEAL_DIGEST} from added`;

/** Seals a segment whose checks held. @param ask in the transaction of the checks, so that the same rows are sealed */
export async function addSeal(ask: Ask, part: Part): Promise<void> {
  await ask(textOf(KEEP_BALANCES, part));
  await ask(ADD_SEAL, [part.segment, JSON.stringify(await readTables(ask, part))]);
}
