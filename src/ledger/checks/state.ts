/** Checks the cursor, the switches and records: rows that no sum of other rows proves. */

import { RECONCILIATION_LINK } from '../reconciliations.ts';
import { SEAL_DIGEST, sealedRows } from '../seals.ts';
import { IS_OPEN, WHOLE_HISTORY } from '../span.ts';
import type { LedgerQuery } from './query.ts';

/** SQL of the events that placed and changed orders. */
const eventsOfOrders = (table: string): string => `
        select 'order ' || id as subject, sequence, created_at_ms as time_ms from ${table}
        union all select 'order ' || id, greatest(updated_sequence, closed_sequence), updated_at_ms from ${table}`;

/** @param rows SQL of rows (subject, sequence, time_ms) */
const outside = (rows: string): string => `
      select row.subject, concat('event 1 to ', cursor.sequence, ', at most at ', cursor.event_time_ms) as expected,
        concat('event ', row.sequence, ' at ', row.time_ms) as found
      from public.engine_cursor as cursor cross join lateral (${rows}) as row
      where row.sequence not between 1 and cursor.sequence or row.time_ms > cursor.event_time_ms`;

/** @param booked SQL of assets */
const unknownAssets = (booked: string): string => `
      select 'asset ' || booked.asset as subject, 'a row in assets' as expected, 'none' as found
      from (${booked}) as booked
      where not exists (select from public.assets where symbol = booked.asset)`;

export const STATE_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'settings follow from their changes',
    meaning: 'markets, assets, holds, takes, terms and the pause are what the last change of each made them',
    proof: 'changes in the order of their events, proven by the chain',
    sql: `
      with last as (
        select distinct on (subject, family) * from (
          select *, case when kind like 'account_%' then 'hold' when kind like 'trading_%' then 'pause'
            when kind like 'withdrawal_%' then 'take' else kind end
            as family
          from public.setting_changes) as changes
        order by subject, family, sequence desc)
      select 'market ' || versions.market as subject, versions.record::text as expected, markets.record::text as found
      from (select distinct on (market) * from public.market_versions order by market, sequence desc) as versions
      left join public.markets on symbol = versions.market
      where markets.record is distinct from versions.record
      union all
      select 'asset ' || subject, 'scale ' || value, 'scale ' || scale from last left join public.assets on symbol = subject
      where family = 'asset_changed' and scale::text is distinct from value
        and not exists (select from public.market_versions where sequence > last.sequence
          and subject in (record #>> '{base,symbol}', record #>> '{quote,symbol}'))
      union all
      select 'hold of ' || coalesce(subject, wallet), concat(kind, ' at ', time_ms), concat('hold since ', held_at_ms)
      from (select * from last where family = 'hold') as changes full join public.holds on wallet = subject
      where case kind when 'account_held' then held_at_ms is distinct from time_ms
        when 'account_released' then wallet is not null else (select sequence from public.chain_heads order by 1 limit 1) = 0 end
      union all
      select 'take of ' || coalesce(subject, reference), case when is_taken then concat(value, ' at ', time_ms) else 'none' end,
        concat(take, ' until ', until_ms, ' at ', taken_at_ms)
      from (select last.*, kind = 'withdrawal_taken' and not exists (select from public.movements as ends
          where ends.kind in ('confirmed', 'returned') and ends.reference = subject and ends.sequence > last.sequence) as is_taken
        from last where family = 'take') as changes
      full join public.taken_withdrawals on reference = subject
      where case when is_taken then (value, time_ms) is distinct from (take, taken_at_ms)
          or take !~ concat('"until":', until_ms, '}$') else reference is not null end
      union all
      select 'terms of ' || coalesce(subject, wallet), concat(value, ' at ', time_ms),
        concat(version, ' at ', accepted_at_ms)
      from (select * from last where family = 'terms_accepted') as changes full join public.wallet_terms on wallet = subject
      where (value, time_ms) is distinct from (version, accepted_at_ms)
        and (subject is not null or (select sequence from public.chain_heads order by 1 limit 1) = 0)
      union all
      select 'trading_switches paused', kind, paused::text from last cross join public.trading_switches
      where family = 'pause' and paused <> (kind = 'trading_paused')
      union all
      select 'trading_switches terms_version', value, terms_version from last cross join public.trading_switches
      where family = 'terms_required' and value is distinct from terms_version`,
  },
  {
    name: 'reconciles follow from each other',
    meaning: 'earlier reconciles are all there, each as it was written',
    proof:
      'a digest of each row and of the one before it, which an insider can make anew; a checkpoint holds the rows of before it',
    sql: `
      select 'reconciliations ' || id as subject, concat('a row after ', id_before, ' of link ', encode(link, 'hex')) as expected,
        'link ' || encode(due, 'hex') as found
      from (select *, lag(id, 1, 0::bigint) over (order by id) as id_before, lag(link) over (order by id) as link_before
        from public.reconciliations) as linked
      cross join lateral (select ${RECONCILIATION_LINK}) as own (due)
      where link is distinct from due or id <> id_before + 1`,
  },
  {
    name: 'seals follow from each other',
    meaning:
      'segments are sealed one after the other, each seal as it was written and with the bounds of its segment, and each reading is of a sealed segment',
    proof:
      'a digest of each seal and of the one before it, which an insider can make anew; a checkpoint holds the seals of before it',
    sql: `
      select 'seals ' || linked.segment as subject,
        concat('seal ', place, ' of events ', segments.from_sequence, ' to ', segments.to_sequence - 1, ', digest ', encode(due, 'hex'))
          as expected,
        concat('seal ', linked.segment, ' of events ', linked.from_sequence, ' to ', linked.to_sequence - 1, ', digest ',
          encode(linked.digest, 'hex')) as found
      from (select *, row_number() over (order by segment) - 1 as place, lag(digest) over (order by segment) as digest_before
        from public.seals) as linked
      cross join lateral (select ${SEAL_DIGEST}) as own (due)
      left join public.segments on number = linked.segment
      where digest is distinct from due or linked.segment <> place
        or (linked.from_sequence, linked.to_sequence) is distinct from (segments.from_sequence, segments.to_sequence)
      union all
      select 'scrubs of segment ' || scrubs.segment, coalesce('a time from ' || sealed_at || ' to now', 'a seal'), read_at::text
      from public.scrubs left join public.seals using (segment)
      where sealed_at is null or read_at < sealed_at or read_at > now() + interval '5 minutes'`,
  },
  {
    name: 'epochs rise',
    meaning: 'every event is of an epoch that began, and the cursor is of the last one',
    proof:
      'numbers that are given out once, each with a row on disk before its first event; no clock, as a standby may run behind',
    sql: `
      select 'engine_epochs ' || epoch as subject, 'a row of an epoch with events' as expected, 'none' as found
      from (select epoch from public.engine_cursor union select epoch from public.epoch_starts) as with_events
      -- Epochs before the first noted one are of a release that noted none.
      where epoch >= (select min(epoch) from public.engine_epochs)
        and not exists (select from public.engine_epochs where engine_epochs.epoch = with_events.epoch)
      union all
      select 'engine_cursor epoch', 'at least epoch ' || last.epoch, engine_cursor.epoch::text
      from public.engine_cursor join (select max(epoch) as epoch from public.epoch_starts) as last on engine_cursor.epoch < last.epoch`,
  },
  {
    name: 'no row is missing',
    meaning: 'there are as many orders, trades and movements as were ever settled',
    proof:
      'counts that settlement keeps in the transaction of the rows, and those of seals; they are of rows and not of numbers',
    sql: `
      select 'rows of ' || name as subject, settled::text as expected, rows::text as found
      from public.engine_cursor
      cross join (select coalesce((select max(to_sequence) - 1 from public.seals where to_sequence <= {from} + 1), ${WHOLE_HISTORY.from})
        as event) as sealed
      cross join lateral (values
        ('orders', orders, (select count(*) from public.live_orders)
          + (select count(*) from public.ended_orders where ended_orders.sequence > sealed.event)
          + (select count(*) from public.late_orders where closed_sequence > sealed.event)
          + ${sealedRows('sealed.event', 'ended_orders', 'late_orders')}),
        ('trades', trades, (select count(*) from public.trades where trades.sequence > sealed.event)
          + ${sealedRows('sealed.event', 'trades')}),
        ('movements', movements, (select count(*) from public.movements where movements.sequence > sealed.event)
          + ${sealedRows('sealed.event', 'movements')})) as counted (name, settled, rows)
      where settled <> rows and ${IS_OPEN}`,
  },
  {
    name: 'no row is outside the events',
    meaning:
      'no row tells of an event before the first, or of an event or a time later than the last settled one',
    proof: 'numbers and times of events against the cursor, which moves in the transaction of the rows',
    ofPart: outside(`
        ${eventsOfOrders('segments.ended_orders_{segment}')}
        union all select 'trade ' || trade_id, sequence, time_ms from segments.trades_{segment}
        union all select 'chain_links ' || sequence, sequence, null from segments.chain_links_{segment}`),
    sql: outside(`
        ${eventsOfOrders(`(select * from public.late_orders where closed_sequence > {from} and closed_sequence <= {to}) as late`)}
        union all ${eventsOfOrders('public.live_orders')}
        ${[
          `'movement ' || sequence, sequence, time_ms from public.movements`,
          `'market_versions ' || sequence, sequence, time_ms from public.market_versions`,
          `'setting_changes ' || sequence, sequence, time_ms from public.setting_changes`,
          `'operator_acts ' || sequence, sequence, time_ms from public.operator_acts`,
          `'adoptions ' || sequence, sequence, time_ms from public.adoptions`,
          `concat('adopted_balances ', account), sequence, time_ms from public.adopted_balances`,
          `concat('adopted_fills ', order_id), sequence, time_ms from public.adopted_fills`,
          `concat('adopted_prices ', market), sequence, time_ms from public.adopted_prices`,
          `'epoch_starts ' || epoch, sequence, null from public.epoch_starts`,
          `'chain_heads ' || sequence, nullif(sequence, 0), null from public.chain_heads`,
          `'balances after event ' || sequence, sequence, null from public.kept_balances`,
        ]
          .map((rows) => `union all select ${rows} where sequence > {from} and sequence <= {to}`)
          .join('\n        ')}
        union all select 'pending_withdrawals ' || reference, sequence, null from public.pending_withdrawals
        union all select 'announced_deposits ' || reference, sequence, null from public.announced_deposits
        union all select 'closing of ' || month, nullif(sequence, 0), null from public.closings
        union all select 'reconciliation ' || id, nullif(sequence, 0), null from public.reconciliations
        union all select 'seal ' || segment, to_sequence, null from public.seals
        union all select 'hold of ' || wallet, null, held_at_ms from public.holds
        union all select 'take of ' || reference, null, taken_at_ms from public.taken_withdrawals
        union all select 'terms of ' || wallet, null, accepted_at_ms from public.wallet_terms`),
  },
  {
    name: 'markets are their records',
    meaning:
      'symbol, number, version and scales of each market are the same in its row, its record and its assets',
    proof: 'row, record and assets of one snapshot',
    sql: `
      select concat_ws(' ', 'market', markets.symbol, field) as subject, coalesce(rule.expected, 'none') as expected,
        coalesce(rule.found, 'none') as found
      from public.markets
      left join public.assets as base on base.symbol = record #>> '{base,symbol}'
      left join public.assets as quote on quote.symbol = record #>> '{quote,symbol}'
      cross join lateral (values
        ('symbol', record ->> 'symbol', markets.symbol),
        ('number', record ->> 'number', markets.number::text),
        ('version', record ->> 'version', markets.version::text),
        ('assets', markets.symbol, concat(base.symbol, '/', quote.symbol)),
        ('scale of its base', record #>> '{base,scale}', base.scale::text),
        ('scale of its quote', record #>> '{quote,scale}', quote.scale::text)) as rule (field, expected, found)
      where rule.expected is distinct from rule.found`,
  },
  {
    name: 'assets are known',
    meaning:
      'whatever was ever booked is in a known asset, and the rows of cursor and switches are there once',
    proof:
      'rows of one snapshot; the clocks of Postgres and of the engine to five minutes, which an alert watches, and the next settlement mends',
    ofPart: unknownAssets(`
        select base collate "C" as asset from segments.trades_{segment}
        union select quote from segments.trades_{segment}`),
    sql: `
      ${unknownAssets(`
        select asset from public.movements where sequence > {from} and sequence <= {to}
        union select asset from public.adopted_balances where sequence > {from} and sequence <= {to}`)}
      union all
      select 'rows of ' || name, '1', rows::text
      from (values
        ('engine_cursor', (select count(*) from public.engine_cursor)),
        ('trading_switches', (select count(*) from public.trading_switches))) as lone (name, rows)
      where rows <> 1 and ${IS_OPEN}
      union all
      select 'engine_cursor settled_at', 'at most ' || now(), settled_at::text from public.engine_cursor
      where settled_at > now() + interval '5 minutes' and ${IS_OPEN}
      union all
      select 'engine_cursor settled_at', concat('at least ', to_timestamp(event_time_ms / 1000)), coalesce(settled_at::text, 'none')
      from public.engine_cursor where ${IS_OPEN} and (
        settled_at < to_timestamp(event_time_ms / 1000) - interval '5 minutes' or settled_at is null and sequence > 0)`,
  },
];
