/** Reads a wallet's statement: balances at both ends, and every change between them, oldest first. */

import type pg from 'pg';
import type { MovementKind } from '../domain/event.ts';
import type { FillRole, Side } from '../domain/order.ts';
import { ADOPTION_NAME } from './adoption.ts';
import { readCursor, type SettledCursor } from './cursor.ts';
import { MOVEMENT_NAMES, type MovementName, PAID_BY, WALLET_CHANGE } from './entries.ts';
import { ROLES, TRADES_HELD } from './fills.ts';
import { type BookedFrom, bookedFrom, firstTradeAfter } from './first-after.ts';
import { keptBefore } from './kept-balances.ts';
import { type Moment, type Moments, rangeOf, type SegmentQuery, segmentsBetween, TRADES } from './moment.ts';
import type { Pools } from './pools.ts';
import {
  isPriced,
  PRICED_TRADE_COLUMNS,
  type PricedTrade,
  type PricedTradeRow,
  pricedTradeOf,
} from './priced-trade.ts';
import { BY_INDEX, inSnapshot, prepared } from './queries.ts';
import type { Direction } from './walk.ts';

interface Happened {
  readonly sequence: number;
  readonly timeMs: number;
}

/** A deposit, a withdrawal, a step of one, or what the lost events of a seam changed. */
interface StatedMovement extends Happened {
  readonly kind: MovementName | 'adoption';
  readonly asset: string;
  /** Signed for an adoption only. */
  readonly amountAtoms: bigint;
  /** As in `AccountMoved`; 0 for nothing. */
  readonly owedAtoms: bigint;
  readonly reference: string;
  /** Transaction that paid a withdrawal, on its request and its confirmation; null for others. */
  readonly txid: string | null;
}

/** A trade from the side of the wallet. */
interface StatedTrade extends Happened, PricedTrade {
  readonly kind: 'trade';
  readonly side: Side;
  readonly role: FillRole;
  readonly orderId: string;
  readonly base: string;
  readonly quote: string;
  readonly baseAtoms: bigint;
  readonly notionalAtoms: bigint;
  /** Paid by the wallet; 0 for a maker. */
  readonly feeAtoms: bigint;
}

export type Stated = StatedMovement | StatedTrade;

/** Atoms by asset. */
type Sums = ReadonlyMap<string, bigint>;

/** The place after which a page begins. */
export interface StatementPosition {
  readonly sequence: number;
  /** The last trade before the place; 0: none. */
  readonly tradeId: number;
  /** True while the pages before have only summed trades before the span. */
  readonly isOpening: boolean;
  /** The wallet's balances at the place; null if it has too many assets to carry them. */
  readonly sums: Sums | null;
}

export interface StatementPage {
  readonly settled: SettledCursor;
  /**
   * Atoms by asset when the span began, if the page is the first with lines. Pages without lines precede it while many
   * trades before the span are summed.
   */
  readonly opening: Sums | null;
  readonly stated: readonly Stated[];
  /** Atoms by asset when the span ended, if the page is the last. */
  readonly closing: Sums | null;
  /** Null on the last page. */
  readonly next: StatementPosition | null;
  /** Decimals of each asset. */
  readonly scales: ReadonlyMap<string, number>;
}

export interface StatementSpan {
  readonly wallet: string;
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number;
  /** Unix milliseconds, exclusive. */
  readonly toMs: number;
}

/** Kind of a line that tells what the lost events of a seam changed. */
const ADOPTED = 'adopted';

/** The trades of a role in [from, to), by the index of the wallet and the market; to be read in the order of the ids. */
const walk = (role: FillRole, from: string, to: string, limit = '', down = ''): string => `
  (select trade_id, '${role}' as role from ${TRADES}
   where (${role}_wallet, market, trade_id) >= ($1, symbol, ${from})
     and (${role}_wallet, market, trade_id) < ($1, symbol, ${to})
   order by ${role}_wallet ${down}, market ${down}, trade_id ${down} ${limit})`;

/** The trades of the wallet in the range of the parameters. */
const ownTrades = (down: string): string =>
  ROLES.map((role) => walk(role, '$4', '$5', 'limit $6', down)).join(' union all ');

/** Columns of a trade in the lines of other changes. */
const NO_TRADE = Array(15).fill('null').join(', ');

/** Lines of a segment: $2 and $3 bound the events of movements and adoptions, $4 and $5 the trades. */
function linesIn(direction: Direction): SegmentQuery {
  const down = direction === 'desc' ? 'desc' : '';
  return prepared(`
  select trades.sequence, trades.time_ms, own.role, taker_side, ${PRICED_TRADE_COLUMNS}, base, quote, base_atoms,
    notional_atoms, fee_atoms, case own.role when 'taker' then taker_order_id else maker_order_id end as order_id,
    null as kind, null as asset, null::bigint as amount_atoms, null as reference, null as txid, null::bigint as owed_atoms
  from (
    select own.* from public.markets
    cross join lateral (${ownTrades(down)}) as own
    order by own.trade_id ${down} limit $6
  ) as own
  join ${TRADES} as trades using (trade_id) join public.markets on markets.symbol = trades.market
  union all
  (select sequence, time_ms, ${NO_TRADE}, kind, asset, amount_atoms, reference, ${PAID_BY}, owed_atoms
   from public.movements where (wallet, sequence) >= ($1, $2) and (wallet, sequence) < ($1, $3)
     and kind not in ('announced', 'dropped')
   order by wallet ${down}, sequence ${down} limit $6)
  union all
  (select sequence, time_ms, ${NO_TRADE}, '${ADOPTED}', asset, amount_atoms, ${ADOPTION_NAME}, null, 0
   from public.adopted_balances where (account, sequence) >= ($1, $2) and (account, sequence) < ($1, $3))
  order by sequence ${down}, trade_id ${down} limit $6 + (select count(*) from public.adopted_balances where account = $1)`);
}

const LINES = { asc: linesIn('asc'), desc: linesIn('desc') };

/** SQL: the wallet has lines of the segment. */
const LINES_HELD = `${TRADES_HELD}
  or exists (select from public.movements where (wallet, sequence) > ($1, {after}) and (wallet, sequence) < ($1, {before}))
  or exists (select from public.adopted_balances
    where (account, sequence) > ($1, {after}) and (account, sequence) < ($1, {before}))`;

interface LineRow extends Happening, Partial<PricedTradeRow> {
  role: FillRole;
  taker_side: Side;
  base: string;
  quote: string;
  base_atoms: bigint;
  notional_atoms: bigint;
  fee_atoms: bigint;
  order_id: string;
}

interface Happening {
  sequence: bigint;
  time_ms: bigint;
  kind: MovementKind | typeof ADOPTED;
  asset: string;
  amount_atoms: bigint;
  reference: string;
  txid: string | null;
  owed_atoms: bigint;
}

/** Names each member: to spread an object behind another member costs 12 µs, which made most of a page's time. */
function statedOf(row: LineRow): Stated {
  const sequence = Number(row.sequence);
  const timeMs = Number(row.time_ms);
  if (!isPriced(row)) {
    const { asset, amount_atoms: amountAtoms, owed_atoms: owedAtoms, reference, txid } = row;
    const kind = row.kind === ADOPTED ? 'adoption' : MOVEMENT_NAMES[row.kind];
    return { sequence, timeMs, kind, asset, amountAtoms, owedAtoms, reference, txid };
  }
  const takerSide = row.taker_side;
  const makerSide = takerSide === 'buy' ? 'sell' : 'buy';
  const { tradeId, market, price, size, feeBps } = pricedTradeOf(row);
  return {
    sequence,
    timeMs,
    kind: 'trade',
    tradeId,
    market,
    price,
    size,
    feeBps,
    side: row.role === 'taker' ? takerSide : makerSide,
    role: row.role,
    orderId: row.order_id,
    base: row.base,
    quote: row.quote,
    baseAtoms: row.base_atoms,
    notionalAtoms: row.notional_atoms,
    feeAtoms: row.role === 'taker' ? row.fee_atoms : 0n,
  };
}

const POINT = prepared(`with ${keptBefore('$1')} select sequence from point`);

/** The wallet's atoms of each asset without its trades since the kept balances. */
const WITHOUT_TRADES = prepared(`
  with ${keptBefore('$2')}
  select asset, sum(atoms)::text as atoms from (
    select asset, total_atoms as atoms from kept where account = $1
    union all
    select asset, ${WALLET_CHANGE} from public.movements
    where (wallet, sequence) > ($1, (select sequence from point)) and (wallet, sequence) < ($1, $2)
    union all
    select asset, amount_atoms from public.adopted_balances
    where (account, sequence) > ($1, (select sequence from point)) and (account, sequence) < ($1, $2)
  ) as changes
  group by asset`);

/** Sums the changes by the oldest trades of a segment: at most `$4` of them. The row without an asset counts them. */
const OF_TRADES = prepared(`
  with own as materialized (
    select own.role, trades.* from (
      select own.* from public.markets
      cross join lateral (${walk('taker', '$2', '$3', 'limit $4')} union all ${walk('maker', '$2', '$3', 'limit $4')}) as own
      order by own.trade_id limit $4
    ) as own join ${TRADES} as trades using (trade_id)
  )
  select asset, sum(atoms)::text as atoms, null::bigint as trades, null::bigint as last from (
    select base as asset, case when (taker_side = 'buy') = (role = 'taker') then base_atoms else -base_atoms end as atoms
    from own
    union all
    select quote, case when (taker_side = 'buy') = (role = 'taker') then -notional_atoms else notional_atoms end
      - case role when 'taker' then fee_atoms else 0 end from own
  ) as changes
  group by asset
  union all
  select null, null, count(*), max(trade_id) from own`);

interface SumRow {
  asset: string | null;
  atoms: string;
  trades: bigint | null;
  last: bigint | null;
}

/** Maximum trades that a page sums before the span. */
const SUMMED_TRADES = 10_000;
const ALL_TRADES = 2 ** 31;
/** Maximum assets whose sums a place carries. */
const MAX_CARRIED = 64;

function add(sums: Map<string, bigint>, asset: string, atoms: bigint): void {
  sums.set(asset, (sums.get(asset) ?? 0n) + atoms);
}

const byAsset = ([one]: [string, bigint], [other]: [string, bigint]): number => (one < other ? -1 : 1);

/** Returns the sums without those of nothing, by asset. Only a cursor that a caller made up has some below. */
const shownSums = (sums: Sums): Sums => new Map([...sums].filter(([, atoms]) => atoms > 0n).sort(byAsset));

/**
 * Returns the sums of a cursor, of assets that exist. Nothing is summed anew for a cursor that was made up: an honest one
 * has sums, unless there are more assets than it can carry.
 */
function carriedSums({ sums }: StatementPosition, scales: ReadonlyMap<string, number>): Sums | null {
  if (sums === null && scales.size > MAX_CARRIED) return null;
  return new Map([...(sums ?? [])].filter(([asset]) => scales.has(asset)));
}

/** The balances at a time, as far as they are summed. */
interface Opening {
  readonly sums: Map<string, bigint>;
  /** The last trade that is summed, if more are left. */
  readonly last: number | null;
}

/**
 * Sums the wallet's changes before a time.
 * @param before what was summed by the pages before; null to begin with the kept balances
 * @param maxTrades maximum of trades that are summed
 */
async function sumBefore(
  moment: Moment,
  wallet: string,
  end: BookedFrom,
  before: { readonly sums: Sums; readonly tradeId: number } | null,
  maxTrades: number,
): Promise<Opening> {
  const sums = new Map(before?.sums);
  let first = (before?.tradeId ?? 0) + 1;
  if (before === null) {
    const [point] = await moment.rows<{ sequence: bigint }>(POINT, [], [end.sequence]);
    first = await firstTradeAfter(moment, Number(point!.sequence));
    const values = [wallet, end.sequence];
    for (const { asset, atoms } of await moment.rows<{ asset: string; atoms: string }>(
      WITHOUT_TRADES,
      [],
      values,
    ))
      add(sums, asset, BigInt(atoms));
  }
  const range = await segmentsBetween(moment, 'asc', { after: first - 1, before: end.tradeId });
  const rows = await moment.page<SumRow>({
    range,
    limit: maxTrades,
    held: { sql: TRADES_HELD, values: [wallet] },
    ask: (segment, left) => moment.rows(OF_TRADES, [segment], [wallet, first, end.tradeId, left]),
    countOf: ({ trades }) => Number(trades ?? 0),
  });
  let trades = 0;
  let last: number | null = null;
  for (const row of rows) {
    if (row.asset !== null) add(sums, row.asset, BigInt(row.atoms));
    else if (row.last !== null) {
      trades += Number(row.trades);
      last = Number(row.last);
    }
  }
  if (trades < maxTrades) last = null;
  return { sums, last };
}

const SIGN_OF: Readonly<Record<MovementName | 'adoption', bigint>> = {
  deposit: 1n,
  withdrawal: -1n,
  withdrawal_requested: -1n,
  withdrawal_confirmed: 0n,
  withdrawal_returned: 1n,
  deposit_announced: 0n,
  deposit_dropped: 0n,
  adoption: 1n,
};

/** Adds what a line changed. */
function addLine(sums: Map<string, bigint>, line: Stated): void {
  if (line.kind !== 'trade') {
    add(sums, line.asset, SIGN_OF[line.kind] * (line.amountAtoms - line.owedAtoms));
    return;
  }
  const sign = line.side === 'buy' ? 1n : -1n;
  add(sums, line.base, sign * line.baseAtoms);
  add(sums, line.quote, -sign * line.notionalAtoms - line.feeAtoms);
}

/** Sets that each trade is looked up by itself: without statistics, Postgres would read all of them to join some. */
const ONE_BY_ONE = `select set_config(name, 'off', true)
  from unnest(array['enable_mergejoin', 'enable_hashjoin']) as setting (name)`;

const SCALES = prepared('select symbol, scale from public.assets');

async function readScales(moment: Moment): Promise<Map<string, number>> {
  const rows = await moment.rows<{ symbol: string; scale: number }>(SCALES, []);
  return new Map(rows.map(({ symbol, scale }) => [symbol, scale]));
}

/** The lines of a page, and the bounds that they lie in. */
interface LinesAsked {
  readonly wallet: string;
  readonly from: BookedFrom;
  readonly to: BookedFrom;
  readonly limit: number;
  readonly direction: Direction;
}

/** Reads lines, segment after segment; one more than the page tells whether another page follows. */
async function linesOf(
  moment: Moment,
  { wallet, from, to, limit, direction }: LinesAsked,
): Promise<Stated[]> {
  // A page may begin within an event.
  const range = rangeOf(direction, moment.segmentOf(from.sequence - 1), moment.segmentOf(to.sequence));
  const rows = await moment.page<LineRow>({
    range,
    limit: limit + 1,
    held: { sql: LINES_HELD, values: [wallet] },
    ask: (segment, left) => {
      const { after, before } = moment.eventsOf(segment);
      const events = [Math.max(from.sequence, after + 1), Math.min(to.sequence, before)];
      return moment.rows(LINES[direction], [segment], [wallet, ...events, from.tradeId, to.tradeId, left]);
    },
  });
  return rows.map(statedOf);
}

async function readPage(
  moment: Moment,
  settled: SettledCursor,
  span: StatementSpan,
  after: StatementPosition | null,
  limit: number,
): Promise<StatementPage> {
  const start = await bookedFrom(moment, span.fromMs);
  const scales = await readScales(moment);
  if (after !== null && !after.isOpening)
    return readLines(moment, span, start, after, limit, { settled, opening: null, scales });
  const summed = after && { sums: carriedSums(after, scales) ?? new Map(), tradeId: after.tradeId };
  const { sums, last } = await sumBefore(moment, span.wallet, start, summed, SUMMED_TRADES);
  if (last !== null && sums.size <= MAX_CARRIED) {
    const next = { sequence: 0, tradeId: last, isOpening: true, sums };
    return { settled, opening: null, stated: [], closing: null, next, scales };
  }
  const whole = last === null ? sums : (await sumBefore(moment, span.wallet, start, null, ALL_TRADES)).sums;
  const place = { sequence: 0, tradeId: 0, isOpening: false, sums: whole };
  return readLines(moment, span, start, place, limit, { settled, opening: shownSums(whole), scales });
}

async function readLines(
  moment: Moment,
  { wallet, toMs }: StatementSpan,
  start: BookedFrom,
  after: StatementPosition,
  limit: number,
  page: Pick<StatementPage, 'settled' | 'opening' | 'scales'>,
): Promise<StatementPage> {
  const end = await bookedFrom(moment, toMs);
  const from = {
    sequence: Math.max(after.sequence + 1, start.sequence),
    tradeId: Math.max(after.tradeId + 1, start.tradeId),
  };
  const rows = await linesOf(moment, { wallet, from, to: end, limit, direction: 'asc' });
  const stated = rows.slice(0, shownOf(rows, limit));
  const carried = carriedSums(after, page.scales);
  const sums = carried && new Map(carried);
  if (sums !== null) for (const line of stated) addLine(sums, line);
  if (rows.length > stated.length)
    return { ...page, stated, closing: null, next: positionAfter(stated, after, sums) };
  const closing = sums ?? (await sumBefore(moment, wallet, end, null, ALL_TRADES)).sums;
  return { ...page, stated, closing: shownSums(closing), next: null };
}

/** Returns how many lines a page shows. The next page begins after an event, and an adoption has a line for each asset. */
function shownOf(rows: readonly Stated[], limit: number): number {
  let shown = limit;
  while (rows[shown]?.kind === 'adoption' && rows[shown]!.sequence === rows[shown - 1]?.sequence) shown += 1;
  return shown;
}

/** Reads the newest lines before a place, without balances. */
async function readNewest(
  moment: Moment,
  settled: SettledCursor,
  { wallet, fromMs, toMs }: StatementSpan,
  before: StatementPosition | null,
  limit: number,
): Promise<StatementPage> {
  const from = await bookedFrom(moment, fromMs);
  const to = before ?? (await bookedFrom(moment, toMs));
  const rows = await linesOf(moment, { wallet, from, to, limit, direction: 'desc' });
  const stated = rows.slice(0, shownOf(rows, limit));
  const place = { sequence: 0, tradeId: to.tradeId, isOpening: false, sums: null };
  const next = rows.length > stated.length ? positionAfter(stated, place, null) : null;
  return { settled, opening: null, stated, closing: null, next, scales: await readScales(moment) };
}

function positionAfter(
  stated: readonly Stated[],
  before: StatementPosition,
  sums: Sums | null,
): StatementPosition {
  const lastTrade = stated.findLast((line) => line.kind === 'trade');
  return {
    sequence: stated.at(-1)!.sequence,
    tradeId: lastTrade === undefined ? before.tradeId : Number(lastTrade.tradeId),
    isOpening: false,
    sums: sums !== null && sums.size <= MAX_CARRIED ? sums : null,
  };
}

export type StatementQueries = ReturnType<typeof statementQueries>;

type ReadPage = (
  moment: Moment,
  settled: SettledCursor,
  span: StatementSpan,
  place: StatementPosition | null,
  limit: number,
) => Promise<StatementPage>;

/** Statements of wallets: for a wallet within a reader's patience, and for the operator without. */
export function statementQueries({ lists, auditing }: Pick<Pools, 'lists' | 'auditing'>, moments: Moments) {
  const pageOn =
    (pool: pg.Pool, read: ReadPage) =>
    (span: StatementSpan, place: StatementPosition | null, limit: number): Promise<StatementPage> =>
      inSnapshot(pool, async (ask) => {
        await ask(BY_INDEX);
        await ask(ONE_BY_ONE);
        const settled = await readCursor(ask);
        return read(await moments.in(ask), settled, span, place, limit);
      });
  return {
    /** Returns a page of trades, deposits and withdrawals; null begins the statement. */
    page: pageOn(lists, readPage),
    /** As `page`, newest first, without balances. */
    newestPage: pageOn(lists, readNewest),
    /** As `page`, with the patience of a long command. */
    longPage: pageOn(auditing, readPage),
  };
}
