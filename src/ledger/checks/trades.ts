/** Checks trades against their orders, and candles against their trades. */

import type { LedgerQuery } from './query.ts';

export const TRADE_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'trades fit their orders',
    meaning:
      'both orders of a trade exist, on opposite sides of its market, at a price both accept, and its time is that of the taker order',
    sql: `
      select concat_ws(' ', 'trade', trade_id, field) as subject, coalesce(rule.expected, 'none') as expected,
        coalesce(rule.found, 'none') as found
      from trades as trade
      left join orders as taker on taker.id = taker_order_id
      left join orders as maker on maker.id = maker_order_id
      cross join lateral (values
        ('taker_order_id', 'an order', case when taker.id is null then 'no order ' || taker_order_id else 'an order' end),
        ('maker_order_id', 'an order', case when maker.id is null then 'no order ' || maker_order_id else 'an order' end),
        ('taker_wallet', coalesce(taker.wallet, taker_wallet), taker_wallet),
        ('maker_wallet', coalesce(maker.wallet, maker_wallet), maker_wallet),
        ('market', coalesce(taker.market, trade.market), trade.market),
        ('market of the maker', coalesce(maker.market, trade.market), trade.market),
        ('taker_side', coalesce(taker.side, taker_side), taker_side),
        ('side of the maker', case taker_side when 'buy' then 'sell' else 'buy' end,
          coalesce(maker.side, case taker_side when 'buy' then 'sell' else 'buy' end)),
        ('price_ticks', coalesce(maker.price_ticks, trade.price_ticks)::text, trade.price_ticks::text),
        ('limit of the taker', 'accepts ' || trade.price_ticks, case when
          case taker_side when 'buy' then taker.price_ticks < trade.price_ticks
          else taker.price_ticks > trade.price_ticks end
          then 'is ' || taker.price_ticks else 'accepts ' || trade.price_ticks end),
        ('sequence', coalesce(taker.sequence, trade.sequence)::text, trade.sequence::text),
        ('maker', 'placed before', case when maker.sequence >= trade.sequence then 'placed at event ' || maker.sequence
          else 'placed before' end),
        ('wallets', 'two', case when taker_wallet = maker_wallet then 'one' else 'two' end),
        ('time_ms', coalesce(taker.created_at_ms, time_ms)::text, time_ms::text),
        ('base', coalesce(taker.base, trade.base), trade.base),
        ('quote', coalesce(taker.quote, trade.quote), trade.quote),
        ('base_atoms_per_step', coalesce(taker.base_atoms_per_step, trade.base_atoms_per_step)::text,
          trade.base_atoms_per_step::text),
        ('quote_atoms_per_lot', coalesce(taker.quote_atoms_per_lot, trade.quote_atoms_per_lot)::text,
          trade.quote_atoms_per_lot::text)) as rule (field, expected, found)
      where rule.expected is distinct from rule.found`,
  },
  {
    name: 'amounts are price and size',
    meaning: 'the base and quote atoms of each trade are its size, and its price times its size',
    sql: `
      select concat_ws(' ', 'trade', trade_id, field) as subject, rule.expected::text as expected,
        rule.found::text as found
      from trades
      cross join lateral (values
        ('base_atoms', size_steps::numeric * base_atoms_per_step, base_atoms),
        ('notional_atoms', price_ticks::numeric * size_steps * quote_atoms_per_lot, notional_atoms),
        ('size_steps', greatest(size_steps, 1), size_steps),
        ('fee_atoms', greatest(fee_atoms, 0), fee_atoms)) as rule (field, expected, found)
      where rule.expected <> rule.found`,
  },
  {
    name: 'trade ids rise',
    meaning: 'trade ids rise in the order of execution',
    sql: `
      select 'trade ' || trade_id as subject, 'an event at or after ' || before as expected,
        sequence::text as found
      from (select trade_id, sequence, lag(sequence) over (order by trade_id) as before from trades) as ordered
      where sequence < before`,
  },
  {
    name: 'candles are their trades',
    meaning:
      'each candle of a minute, an hour or a day is what the trades of its market and time add up to, and none is missing',
    sql: `
      with minutes as materialized (
        select market, time_ms - time_ms % 60000 as open_ms, (min(array[trade_id, price_ticks]))[2] as open_ticks,
          max(price_ticks) as high_ticks, min(price_ticks) as low_ticks,
          (max(array[trade_id, price_ticks]))[2] as close_ticks, sum(size_steps) as volume_steps,
          sum(notional_atoms) as quote_atoms, min(trade_id) as first_trade_id, max(trade_id) as last_trade_id
        from trades group by 1, 2),
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
        from candles)
      select concat_ws(' ', market, timeframe, 'at', open_ms) as subject,
        coalesce(to_jsonb(due)::text, 'no candle') as expected, coalesce(to_jsonb(kept)::text, 'no candle') as found
      from due full join kept using (market, timeframe, open_ms)
      where to_jsonb(due) is distinct from to_jsonb(kept)`,
  },
];
