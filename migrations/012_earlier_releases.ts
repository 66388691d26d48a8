/** Refuses the settlement of releases that do not know the chain of events, unless an operator goes back to one. */

import type { Knex } from 'knex';

/** During an upgrade the former settlement would otherwise write events that the chain lacks for ever. */
export const up = (knex: Knex) =>
  knex.raw(`
alter table engine_cursor add column earlier_may_settle boolean not null default false;
comment on column engine_cursor.earlier_may_settle is 'True while a release may settle that does not continue the chain; the next migrate ends it.';

alter table chain_links add column by_earlier boolean not null default false;
comment on column chain_links.by_earlier is 'True for events that such a release settled: they have no links.';

create function refuse_earlier() returns trigger language plpgsql as $$
begin
  raise exception 'a later release settles into this database' using errcode = 'restrict_violation';
end $$;
create trigger refuse_earlier before update on engine_cursor for each row
  when (new.sequence > old.sequence and new.head = old.head and not new.earlier_may_settle)
  execute function refuse_earlier();
`);
