/** Results of each check of a reconcile. */

import type { Knex } from 'knex';

/** Rows from before have none, and keep their witness. */
export const up = (knex: Knex) =>
  knex.raw(`
alter table reconciliations add column results jsonb;
comment on column reconciliations.results is 'Result of each check: name, asset, what was compared, differences.';

create or replace function witness_of(reconciliations) returns bytea language sql stable parallel safe as $$
  select digest_of(row($1.id, extract(epoch from $1.finished_at), $1.sequence, $1.checks, $1.differences,
    $1.failed_checks)::text || coalesce($1.results::text, ''))
$$;
`);
