/**
 * Witnesses for `ledger reconcile`: a digest of each row that has no second copy, and the number of rows of each
 * table that only grows. They show what a hand in the database changed.
 *
 * Triggers write them, so settlement of any release keeps them right. A trigger stamps a row only when the row tells
 * of an event that the cursor does not contain yet: that is so within settlement and at no other time.
 */

import type { Knex } from 'knex';

const ORDER_FIELDS = [
  ...[
    'id',
    'wallet',
    'market',
    'side',
    'type',
    'time_in_force',
    'post_only',
    'leverage::numeric',
    'price_ticks',
  ],
  ...[
    'size_steps',
    'filled_steps',
    'fill_count',
    'status',
    'reject_reason',
    'client_order_id',
    'created_at_ms',
  ],
  ...[
    'updated_at_ms',
    'sequence',
    'updated_sequence',
    'closed_sequence',
    'base',
    'quote',
    'base_atoms_per_step',
  ],
  'quote_atoms_per_lot',
];

/**
 * The digest of a row of `orders`, written out where it is used: a call of `witness_of` costs settlement 20 µs more
 * for each order.
 */
const digestOfOrder = (row: string): string =>
  `substring(sha256(convert_to(row(${ORDER_FIELDS.map((field) => `${row}.${field}`).join(', ')})::text, 'UTF8')) for 16)`;

export const up = (knex: Knex) =>
  knex.raw(`
-- Settlement skips its turn while this row is locked.
select from engine_cursor for update;

create function digest_of(content text) returns bytea language sql stable parallel safe as
  $$ select substring(sha256(convert_to(content, 'UTF8')) for 16) $$;

create function witness_of(orders) returns bytea language sql stable parallel safe as
  $$ select ${digestOfOrder('$1')} $$;

alter table orders add column witness bytea;
alter table holds add column witness bytea;
alter table wallet_terms add column witness bytea;
alter table reconciliations add column witness bytea;
comment on column orders.witness is 'Digest of the row as settlement wrote it.';

create function witness_of(holds) returns bytea language sql stable parallel safe as
  $$ select digest_of(row($1.wallet, $1.held_at_ms)::text) $$;
create function witness_of(wallet_terms) returns bytea language sql stable parallel safe as
  $$ select digest_of(row($1.wallet, $1.version, $1.accepted_at_ms)::text) $$;
create function witness_of(reconciliations) returns bytea language sql stable parallel safe as $$
  select digest_of(row($1.id, extract(epoch from $1.finished_at), $1.sequence, $1.checks, $1.differences,
    $1.failed_checks)::text)
$$;

update orders set witness = witness_of(orders);
update holds set witness = witness_of(holds);
update wallet_terms set witness = witness_of(wallet_terms);
update reconciliations set witness = witness_of(reconciliations);

create function stamp_order() returns trigger language plpgsql as $$
begin
  if new.updated_sequence > (select sequence from engine_cursor) then
    new.witness := ${digestOfOrder('new')};
  end if;
  return new;
end $$;
create trigger stamp before insert or update on orders for each row execute function stamp_order();

create function stamp_hold() returns trigger language plpgsql as $$
begin
  if new.held_at_ms >= (select coalesce(event_time_ms, 0) from engine_cursor) then
    new.witness := witness_of(new);
  end if;
  return new;
end $$;
create trigger stamp before insert or update on holds for each row execute function stamp_hold();

create function stamp_terms() returns trigger language plpgsql as $$
begin
  if new.accepted_at_ms >= (select coalesce(event_time_ms, 0) from engine_cursor) then
    new.witness := witness_of(new);
  end if;
  return new;
end $$;
create trigger stamp before insert or update on wallet_terms for each row execute function stamp_terms();

create function stamp_reconciliation() returns trigger language plpgsql as $$
begin
  new.witness := witness_of(new);
  return new;
end $$;
create trigger stamp before insert on reconciliations for each row execute function stamp_reconciliation();

alter table engine_cursor
  add column orders bigint not null default 0,
  add column trades bigint not null default 0,
  add column movements bigint not null default 0,
  add column entries bigint not null default 0;
comment on column engine_cursor.orders is 'Orders that were ever settled; no row of theirs is ever deleted.';
update engine_cursor set
  orders = (select count(*) from orders),
  trades = (select count(*) from trades),
  movements = (select count(*) from movements),
  entries = (select count(*) from ledger_entries);

create function count_rows() returns trigger language plpgsql as $$
begin
  execute format(
    'update engine_cursor set %1$I = %1$I + (select count(*) from added where added.sequence > engine_cursor.sequence)',
    tg_argv[0]);
  return null;
end $$;
create trigger count_rows after insert on orders referencing new table as added
  for each statement execute function count_rows('orders');
create trigger count_rows after insert on trades referencing new table as added
  for each statement execute function count_rows('trades');
create trigger count_rows after insert on movements referencing new table as added
  for each statement execute function count_rows('movements');
create trigger count_rows after insert on ledger_entries referencing new table as added
  for each statement execute function count_rows('entries');
`);
