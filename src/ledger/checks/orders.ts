/** Checks orders against their trades, their ids and their markets. */

import { outlivesSegment } from '../segments.ts';
import { IS_OPEN } from '../span.ts';
import { namesOf, ORDERS } from '../tables.ts';
import { brokenRules, type LedgerQuery, type Rule } from './query.ts';

const COLUMNS = namesOf(ORDERS);
const OF_SEGMENT = 'segments.ended_orders_{segment}';

/** The orders of a span that outlived the segment of their placement: those that ended late in it, and the live ones. */
const OUTLIVING = `(
  select ${COLUMNS} from public.late_orders where closed_sequence > {from} and closed_sequence <= {to}
  union all select ${COLUMNS} from public.live_orders where ${IS_OPEN}) as orders`;

const SUMS = `sum(size_steps) as steps, count(*) filter (where not is_lost) as fills, max(sequence) as last_sequence,
  max(time_ms) as last_ms`;

/**
 * The orders of a segment with the sums of their trades, and of what lost ones filled: `steps`, `fills`, `last_sequence`,
 * `last_ms`. An order that ended in its segment has all its trades there.
 */
const FILLED_OF_SEGMENT = `(
  select ${COLUMNS}, steps, fills, last_sequence, last_ms from ${OF_SEGMENT} left join (
    select id, ${SUMS} from (
      select taker_order_id as id, size_steps, sequence, time_ms, false as is_lost from segments.trades_{segment}
      union all select maker_order_id, size_steps, sequence, time_ms, false from segments.trades_{segment}
      union all select order_id, steps, sequence, time_ms, true from public.adopted_fills) as sides
    group by id) as filled using (id)) as orders`;

/** The same for orders that outlived a segment, whose trades are found by their index. */
const FILLED_OUTLIVING = `(
  select orders.*, steps, fills, last_sequence, last_ms from ${OUTLIVING} cross join lateral (
    select ${SUMS} from (
      select size_steps, sequence, time_ms, false as is_lost from public.trades
      where trades.sequence = orders.sequence and taker_order_id = orders.id
      union all select size_steps, sequence, time_ms, false from public.trades
      where maker_order_id = orders.id and trades.sequence > orders.sequence
      union all select steps, sequence, time_ms, true from public.adopted_fills where order_id = orders.id) as sides) as filled
  ) as orders`;

/** Returns the queries of rules that each order follows, in both kinds of tables. */
const rulesOf = (
  ofSegment: string,
  outliving: string,
  rules: readonly Rule[],
): Pick<LedgerQuery, 'sql' | 'ofPart'> => ({
  sql: brokenRules(`'order', id`, outliving, rules),
  ofPart: brokenRules(`'order', id`, ofSegment, rules),
});

/** Statuses that an order may have. */
const STATUSES = `case
          when filled_steps = size_steps then array['filled']
          when closed_sequence is null then
            case when filled_steps = 0 then array['resting'] else array['partially_filled'] end
          when reject_reason is not null then array['rejected']
          when filled_steps > 0 and closed_sequence = sequence then array['partially_filled_cancelled']
          when filled_steps > 0 then array['partially_filled_cancelled', 'failed']
          when closed_sequence = sequence then array['expired', 'cancelled']
          else array['cancelled', 'failed'] end`;

/** Markets with the fields of their records, which are read once for a market and not for each of its orders. */
const LISTED = `(
        select symbol, number, record #>> '{base,symbol}' as base, record #>> '{quote,symbol}' as quote,
          record ->> 'baseAtomsPerStep' as base_atoms_per_step, record ->> 'quoteAtomsPerLot' as quote_atoms_per_lot
        from public.markets offset 0) as listed`;

/** Filled orders with the last event that touched each. */
const touched = (filled: string): string =>
  `(select *, greatest(sequence, coalesce(last_sequence, 0)) as touched from ${filled}) as ruled`;

const LATE = `(${outlivesSegment('sequence', 'closed_sequence')})`;

export const ORDER_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'orders are in one table',
    meaning:
      'each order is in one table: live, ended in the segment in which it was placed, or ended late, in another one; and no two orders of a wallet have the same client order id, in whichever table or segment',
    proof:
      'rows of one snapshot; constraints of the release, by which each table has live or ended orders alone, and indexes of each segment',
    sql: `
      with late as not materialized (
        select * from public.late_orders where closed_sequence > {from} and closed_sequence <= {to}),
      ended as not materialized (
        select id, wallet, client_order_id from public.ended_orders where sequence > {from} and sequence <= {to}
        union all select id, wallet, client_order_id from late),
      -- An order of an earlier segment is found by its id, which ends with the event that placed it.
      twice as (
        select live.id from public.live_orders as live
        where exists (select from public.ended_orders where ended_orders.id = live.id and ended_orders.sequence = live.sequence)
          or exists (select from public.late_orders where late_orders.id = live.id)
        union all
        select late.id from late
        where exists (select from public.ended_orders where ended_orders.id = late.id and ended_orders.sequence = late.sequence)
        union all
        select live.id from public.live_orders as live join ended on ended.id = live.id
        union all
        select late.id from late join public.ended_orders on ended_orders.id = late.id
          and ended_orders.sequence > {from} and ended_orders.sequence <= {to})
      select distinct 'order ' || id as subject, 'no other order of its id or client order id' as expected,
        concat('ended order ', id) as found
      from twice
      union all
      select 'order ' || live.id, 'no other order of its id or client order id', concat('ended order ', ended.id)
      from public.live_orders as live join ended on ended.wallet = live.wallet
        and ended.client_order_id = live.client_order_id and ended.id <> live.id
      union all
      select 'order ' || min(id), 'no other order of its client order id', concat('ended order ', max(id))
      from ended where client_order_id is not null
      group by wallet, client_order_id having count(*) > 1
      union all
      select 'order ' || id, 'an end in a later segment', concat('event ', sequence, ' to ', closed_sequence)
      from late where not ${LATE}`,
    ofPart: `
      select 'order ' || id as subject, 'an end in the segment of its placement' as expected,
        concat('event ', sequence, ' to ', closed_sequence) as found
      from ${OF_SEGMENT} where closed_sequence <= {from} or closed_sequence > {to}`,
  },
  {
    name: 'fills are trades',
    meaning: 'the filled size of each order is the sum of its trades, and its fill count their number',
    proof: 'trades of one snapshot',
    ...rulesOf(FILLED_OF_SEGMENT, FILLED_OUTLIVING, [
      { field: 'filled_steps', expected: 'coalesce(steps, 0)', found: 'filled_steps::numeric' },
      { field: 'fill_count', expected: 'coalesce(fills, 0)', found: 'fill_count' },
    ]),
  },
  {
    name: 'statuses follow',
    meaning:
      'the status, the last change and the end of each order follow from its size, its trades and its refusal, and only ' +
      'an order that ended and is not filled has a reason',
    proof: 'size, trades and refusal of one snapshot; events in the order of their numbers',
    ...rulesOf(touched(FILLED_OF_SEGMENT), touched(FILLED_OUTLIVING), [
      {
        field: 'status',
        expected: `array_to_string(${STATUSES}, ' or ')`,
        found: 'status',
        broken: `status <> all (${STATUSES})`,
      },
      {
        field: 'closed_sequence',
        expected: `case
            when reject_reason is not null then sequence::text
            when filled_steps = size_steps then touched::text
            when closed_sequence < touched then 'at or after ' || touched
            else coalesce(closed_sequence::text, 'none') end`,
        found: `coalesce(closed_sequence::text, 'none')`,
        broken: `case
            when reject_reason is not null then closed_sequence is distinct from sequence
            when filled_steps = size_steps then closed_sequence is distinct from touched
            else closed_sequence < touched end`,
      },
      {
        field: 'updated_sequence',
        expected: 'coalesce(closed_sequence, touched)',
        found: 'updated_sequence',
      },
      {
        field: 'reason',
        expected: 'null',
        found: 'reason',
        broken: `reason is not null and (closed_sequence is null or status in ('filled', 'rejected'))`,
      },
      {
        field: 'updated_at_ms',
        expected: `case updated_sequence
            when sequence then created_at_ms
            when last_sequence then last_ms
            else greatest(updated_at_ms, created_at_ms, last_ms) end`,
        found: 'updated_at_ms',
      },
    ]),
  },
  {
    name: 'orders fit ids and markets',
    meaning:
      'the id of each order tells its market, side, price and event, and its assets and amounts are those of the market',
    proof: 'the id, which the script makes of market, price, epoch and event',
    ...rulesOf(
      `${OF_SEGMENT} as orders left join ${LISTED} on listed.symbol = orders.market`,
      `${OUTLIVING} left join ${LISTED} on listed.symbol = orders.market`,
      [
        { field: 'market', expected: 'orders.market', found: 'listed.symbol' },
        {
          field: 'id',
          expected: `concat(
            lpad(to_hex(listed.number * 2 + case side when 'sell' then 1 else 0 end), 4, '0'),
            lpad(to_hex(case when price_ticks is null then 0 when side = 'buy' then 9007199254740991 - price_ticks
              else price_ticks end), 14, '0'),
            substr(id, 19, 4), lpad(to_hex(sequence), 12, '0'))`,
          found: 'id',
        },
        { field: 'base', expected: 'listed.base', found: 'orders.base' },
        { field: 'quote', expected: 'listed.quote', found: 'orders.quote' },
        {
          field: 'base_atoms_per_step',
          expected: 'listed.base_atoms_per_step',
          found: 'orders.base_atoms_per_step::text',
        },
        {
          field: 'quote_atoms_per_lot',
          expected: 'listed.quote_atoms_per_lot',
          found: 'orders.quote_atoms_per_lot::text',
        },
        {
          field: 'price_ticks',
          expected: `case type when 'market' then 'none' else coalesce(price_ticks::text, 'a price') end`,
          found: 'price_ticks',
          broken: `(type = 'market') = (price_ticks is not null)`,
        },
      ],
    ),
  },
];
