/** Reads a wallet's statement: balances at both ends, and every change between them, oldest first. */

import type pg from 'pg';
import type { MovementKind } from '../domain/event.ts';
import type { FillRole, Side } from '../domain/order.ts';
import { greatest } from '../domain/units.ts';
import { ADOPTION_NAME } from './adoption.ts';
import { readCursor, type SettledCursor } from './cursor.ts';
import { MOVEMENT_NAMES, type MovementName, WALLET_CHANGE } from './entries.ts';
import { firstSequenceAt, firstTradeAt } from './first-after.ts';
import { NEAREST_KEPT } from './kept-balances.ts';
import type { Pools } from './pools.ts';
import {
  isPriced,
  PRICED_TRADE_COLUMNS,
  type PricedTrade,
  type PricedTradeRow,
  pricedTradeOf,
} from './priced-trade.ts';
import { type Ask, BY_INDEX, inSnapshot } from './queries.ts';

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
  readonly reference: string;
  /** Transaction that paid a confirmed withdrawal; null for other movements. */
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

/** The place after which a page begins. */
export interface StatementPosition {
  readonly sequence: number;
  /** The last trade before the place; 0: none. */
  readonly tradeId: number;
}

export interface StatementPage {
  readonly settled: SettledCursor;
  /** Atoms by asset when the span began, if the page is the first. */
  readonly opening: ReadonlyMap<string, bigint> | null;
  readonly stated: readonly Stated[];
  /** Atoms by asset when the span ended, if the page is the last. */
  readonly closing: ReadonlyMap<string, bigint> | null;
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

/** The events of a span: those from `sequence` and `tradeId` on, up to but without the second ones. */
interface Bounds {
  readonly sequence: bigint;
  readonly tradeId: bigint;
}

const boundsAt = async (ask: Ask, timeMs: number): Promise<Bounds> => ({
  sequence: await firstSequenceAt(ask, timeMs),
  tradeId: await firstTradeAt(ask, timeMs),
});

/** Kind of a line that tells what the lost events of a seam changed. */
const ADOPTED = 'adopted';

/** The trades of a role in [from, to), by the index of the wallet and the market; to be read in the order of the ids. */
const walk = (role: FillRole, from: string, to: string, limit = ''): string => `
  (select trade_id, '${role}' as role from public.trades
   where (${role}_wallet, market, trade_id) >= ($1, symbol, ${from})
     and (${role}_wallet, market, trade_id) < ($1, symbol, ${to})
   order by ${role}_wallet, market, trade_id ${limit})`;

/** Columns of a trade in the lines of other changes. */
const NO_TRADE = Array(15).fill('null').join(', ');

const LINES = `
  select trades.sequence, trades.time_ms, own.role, taker_side, ${PRICED_TRADE_COLUMNS}, base, quote, base_atoms,
    notional_atoms, fee_atoms, case own.role when 'taker' then taker_order_id else maker_order_id end as order_id,
    null as kind, null as asset, null::bigint as amount_atoms, null as reference, null as txid
  from (
    select own.* from public.markets
    cross join lateral (${walk('taker', '$4', '$5', 'limit $6')} union all ${walk('maker', '$4', '$5', 'limit $6')}) as own
    order by own.trade_id limit $6
  ) as own
  join public.trades using (trade_id) join public.markets on markets.symbol = trades.market
  union all
  (select sequence, time_ms, ${NO_TRADE}, kind, asset, amount_atoms, reference, txid
   from public.movements where (wallet, sequence) >= ($1, $2) and (wallet, sequence) < ($1, $3)
   order by wallet, sequence limit $6)
  union all
  (select sequence, time_ms, ${NO_TRADE}, '${ADOPTED}', asset, amount_atoms, ${ADOPTION_NAME}, null
   from public.adopted_balances where (account, sequence) >= ($1, $2) and (account, sequence) < ($1, $3))
  order by sequence, trade_id limit $6 + (select count(*) from public.adopted_balances where account = $1)`;

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
}

function statedOf(row: LineRow): Stated {
  const happened = { sequence: Number(row.sequence), timeMs: Number(row.time_ms) };
  if (!isPriced(row)) {
    const { asset, amount_atoms: amountAtoms, reference, txid } = row;
    const kind = row.kind === ADOPTED ? 'adoption' : MOVEMENT_NAMES[row.kind];
    return { ...happened, kind, asset, amountAtoms, reference, txid };
  }
  const takerSide = row.taker_side;
  const makerSide = takerSide === 'buy' ? 'sell' : 'buy';
  return {
    ...happened,
    kind: 'trade',
    ...pricedTradeOf(row),
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

/** Trades that were booked when the kept balances were taken lie before this time. */
const POINT_END = `with ${NEAREST_KEPT} select end_ms, sequence from point`;

/** The wallet's atoms of each asset: the kept ones, and its trades and movements since, without any row of others. */
const TOTALS = `
  with ${NEAREST_KEPT},
  own as materialized (
    select own.role, trades.* from public.markets
    cross join lateral (${walk('taker', '$4', '$5').replaceAll('$1', '$2')}
      union all ${walk('maker', '$4', '$5').replaceAll('$1', '$2')}) as own
    join public.trades using (trade_id)
  )
  select asset, sum(atoms)::text as atoms from (
    select asset, total_atoms as atoms from kept where account = $2
    union all
    select base, case when (taker_side = 'buy') = (role = 'taker') then base_atoms else -base_atoms end from own
    union all
    select quote, case when (taker_side = 'buy') = (role = 'taker') then -notional_atoms else notional_atoms end
      - case role when 'taker' then fee_atoms else 0 end from own
    union all
    select asset, ${WALLET_CHANGE} from public.movements
    where (wallet, sequence) > ($2, (select sequence from point)) and (wallet, sequence) < ($2, $3)
    union all
    select asset, amount_atoms from public.adopted_balances
    where (account, sequence) > ($2, (select sequence from point)) and (account, sequence) < ($2, $3)
  ) as changes
  group by asset having sum(atoms) <> 0 order by asset`;

async function totalsAt(ask: Ask, wallet: string, timeMs: number, { sequence, tradeId }: Bounds) {
  const [point] = await ask<{ end_ms: bigint }>(POINT_END, [timeMs]);
  const first = await firstTradeAt(ask, Number(point!.end_ms));
  const rows = await ask<{ asset: string; atoms: string }>(TOTALS, [
    timeMs,
    wallet,
    sequence,
    first,
    tradeId,
  ]);
  return new Map(rows.map(({ asset, atoms }) => [asset, BigInt(atoms)]));
}

const SCALES = 'select symbol, scale from public.assets';

async function readPage(
  ask: Ask,
  { wallet, fromMs, toMs }: StatementSpan,
  after: StatementPosition | null,
  limit: number,
): Promise<StatementPage> {
  await ask(BY_INDEX);
  const settled = await readCursor(ask);
  const start = await boundsAt(ask, fromMs);
  const end = await boundsAt(ask, toMs);
  const from =
    after === null ? start : { sequence: BigInt(after.sequence + 1), tradeId: BigInt(after.tradeId + 1) };
  const bounds = {
    sequence: greatest(from.sequence, start.sequence),
    tradeId: greatest(from.tradeId, start.tradeId),
  };
  // One line more than the page tells whether another page follows.
  const parameters = [wallet, bounds.sequence, end.sequence, bounds.tradeId, end.tradeId, limit + 1];
  const rows = (await ask<LineRow>(LINES, parameters)).map(statedOf);
  let shown = limit;
  // The next page begins after an event, and an adoption has a line for each asset.
  while (rows[shown]?.kind === 'adoption' && rows[shown]!.sequence === rows[shown - 1]?.sequence) shown += 1;
  const stated = rows.slice(0, shown);
  const isLast = rows.length <= shown;
  const scales = await ask<{ symbol: string; scale: number }>(SCALES);
  return {
    settled,
    opening: after === null ? await totalsAt(ask, wallet, fromMs, start) : null,
    stated,
    closing: isLast ? await totalsAt(ask, wallet, toMs, end) : null,
    next: isLast ? null : positionAfter(stated, after),
    scales: new Map(scales.map(({ symbol, scale }) => [symbol, scale])),
  };
}

function positionAfter(stated: readonly Stated[], before: StatementPosition | null): StatementPosition {
  const lastTrade = stated.findLast((line) => line.kind === 'trade');
  const tradeId = lastTrade === undefined ? (before?.tradeId ?? 0) : Number(lastTrade.tradeId);
  return { sequence: stated.at(-1)!.sequence, tradeId };
}

export type StatementQueries = ReturnType<typeof statementQueries>;

/** Statements of wallets: for a wallet within a reader's patience, and for the operator without. */
export function statementQueries({ lists, auditing }: Pick<Pools, 'lists' | 'auditing'>) {
  const pageOn =
    (pool: pg.Pool) =>
    (span: StatementSpan, after: StatementPosition | null, limit: number): Promise<StatementPage> =>
      inSnapshot(pool, (ask) => readPage(ask, span, after, limit));
  return {
    /** Returns a page of trades, deposits and withdrawals; null begins the statement. */
    page: pageOn(lists),
    /** As `page`, with the patience of a long command. */
    longPage: pageOn(auditing),
  };
}
