/** Checks orders against their trades, their ids, their markets, and the witness that settlement stored for each. */

import type { LedgerQuery } from './query.ts';

/** Trades of each order: `id`, `steps`, `fills`, `last_sequence`, `last_ms`. */
const FILLS = `
  select id, sum(size_steps) as steps, count(*) as fills, max(sequence) as last_sequence, max(time_ms) as last_ms
  from (
    select taker_order_id as id, size_steps, sequence, time_ms from trades
    union all select maker_order_id, size_steps, sequence, time_ms from trades) as sides
  group by id`;

export const ORDER_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'fills are trades',
    meaning: 'the filled size of each order is the sum of its trades, and its fill count their number',
    sql: `
      with filled as (${FILLS})
      select concat_ws(' ', 'order', orders.id, field) as subject, rule.expected::text as expected,
        rule.found::text as found
      from orders left join filled on filled.id = orders.id
      cross join lateral (values
        ('filled_steps', coalesce(steps, 0), filled_steps),
        ('fill_count', coalesce(fills, 0), fill_count)) as rule (field, expected, found)
      where rule.expected <> rule.found`,
  },
  {
    name: 'statuses follow',
    meaning:
      'the status, the last change and the end of each order follow from its size, its trades and its refusal',
    sql: `
      with filled as (${FILLS}),
      ruled as (
        select orders.*, last_ms, last_sequence,
          case
            when filled_steps = size_steps then array['filled']
            when closed_sequence is null then
              case when filled_steps = 0 then array['resting', 'open'] else array['partially_filled'] end
            when reject_reason is not null then array['rejected']
            when filled_steps > 0 and closed_sequence = orders.sequence then array['partially_filled_cancelled']
            when filled_steps > 0 then array['partially_filled_cancelled', 'failed']
            when closed_sequence = orders.sequence then array['expired', 'cancelled']
            else array['cancelled', 'failed']
          end as statuses,
          greatest(orders.sequence, coalesce(last_sequence, 0)) as touched
        from orders left join filled on filled.id = orders.id)
      select concat_ws(' ', 'order', id, field) as subject, rule.expected as expected, rule.found as found
      from ruled
      cross join lateral (values
        ('status', array_to_string(statuses, ' or '),
          case when status = any (statuses) then array_to_string(statuses, ' or ') else status end),
        ('closed_sequence', case
            when reject_reason is not null then sequence::text
            when filled_steps = size_steps then touched::text
            when closed_sequence < touched then 'at or after ' || touched
            else coalesce(closed_sequence::text, 'none') end,
          coalesce(closed_sequence::text, 'none')),
        ('updated_sequence', coalesce(closed_sequence, touched)::text, updated_sequence::text),
        ('updated_at_ms', case updated_sequence
            when sequence then created_at_ms
            when last_sequence then last_ms
            else greatest(updated_at_ms, created_at_ms, last_ms) end::text,
          updated_at_ms::text)) as rule (field, expected, found)
      where rule.expected is distinct from rule.found`,
  },
  {
    name: 'orders fit ids and markets',
    meaning:
      'the id of each order tells its market, side, price and event, and its assets and amounts are those of the market',
    sql: `
      select concat_ws(' ', 'order', orders.id, field) as subject, rule.expected as expected,
        coalesce(rule.found, 'none') as found
      from orders left join markets on markets.symbol = orders.market
      cross join lateral (values
        ('market', orders.market, markets.symbol),
        ('id', concat(
            lpad(to_hex(markets.number * 2 + case side when 'sell' then 1 else 0 end), 4, '0'),
            lpad(to_hex(case when price_ticks is null then 0 when side = 'buy' then 9007199254740991 - price_ticks
              else price_ticks end), 14, '0'),
            substr(id, 19, 4), lpad(to_hex(sequence), 12, '0')), id),
        ('base', record #>> '{base,symbol}', base),
        ('quote', record #>> '{quote,symbol}', quote),
        ('base_atoms_per_step', record ->> 'baseAtomsPerStep', base_atoms_per_step::text),
        ('quote_atoms_per_lot', record ->> 'quoteAtomsPerLot', quote_atoms_per_lot::text),
        ('price_ticks', case type when 'market' then 'none' else coalesce(price_ticks::text, 'a price') end,
          coalesce(price_ticks::text, 'none'))) as rule (field, expected, found)
      where rule.expected is distinct from rule.found`,
  },
  {
    name: 'orders are as written',
    meaning:
      'each order is in every field what settlement last wrote, by the digest that was written with it',
    sql: `
      select 'order ' || id as subject,
        coalesce('the row of witness ' || encode(witness, 'escape'), 'a row that settlement wrote') as expected,
        concat(to_jsonb(orders) - 'witness', ' of witness ', encode(due, 'escape')) as found
      from orders
      cross join lateral (select case length(witness) when 16 then witness_of(orders) else order_witness(orders) end
        as due) as told
      where witness is distinct from due`,
  },
];
