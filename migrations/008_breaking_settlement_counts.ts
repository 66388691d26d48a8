/**
 * Settlement writes witnesses, fill counts and counts of rows with its rows. The triggers that did so read and rewrote
 * each row, and cost Postgres as much as the rows themselves.
 *
 * A witness of this form is the digest of all that never changes of an order, and a second copy of what does. Closed
 * orders keep the witness that they have; live ones get a new one here, because they may still change. An order whose
 * witness was wrong keeps a wrong one.
 *
 * Three indexes go that cost each order and each entry an insertion, and that no list needs.
 *
 * An earlier release would settle without witnesses and counts: the trigger of the cursor refuses it.
 */

import type { Knex } from 'knex';

/** In the order in which settlement writes them; a text of a client, which may hold anything, is the last. */
const FIXED_FIELDS = `
  $1.id, $1.wallet, $1.market, $1.side, $1.type, $1.time_in_force, $1.post_only,
  coalesce($1.price_ticks::text, '\\N'), $1.size_steps, $1.created_at_ms, $1.sequence, $1.base, $1.quote,
  $1.base_atoms_per_step, $1.quote_atoms_per_lot, coalesce($1.reject_reason, '\\N'),
  coalesce(encode(float8send($1.leverage), 'hex'), '\\N'), $1.client_order_id`;
const CHANGING_FIELDS = `
  $1.filled_steps, $1.fill_count, $1.status, $1.updated_at_ms, $1.updated_sequence,
  coalesce($1.closed_sequence::text, '-')`;

export const up = (knex: Knex) =>
  knex.raw(`
-- Settlement skips its turn while this row is locked.
select from engine_cursor for update;

drop trigger count_fills on trades;
drop trigger stamp on orders;
drop trigger count_rows on orders;
drop trigger count_rows on trades;
drop trigger count_rows on movements;
drop trigger count_rows on ledger_entries;
drop function count_fills(), stamp_order(), count_rows();

-- By base64, of which 22 characters are 132 bits.
create function order_witness(orders) returns bytea language sql stable parallel safe as $$
  select convert_to(
    substr(encode(sha256(convert_to(concat_ws(E'\\t', ${FIXED_FIELDS}), 'UTF8')), 'base64'), 1, 22)
      || concat_ws('/', '', ${CHANGING_FIELDS}),
    'UTF8')
$$;
comment on function order_witness(orders) is 'The witness that settlement writes with the order.';
comment on function witness_of(orders) is 'The witness of 16 bytes that orders have that were closed before.';

update orders set witness = order_witness(orders)
where closed_sequence is null and witness is not distinct from witness_of(orders);

-- A page of all orders is made of the live and the closed ones, which have an index each.
drop index orders_newest;
-- A rebuild, which asks for orders that closed after an event, reads all of them anyway.
drop index orders_closed;
-- The first entry at or after a time is found by halves on the key: times rise with the events.
drop index ledger_entries_time;

create function refuse_earlier_settlement() returns trigger language plpgsql as $$
begin
  raise exception 'a later release settles into this database: end the settlement processes of the earlier one'
    using errcode = 'object_not_in_prerequisite_state';
end $$;
create trigger refuse_earlier_settlement before update on engine_cursor for each row
  when (new.sequence <> old.sequence and new.settled_at is distinct from old.settled_at
    and current_setting('redbook.settlement', true) is distinct from 'witnesses')
  execute function refuse_earlier_settlement();
`);
