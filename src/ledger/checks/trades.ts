/** Checks trades against their orders, and candles against their trades. */

import { dayOfLast, IS_OPEN, WHOLE_HISTORY } from '../span.ts';
import { namesOf, ORDERS } from '../tables.ts';
import { brokenRules, type LedgerQuery, type Rule } from './query.ts';

const OTHER_SIDE = `case taker_side when 'buy' then 'sell' else 'buy' end`;

const TRADES_OF_PART = 'segments.trades_{segment}';

/**
 * The orders that a trade of a part may have: those of its segment, those that ended in a later one, and those that are
 * live.
 */
const ORDERS_OF_PART = `(${[
  'segments.ended_orders_{segment}',
  'public.late_orders where closed_sequence > {from}',
  'public.live_orders',
]
  .map((table) => `select ${namesOf(ORDERS)} from ${table}`)
  .join(' union all ')})`;

/** A column of the trade has the value that its order has, if there is the order. */
const sameAsOrder = (column: string, ofOrder: string): Rule => ({
  field: column,
  expected: `coalesce(${ofOrder}, trade.${column})`,
  found: `trade.${column}`,
});

/**
 * The days of a span, and the first event that such a day may have. The day of its last trade belongs to the next span,
 * because that may go on with it.
 */
const DAYS_OF_SPAN = `
  days as materialized (
    select coalesce(${dayOfLast('{from}')}, ${WHOLE_HISTORY.from}) as from_ms,
      case when ${IS_OPEN} then ${WHOLE_HISTORY.to} else coalesce(${dayOfLast('{to}')}, ${WHOLE_HISTORY.from}) end as to_ms),
  begin as materialized (
    select coalesce(max(from_sequence), ${WHOLE_HISTORY.from}) as sequence from public.segments
    cross join lateral (select time_ms from public.trades
      where trades.sequence >= from_sequence order by trades.sequence, trade_id limit 1) as first
    where first.time_ms < (select from_ms from days))`;

export const TRADE_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'fees follow from rates',
    meaning: 'the fee of each trade is its notional times the rate of its market then, rounded up to an atom',
    proof: 'versions of markets in the order of their events, proven by the chain',
    ofPart: `
      select 'trade ' || trade_id as subject, due::text as expected, fee_atoms::text as found
      from (
        select market, sequence as from_sequence, fee_bps,
          lead(sequence, 1, 9223372036854775807) over (partition by market order by sequence) as to_sequence
        from public.market_versions) as version
      join ${TRADES_OF_PART} as trades on trades.market = version.market and sequence > from_sequence and sequence < to_sequence
      cross join lateral (select ceil(notional_atoms::numeric * fee_bps / 10000) as due) as rate
      where fee_atoms <> due`,
  },
  {
    name: 'trades fit their orders',
    meaning:
      'both orders of a trade exist, on opposite sides of its market, at a price both accept, and its time is that of the taker order',
    proof: 'rows of one snapshot; events in the order of their numbers',
    ofPart: brokenRules(
      `'trade', trade_id`,
      `${TRADES_OF_PART} as trade left join ${ORDERS_OF_PART} as taker on taker.id = taker_order_id
      left join ${ORDERS_OF_PART} as maker on maker.id = maker_order_id`,
      [
        ...(['taker', 'maker'] as const).map((role) => ({
          field: `${role}_order_id`,
          expected: `'an order'`,
          found: `'no order ' || ${role}_order_id`,
          broken: `${role}.id is null`,
        })),
        sameAsOrder('taker_wallet', 'taker.wallet'),
        sameAsOrder('maker_wallet', 'maker.wallet'),
        sameAsOrder('market', 'taker.market'),
        { ...sameAsOrder('market', 'maker.market'), field: 'market of the maker' },
        sameAsOrder('taker_side', 'taker.side'),
        {
          field: 'side of the maker',
          expected: OTHER_SIDE,
          found: `coalesce(maker.side, ${OTHER_SIDE})`,
        },
        sameAsOrder('price_ticks', 'maker.price_ticks'),
        {
          field: 'limit of the taker',
          expected: `'accepts ' || trade.price_ticks`,
          found: `'is ' || taker.price_ticks`,
          broken: `case taker_side when 'buy' then taker.price_ticks < trade.price_ticks
            else taker.price_ticks > trade.price_ticks end`,
        },
        sameAsOrder('sequence', 'taker.sequence'),
        {
          field: 'maker',
          expected: `'placed before'`,
          found: `'placed at event ' || maker.sequence`,
          broken: 'maker.sequence >= trade.sequence',
        },
        { field: 'wallets', expected: `'two'`, found: `'one'`, broken: 'taker_wallet = maker_wallet' },
        sameAsOrder('time_ms', 'taker.created_at_ms'),
        ...['base', 'quote', 'base_atoms_per_step', 'quote_atoms_per_lot'].map((column) =>
          sameAsOrder(column, `taker.${column}`),
        ),
      ],
    ),
  },
  {
    name: 'amounts are price and size',
    meaning: 'the base and quote atoms of each trade are its size, and its price times its size',
    proof: 'whole numbers of the same row',
    ofPart: brokenRules(`'trade', trade_id`, `${TRADES_OF_PART} as trades`, [
      {
        field: 'base_atoms',
        expected: 'size_steps::numeric * base_atoms_per_step',
        found: 'base_atoms::numeric',
      },
      {
        field: 'notional_atoms',
        expected: 'price_ticks::numeric * size_steps * quote_atoms_per_lot',
        found: 'notional_atoms::numeric',
      },
      { field: 'size_steps', expected: '1', found: 'size_steps', broken: 'size_steps < 1' },
      { field: 'fee_atoms', expected: '0', found: 'fee_atoms', broken: 'fee_atoms < 0' },
    ]),
  },
  {
    name: 'trade ids rise',
    meaning: 'trade ids rise in the order of execution, and none is given twice',
    proof: 'numbers that the script gives in the order of events; gaps are no difference',
    ofPart: `
      select 'trade ' || trade_id as subject, 'an event at or after ' || before as expected,
        sequence::text as found
      from (select trade_id, sequence, lag(sequence) over ids as before, lag(trade_id) over ids as id_before
        from (select trade_id, sequence from ${TRADES_OF_PART} union all (select trade_id, sequence from public.trades
          where sequence <= {from} order by sequence desc, trade_id desc limit 1)) as trades
        window ids as (order by trade_id)) as ordered
      where sequence < before or trade_id = id_before`,
  },
  {
    name: 'candles are their trades',
    meaning:
      'each candle of a minute, an hour or a day is what the trades of its market and time add up to, and none is missing',
    proof: 'trades of one snapshot, by the time of their event in UTC',
    sql: `
      with ${DAYS_OF_SPAN},
      minutes as materialized (
        select market, time_ms - time_ms % 60000 as open_ms, (min(array[trade_id, price_ticks]))[2] as open_ticks,
          max(price_ticks) as high_ticks, min(price_ticks) as low_ticks,
          (max(array[trade_id, price_ticks]))[2] as close_ticks, sum(size_steps) as volume_steps,
          sum(notional_atoms) as quote_atoms, min(trade_id) as first_trade_id, max(trade_id) as last_trade_id
        from public.trades where sequence >= (select sequence from begin) and sequence <= {to}
          and time_ms >= (select from_ms from days) and time_ms < (select to_ms from days)
        group by 1, 2),
      due as (
        select '1m' as timeframe, minutes.* from minutes
        union all
        select length.timeframe, market, open_ms - open_ms % length.ms, (min(array[first_trade_id, open_ticks]))[2],
          max(high_ticks), min(low_ticks), (max(array[last_trade_id, close_ticks]))[2], sum(volume_steps),
          sum(quote_atoms), min(first_trade_id), max(last_trade_id)
        from minutes cross join (values ('1h', 3600000), ('1D', 86400000)) as length (timeframe, ms)
        group by 1, 2, 3),
      kept as (
        select timeframe, market, open_ms, open_ticks, high_ticks, low_ticks, close_ticks, volume_steps, quote_atoms,
          first_trade_id, last_trade_id
        from public.candles where open_ms >= (select from_ms from days) and open_ms < (select to_ms from days))
      select concat_ws(' ', market, timeframe, 'at', open_ms) as subject,
        coalesce(to_jsonb(due)::text, 'no candle') as expected, coalesce(to_jsonb(kept)::text, 'no candle') as found
      from due full join kept using (market, timeframe, open_ms)
      where to_jsonb(due) is distinct from to_jsonb(kept)`,
  },
];
