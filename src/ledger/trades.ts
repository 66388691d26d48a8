/** Reads settled trades. */

import type { Cursor } from '../domain/event.ts';
import type { FillRole, PublicTrade, Side, Trade, WalletTrade } from '../domain/order.ts';
import type { SecondOfTrades } from '../domain/rolling-day.ts';
import {
  placeParameters,
  type ReadOn,
  readCursorText,
  readPlaceText,
  type SettledPlace,
  withCursor,
  withPlace,
} from './cursor.ts';
import { FILL_FIELDS, fillFields, fillsIndex, readFill, walkTrades } from './fills.ts';
import { firstTradeAt } from './first-after.ts';
import { joinedLines, lineOf, rowsOf } from './lines.ts';
import { type MarketUnitsRow, marketUnits, UNIT_COLUMNS } from './market-units.ts';
import type { Pools } from './pools.ts';
import { askForTexts, inSnapshot, type PreparedQuery, prepared } from './queries.ts';
import { askWithin, type TimeSpan } from './time-span.ts';
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
 * Returns SQL of the first trades of both roles in a direction. Each market and role is one short walk of an index from
 * one end: a wallet with millions of trades in one market costs no more than one with ten. The walks find ids alone,
 * which the indexes hold; only the listed trades are read from the table.
 * @param listed names what each walk is of
 * @param indexOf columns of the index of a role, and the values that it is walked with
 */
function firstTrades(
  direction: Direction,
  listed: string,
  indexOf: (role: FillRole) => { readonly columns: readonly string[]; readonly values: readonly string[] },
): PreparedQuery {
  const walk = (role: FillRole): string =>
    walkTrades(`trade_id, '${role}' as role`, {
      ...indexOf(role),
      direction,
      before: '$3',
      limit: '$4',
      after: '$5',
    });
  const order = `trade_id ${direction}`;
  return prepared(
    withCursor(`select ${joinedLines('line', order)} from (
      select trade_id, case role when 'taker' then ${lineOfRole('taker')} else ${lineOfRole('maker')} end as line
      from (
        select own.trade_id as id, own.role from (${listed}) as listed
        cross join lateral (${walk('taker')} union all ${walk('maker')}) as own
        order by own.${order} limit $4
      ) as newest
      cross join lateral (select * from public.trades where trade_id = newest.id offset 0) as found) as lines`),
  );
}

const ofWallet = (direction: Direction): PreparedQuery =>
  firstTrades(
    direction,
    `select symbol from public.markets where $2::text is null or symbol = $2`,
    (role) => ({
      columns: [`${role}_wallet`, 'market'],
      values: ['$1', 'listed.symbol'],
    }),
  );

const ofOrder = (direction: Direction): PreparedQuery =>
  firstTrades(
    direction,
    `select id, sequence from (select * from public.orders where id = $6 offset 0) as asked
     where wallet = $1 and ($2::text is null or market = $2)`,
    (role) => fillsIndex(role, { id: 'listed.id', sequence: 'listed.sequence' }),
  );

const OF_WALLET = { desc: ofWallet('desc'), asc: ofWallet('asc') };
const OF_ORDER = { desc: ofOrder('desc'), asc: ofOrder('asc') };

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
 * Returns SQL of trades of a market, newest first. The index is in the order of time, as the ids are: the time of the
 * trade at a bound completes the bound.
 */
const ofMarket = (direction: Direction, bound: string): PreparedQuery =>
  prepared(
    withCursor(`select ${joinedLines('line', 'trade_id desc')} from (
    select trade_id,
      ${lineOf('trade_id', 'taker_side', 'price_ticks', 'size_steps', 'notional_atoms', 'time_ms')} as line
    from (
      select found.* from unnest($2::text[]) as asked (side)
      cross join lateral (
        select trade_id, taker_side, price_ticks, size_steps, notional_atoms, time_ms from public.trades
        where market = $1 and taker_side = asked.side and time_ms >= $3 and time_ms < $4 ${bound}
        order by time_ms ${direction}, trade_id ${direction} limit $5
      ) as found
      order by found.trade_id ${direction} limit $5) as listed) as lines`),
  );

const OF_MARKET = ofMarket('desc', '');
const AFTER_ID = ofMarket(
  'asc',
  `and (time_ms, trade_id) > (
    coalesce((select time_ms from public.trades where trade_id <= $6 order by trade_id desc limit 1), 0), $6::bigint)`,
);
const BEFORE_ID = ofMarket(
  'desc',
  `and (time_ms, trade_id) < (
    coalesce((select time_ms from public.trades where trade_id >= $6 order by trade_id limit 1), ${Number.MAX_SAFE_INTEGER}),
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

const LAST_TRADES = `
  select distinct on (market) found.* from public.markets
  cross join (values ('buy'), ('sell')) as asked (side)
  cross join lateral (
    select ${TRADE_COLUMNS} from public.trades
    where market = markets.symbol and taker_side = asked.side and time_ms < $1
    order by time_ms desc, trade_id desc limit 1
  ) as found
  order by market, trade_id desc`;

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

const SECONDS = prepared(
  withPlace(
    `select ${joinedLines('line', 'second')} from (
    select time_ms / 1000 as second, ${lineOf(...SECOND_FIELDS)} as line
    from (select * from public.trades where trade_id > $1 and time_ms < $2 order by trade_id limit $3) as fresh
    group by market, second) as seconds`,
    4,
  ),
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

export type TradeQueries = ReturnType<typeof tradeQueries>;

/** Reads of settled trades. */
export function tradeQueries({ lists, public: reading }: Pick<Pools, 'lists' | 'public'>) {
  return {
    /** Returns the wallet's latest trades, as maker or taker, newest first; or its first ones, oldest first. */
    async ofWallet(
      wallet: string,
      { market, orderId, direction = 'desc', limit, ...bounds }: WalletTradesFilter,
    ): Promise<{ cursor: Cursor; trades: WalletTrade[] }> {
      const { beforeTradeId: before = Number.MAX_SAFE_INTEGER, afterTradeId: after = 0, span } = bounds;
      const statement = (orderId === undefined ? OF_WALLET : OF_ORDER)[direction];
      const further = orderId === undefined ? [] : [orderId];
      const [cursor, lines] = await askWithin(
        lists,
        statement,
        { before, after, span, firstAt: firstTradeAt },
        (bound) => [...[wallet, market ?? null, bound.before, limit, bound.after], ...further],
      );
      return { cursor: readCursorText(cursor), trades: rowsOf(lines).map(readWalletTrade) };
    },

    /** Returns a market's trades, newest first, read from one place of the index for each side. */
    async ofMarket(
      market: string,
      { side, limit, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER, afterId, beforeId }: MarketTradesFilter,
    ): Promise<{ cursor: Cursor; trades: PublicTrade[] }> {
      const parameters: unknown[] = [
        market,
        side === undefined ? ['buy', 'sell'] : [side],
        fromMs,
        toMs,
        limit,
      ];
      const bound = afterId ?? beforeId;
      if (bound !== undefined) parameters.push(bound);
      const statement = afterId !== undefined ? AFTER_ID : beforeId !== undefined ? BEFORE_ID : OF_MARKET;
      const [cursor, lines] = await askForTexts(reading, statement, parameters);
      return { cursor: readCursorText(cursor), trades: rowsOf(lines).map(readPublicTrade) };
    },

    /** Returns the last trade before a time (Unix milliseconds) of each market that has one. */
    async lastBefore(timeMs: number): Promise<Trade[]> {
      const rows = await inSnapshot(reading, (ask) => ask<TradeRow>(LAST_TRADES, [timeMs]));
      return rows.map(tradeOf);
    },

    /**
     * Returns at most `limit` trades of all markets after a trade and before a time (Unix milliseconds), summed by
     * second.
     */
    async secondsAfter(
      { tradeId, place }: ReadTrades,
      beforeMs: number,
      limit: number,
    ): Promise<SettledSeconds> {
      const parameters = [tradeId, beforeMs, limit, ...placeParameters(place)];
      const [cursor, lines] = await askForTexts(reading, SECONDS, parameters);
      const rows = rowsOf(lines);
      const seconds = rows.map(readSecond);
      return {
        ...readPlaceText(cursor),
        seconds,
        lastTradeId: rows.reduce((last, fields) => Math.max(last, Number(fields[9])), tradeId),
        isPart: seconds.reduce((count, { trades }) => count + trades, 0) === limit,
      };
    },
  };
}
