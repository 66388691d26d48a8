/** Reads settled trades. */

import type { Cursor } from '../domain/event.ts';
import type { FillRole, PublicTrade, Side, Trade, WalletTrade } from '../domain/order.ts';
import type { SecondOfTrades } from '../domain/rolling-day.ts';
import {
  placeParameters,
  type ReadOn,
  readOn,
  type SettledPlace,
  segmentsOfPlace,
  withPlace,
} from './cursor.ts';
import {
  FILL_FIELDS,
  FILLS_HELD,
  fillFields,
  fillsIndex,
  ROLES,
  readFill,
  TRADES_HELD,
  TRADES_OF_MARKET_HELD,
  walkTrades,
} from './fills.ts';
import { firstTradeIn } from './first-after.ts';
import { joinedLines, lineOf, rowsOf } from './lines.ts';
import { type MarketUnitsRow, marketUnits, UNIT_COLUMNS } from './market-units.ts';
import {
  type Held,
  type Moment,
  type Moments,
  ofSegments,
  type Range,
  rangeOf,
  type SegmentQuery,
  segmentsBetween,
  TRADES,
} from './moment.ts';
import { orderById } from './order-rows.ts';
import type { Pools } from './pools.ts';
import { prepared } from './queries.ts';
import { type Bounds, boundsWithin, isBounded, type TimeSpan } from './time-span.ts';
import type { Direction } from './walk.ts';

interface TradeRow extends MarketUnitsRow {
  trade_id: bigint;
  sequence: bigint;
  market: string;
  taker_side: Side;
  price_ticks: bigint;
  size_steps: bigint;
  fee_atoms: bigint;
  taker_order_id: string;
  maker_order_id: string;
  taker_wallet: string;
  maker_wallet: string;
  time_ms: bigint;
}

const TRADE_COLUMNS = `trade_id, sequence, market, taker_side, price_ticks, size_steps, fee_atoms, taker_order_id,
  maker_order_id, taker_wallet, maker_wallet, time_ms, ${UNIT_COLUMNS}`;

const tradeOf = (row: TradeRow): Trade => ({
  tradeId: Number(row.trade_id),
  market: row.market,
  takerSide: row.taker_side,
  priceTicks: row.price_ticks,
  sizeSteps: row.size_steps,
  feeAtoms: row.fee_atoms,
  takerOrderId: row.taker_order_id,
  makerOrderId: row.maker_order_id,
  takerWallet: row.taker_wallet,
  makerWallet: row.maker_wallet,
  timeMs: Number(row.time_ms),
  sequence: Number(row.sequence),
  units: marketUnits(row),
});

interface WalletTradesFilter {
  /** Symbol. */
  readonly market?: string | undefined;
  /** Lists this order of the wallet alone; an order of another wallet lists nothing. */
  readonly orderId?: string | undefined;
  /** Only trades before this one. */
  readonly beforeTradeId?: number | undefined;
  /** Only trades after this one. */
  readonly afterTradeId?: number | undefined;
  /** Only trades of this span. */
  readonly span?: TimeSpan | undefined;
  /** The newest first unless given. */
  readonly direction?: Direction | undefined;
  readonly limit: number;
}

/**
 * Fields of a trade's line besides the fill: the wallet's own order, the market, the wallet's side and the other
 * wallet.
 */
const FURTHER = {
  taker: ['taker_order_id', 'market', 'taker_side', 'maker_wallet'],
  maker: [
    'maker_order_id',
    'market',
    `case taker_side when 'buy' then 'sell' else 'buy' end`,
    'taker_wallet',
  ],
};

const readWalletTrade = (fields: readonly string[]): WalletTrade => ({
  fill: readFill(fields, 0),
  orderId: fields[FILL_FIELDS]!,
  market: fields[FILL_FIELDS + 1]!,
  side: fields[FILL_FIELDS + 2] as Side,
  counterparty: fields[FILL_FIELDS + 3]!,
});

const lineOfRole = (role: FillRole): string => lineOf(...fillFields(role), ...FURTHER[role]);

/**
 * Returns SQL of the first trades of a segment in a direction, of several roles. Each market and role is one short walk
 * of an index from one end: a wallet with millions of trades in one market costs no more than one with ten. The walks
 * find ids alone, which the indexes hold; only the listed trades are read from the table.
 * @param listed names what each walk is of
 * @param indexOf columns of the index of a role, and the values that it is walked with
 */
function firstTrades(
  direction: Direction,
  listed: string,
  roles: readonly FillRole[],
  indexOf: (role: FillRole) => { readonly columns: readonly string[]; readonly values: readonly string[] },
): string {
  const walk = (role: FillRole): string =>
    walkTrades(`trade_id, '${role}' as role`, {
      ...indexOf(role),
      direction,
      before: '$3',
      limit: '$4',
      after: '$5',
    });
  const order = `trade_id ${direction}`;
  return `select ${joinedLines('line', order)} from (
    select trade_id, case role when 'taker' then ${lineOfRole('taker')} else ${lineOfRole('maker')} end as line
    from (
      select own.trade_id as id, own.role from (${listed}) as listed
      cross join lateral (${roles.map(walk).join(' union all ')}) as own
      order by own.${order} limit $4
    ) as newest
    cross join lateral (select * from ${TRADES} where trade_id = newest.id offset 0) as found) as lines`;
}

const ofWallet = (direction: Direction): SegmentQuery =>
  ofSegments(
    firstTrades(
      direction,
      `select symbol from public.markets
       where ($2::text is null or symbol = $2) and ${TRADES_HELD}`,
      ROLES,
      (role) => ({ columns: [`${role}_wallet`, 'market'], values: ['$1', 'listed.symbol'] }),
    ),
  );

const tradesOfOrder = (direction: Direction, listed: string, roles: readonly FillRole[]): string =>
  firstTrades(direction, listed, roles, (role) =>
    fillsIndex(role, { id: 'listed.id', sequence: 'listed.sequence' }),
  );

/** Trades of an order in the segment in which it was placed, and the event of its last change. */
const ofOrder = (direction: Direction): SegmentQuery =>
  ofSegments(
    tradesOfOrder(direction, 'select * from asked', ROLES),
    ['(select updated_sequence from asked)'],
    `with asked as materialized (
      select id, sequence, updated_sequence from ${orderById('$6')}
      where wallet = $1 and ($2::text is null or market = $2))`,
  );

/** Trades of the same order in a later segment, where it can only be a maker. */
const ofOrderLater = (direction: Direction): SegmentQuery =>
  ofSegments(
    tradesOfOrder(
      direction,
      'select $6::text as id, 0 as sequence where $1::text is not null and ($2::text is null or true)',
      ['maker'],
    ),
  );

const OF_WALLET = { desc: ofWallet('desc'), asc: ofWallet('asc') };
const OF_ORDER = { desc: ofOrder('desc'), asc: ofOrder('asc') };
const OF_ORDER_LATER = { desc: ofOrderLater('desc'), asc: ofOrderLater('asc') };

interface MarketTradesFilter {
  /** The taker's side. */
  readonly side?: Side | undefined;
  readonly limit: number;
  /** Unix milliseconds, inclusive. */
  readonly fromMs?: number | undefined;
  /** Unix milliseconds, exclusive. */
  readonly toMs?: number | undefined;
  /** The first trades after this one. */
  readonly afterId?: number | undefined;
  /** The last trades before this one. */
  readonly beforeId?: number | undefined;
}

/**
 * Returns SQL of trades of a market in a segment. The index is in the order of time, as the ids are: the time of the
 * trade at a bound completes the bound.
 */
const ofMarket = (direction: Direction, bound: string): SegmentQuery =>
  ofSegments(`select ${joinedLines('line', `trade_id ${direction}`)} from (
    select trade_id,
      ${lineOf('trade_id', 'taker_side', 'price_ticks', 'size_steps', 'notional_atoms', 'time_ms')} as line
    from (
      select found.* from unnest($2::text[]) as asked (side)
      cross join lateral (
        select trade_id, taker_side, price_ticks, size_steps, notional_atoms, time_ms from ${TRADES}
        where market = $1 and taker_side = asked.side and time_ms >= $3 and time_ms < $4 ${bound}
        order by time_ms ${direction}, trade_id ${direction} limit $5
      ) as found
      order by found.trade_id ${direction} limit $5) as listed) as lines`);

const OF_MARKET = ofMarket('desc', '');
const AFTER_ID = ofMarket(
  'asc',
  `and (time_ms, trade_id) > (
    coalesce((select time_ms from ${TRADES} where trade_id <= $6 order by trade_id desc limit 1), 0), $6::bigint)`,
);
const BEFORE_ID = ofMarket(
  'desc',
  `and (time_ms, trade_id) < (
    coalesce((select time_ms from ${TRADES} where trade_id >= $6 order by trade_id limit 1), ${Number.MAX_SAFE_INTEGER}),
    $6::bigint)`,
);

const readPublicTrade = (fields: readonly string[]): PublicTrade => ({
  tradeId: Number(fields[0]),
  takerSide: fields[1] as Side,
  priceTicks: fields[2]!,
  sizeSteps: fields[3]!,
  notionalAtoms: fields[4]!,
  timeMs: Number(fields[5]),
});

/** The last trade of the last minute that a market traded in, of those that began before a time. */
const TRADED_BEFORE = prepared(`
  select symbol, last_trade_id from public.markets
  cross join lateral (select last_trade_id from public.candles
    where market = symbol and timeframe = '1m' and open_ms < $1 order by open_ms desc limit 1) as minute`);

const LAST_TRADES = prepared(`
  select distinct on (market) found.* from unnest($2::text[]) as asked_market (symbol)
  cross join (values ('buy'), ('sell')) as asked (side)
  cross join lateral (
    select ${TRADE_COLUMNS} from ${TRADES}
    where market = asked_market.symbol and taker_side = asked.side and time_ms < $1
    order by time_ms desc, trade_id desc limit 1
  ) as found
  order by market, trade_id desc`);

/** The end of what was read of the trades. */
interface ReadTrades {
  /** The last trade that was read. */
  readonly tradeId: number;
  /** Null before the first read. */
  readonly place: SettledPlace | null;
}

interface SettledSeconds extends ReadOn {
  /** Seconds of each market in the order of time. */
  readonly seconds: SecondOfTrades[];
  /** Trade after which the next read continues; unchanged when no trade was found. */
  readonly lastTradeId: number;
  /** True when the limit was reached, so that more trades may follow. */
  readonly isPart: boolean;
}

/**
 * The fields of a second, in the order in which `readSecond` reads them, and the last trade. min and max of [id, price]
 * are the prices of the first and of the last trade, without a sort.
 */
const SECOND_FIELDS = [
  'market',
  'time_ms / 1000',
  '(min(array[trade_id, price_ticks]))[2]',
  '(max(array[trade_id, price_ticks]))[2]',
  'max(price_ticks)',
  'min(price_ticks)',
  'sum(size_steps)',
  'sum(notional_atoms)',
  'count(*)',
  'max(trade_id)',
];

const SECONDS = withPlace(
  `select ${joinedLines('line', 'second')} from (
    select time_ms / 1000 as second, ${lineOf(...SECOND_FIELDS)} as line
    from (select * from segments.trades_{2} where trade_id > $1 and time_ms < $2 order by trade_id limit $3) as fresh
    group by market, second) as seconds`,
  4,
);

const readSecond = (fields: readonly string[]): SecondOfTrades => ({
  market: fields[0]!,
  second: Number(fields[1]),
  firstTicks: BigInt(fields[2]!),
  lastTicks: BigInt(fields[3]!),
  highTicks: BigInt(fields[4]!),
  lowTicks: BigInt(fields[5]!),
  sizeSteps: BigInt(fields[6]!),
  quoteAtoms: BigInt(fields[7]!),
  trades: Number(fields[8]),
});

const tradesOfSecond = (fields: readonly string[]): number => Number(fields[8]);

/** Reads a page of lines, segment after segment. */
const linesOf = (
  moment: Moment,
  query: SegmentQuery,
  range: Range,
  limit: number,
  held: Held,
  valuesOf: (left: number) => readonly unknown[],
): Promise<string[][]> =>
  moment.page({
    range,
    limit,
    held,
    ask: async (segment, left) => rowsOf((await moment.ask(query, [segment], valuesOf(left))).lines),
  });

type ListOfWallet = Omit<WalletTradesFilter, 'beforeTradeId' | 'afterTradeId' | 'span'>;

async function tradesOfWallet(
  moment: Moment,
  wallet: string,
  { market, direction = 'desc', limit }: ListOfWallet,
  bounds: Bounds,
): Promise<string[][]> {
  const range = await segmentsBetween(moment, direction, bounds);
  const held =
    market === undefined
      ? { sql: TRADES_HELD, values: [wallet] }
      : { sql: TRADES_OF_MARKET_HELD, values: [wallet, market] };
  return linesOf(moment, OF_WALLET[direction], range, limit, held, (left) => [
    wallet,
    market ?? null,
    bounds.before,
    left,
    bounds.after,
  ]);
}

/** The trades of an order lie between the segment in which it was placed and that of its last change. */
async function tradesOfOneOrder(
  moment: Moment,
  wallet: string,
  { market, orderId, direction = 'desc', limit }: ListOfWallet & { readonly orderId: string },
  { before, after }: Bounds,
): Promise<string[][]> {
  const valuesOf = (left: number): unknown[] => [wallet, market ?? null, before, left, after, orderId];
  const own = moment.segmentOfOrder(orderId);
  const { further, lines } = await moment.ask(OF_ORDER[direction], [own], valuesOf(limit));
  const rows = rowsOf(lines);
  const last = further[0] === undefined ? own : moment.segmentOf(Number(further[0]));
  if (last === own || (direction === 'asc' && rows.length >= limit)) return rows;
  const between = await segmentsBetween(moment, 'asc', { after, before });
  const lowest = Math.max(between.from, own + 1);
  const highest = Math.min(between.to, last);
  if (highest < lowest) return rows;
  const later = await linesOf(
    moment,
    OF_ORDER_LATER[direction],
    rangeOf(direction, lowest, highest),
    direction === 'asc' ? limit - rows.length : limit,
    { sql: FILLS_HELD, values: [[orderId]] },
    valuesOf,
  );
  return (direction === 'asc' ? [...rows, ...later] : [...later, ...rows]).slice(0, limit);
}

async function tradesOfMarket(
  moment: Moment,
  market: string,
  { side, limit, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER, afterId, beforeId }: MarketTradesFilter,
): Promise<string[][]> {
  const query = afterId !== undefined ? AFTER_ID : beforeId !== undefined ? BEFORE_ID : OF_MARKET;
  const bound = afterId ?? beforeId;
  const direction = afterId === undefined ? 'desc' : 'asc';
  const ids = await segmentsBetween(moment, 'asc', {
    after: afterId ?? 0,
    before: afterId === undefined ? (beforeId ?? Number.MAX_SAFE_INTEGER) : Number.MAX_SAFE_INTEGER,
  });
  const lowest = fromMs === 0 ? 0 : await moment.lastBefore(({ timeMs }) => timeMs < fromMs);
  const highest =
    toMs === Number.MAX_SAFE_INTEGER ? moment.newest : await moment.lastBefore(({ timeMs }) => timeMs < toMs);
  const range = rangeOf(direction, Math.max(ids.from, lowest), Math.min(ids.to, highest));
  const sides = side === undefined ? ['buy', 'sell'] : [side];
  const held = {
    sql: `exists (select from ${TRADES} where market = $1 and taker_side = any($2::text[]))`,
    values: [market, sides],
  };
  return linesOf(moment, query, range, limit, held, (left) => [
    market,
    sides,
    fromMs,
    toMs,
    left,
    ...(bound === undefined ? [] : [bound]),
  ]);
}

async function lastTradesBefore(moment: Moment, timeMs: number): Promise<Trade[]> {
  const traded = await moment.rows<{ symbol: string; last_trade_id: bigint }>(TRADED_BEFORE, [], [timeMs]);
  /** The segment in which, or before which, the last trade of a market lies. */
  const missing = new Map<string, number>();
  for (const { symbol, last_trade_id: last } of traded)
    missing.set(symbol, await moment.lastBefore(({ tradeId }) => tradeId <= last));
  const found: Trade[] = [];
  while (missing.size > 0) {
    const segment = Math.max(...missing.values());
    const asked = [...missing.keys()].filter((symbol) => missing.get(symbol) === segment);
    const rows = await moment.rows<TradeRow>(LAST_TRADES, [segment], [timeMs, asked]);
    found.push(...rows.map(tradeOf));
    const isThere = new Set(rows.map(({ market }) => market));
    for (const symbol of asked)
      if (isThere.has(symbol) || segment === 0) missing.delete(symbol);
      else missing.set(symbol, segment - 1);
  }
  return found;
}

async function secondsAfter(
  moment: Moment,
  { tradeId, place }: ReadTrades,
  beforeMs: number,
  limit: number,
): Promise<SettledSeconds> {
  let read: ReadOn | undefined;
  const rows = await moment.page<string[]>({
    range: await segmentsBetween(moment, 'asc', { after: tradeId, before: Number.MAX_SAFE_INTEGER }),
    limit,
    ask: async (segment, left) => {
      const segments = [...segmentsOfPlace(moment, place), segment];
      const answer = await moment.ask(SECONDS, segments, [
        tradeId,
        beforeMs,
        left,
        ...placeParameters(place),
      ]);
      read = readOn(answer);
      return rowsOf(answer.lines);
    },
    countOf: tradesOfSecond,
  });
  return {
    ...read!,
    seconds: rows.map(readSecond),
    lastTradeId: rows.reduce((last, fields) => Math.max(last, Number(fields[9])), tradeId),
    isPart: rows.reduce((count, fields) => count + tradesOfSecond(fields), 0) === limit,
  };
}

export type TradeQueries = ReturnType<typeof tradeQueries>;

/** Reads of settled trades. */
export function tradeQueries({ lists, public: reading }: Pick<Pools, 'lists' | 'public'>, moments: Moments) {
  return {
    /** Returns the wallet's latest trades, as maker or taker, newest first; or its first ones, oldest first. */
    async ofWallet(
      wallet: string,
      { span, beforeTradeId = Number.MAX_SAFE_INTEGER, afterTradeId = 0, ...list }: WalletTradesFilter,
    ): Promise<{ cursor: Cursor; trades: WalletTrade[] }> {
      const { cursor, rows } = await moments.read(
        lists,
        async (moment) => {
          const bounds = await boundsWithin({ before: beforeTradeId, after: afterTradeId }, span, (timeMs) =>
            firstTradeIn(moment, timeMs),
          );
          const rows =
            list.orderId === undefined
              ? await tradesOfWallet(moment, wallet, list, bounds)
              : await tradesOfOneOrder(moment, wallet, { ...list, orderId: list.orderId }, bounds);
          return { cursor: moment.cursor, rows };
        },
        isBounded(span),
      );
      return { cursor, trades: rows.map(readWalletTrade) };
    },

    /** Returns a market's trades, newest first, read from one place of the index for each side. */
    async ofMarket(
      market: string,
      filter: MarketTradesFilter,
    ): Promise<{ cursor: Cursor; trades: PublicTrade[] }> {
      const { cursor, rows } = await moments.read(reading, async (moment) => {
        const rows = await tradesOfMarket(moment, market, filter);
        return { cursor: moment.cursor, rows };
      });
      const trades = rows.map(readPublicTrade);
      return { cursor, trades: filter.afterId === undefined ? trades : trades.toReversed() };
    },

    /** Returns the last trade before a time (Unix milliseconds) of each market that has one. */
    async lastBefore(timeMs: number): Promise<Trade[]> {
      return moments.read(reading, (moment) => lastTradesBefore(moment, timeMs), true);
    },

    /**
     * Returns at most `limit` trades of all markets after a trade and before a time (Unix milliseconds), summed by
     * second.
     */
    secondsAfter(read: ReadTrades, beforeMs: number, limit: number): Promise<SettledSeconds> {
      return moments.read(reading, (moment) => secondsAfter(moment, read, beforeMs, limit));
    },
  };
}
