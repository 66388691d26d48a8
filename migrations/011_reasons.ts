/**
 * The reason for which an order ended. An order that the engine rejected has it in `reject_reason`, as before. Orders
 * that ended earlier have none.
 *
 * A reason becomes the last part of the order's witness. `concat_ws` leaves a null out, so every witness stays right.
 */

import type { Knex } from 'knex';

/** As in 008, where an order's changing fields end with `closed_sequence`. */
const FIXED_FIELDS = `
  $1.id, $1.wallet, $1.market, $1.side, $1.type, $1.time_in_force, $1.post_only,
  coalesce($1.price_ticks::text, '\\N'), $1.size_steps, $1.created_at_ms, $1.sequence, $1.base, $1.quote,
  $1.base_atoms_per_step, $1.quote_atoms_per_lot, coalesce($1.reject_reason, '\\N'),
  coalesce(encode(float8send($1.leverage), 'hex'), '\\N'), $1.client_order_id`;
const CHANGING_FIELDS = `
  $1.filled_steps, $1.fill_count, $1.status, $1.updated_at_ms, $1.updated_sequence,
  coalesce($1.closed_sequence::text, '-'), $1.reason`;

export const up = (knex: Knex) =>
  knex.raw(`
alter table orders add column reason text;
comment on column orders.reason is 'Why an order ended that was neither filled nor rejected; null: not recorded.';

create or replace function order_witness(orders) returns bytea language sql stable parallel safe as $$
  select convert_to(
    substr(encode(sha256(convert_to(concat_ws(E'\\t', ${FIXED_FIELDS}), 'UTF8')), 'base64'), 1, 22)
      || concat_ws('/', '', ${CHANGING_FIELDS}),
    'UTF8')
$$;
`);
