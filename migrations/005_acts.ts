/** Acts of operators, and movements that reverse others. */

import type { Knex } from 'knex';

export const up = (knex: Knex) =>
  knex.raw(`
create table operator_acts (
  sequence bigint primary key,
  name     text collate "C" not null,
  operator text collate "C" not null,
  reason   text not null,
  wallet   text collate "C",
  market   text collate "C",
  asset    text collate "C",
  subject  text collate "C",
  before   text,
  after    text,
  time_ms  bigint not null
);
create index operator_acts_wallet on operator_acts (wallet, sequence) where wallet is not null;
comment on table operator_acts is 'Each change that an operator made, by its event.';
comment on column operator_acts.name is 'The command, like account hold.';
comment on column operator_acts.operator is 'Name of the person or of the key.';
comment on column operator_acts.subject is 'Reference, order id, month or key that the act was about.';
comment on column operator_acts.before is
  'What there was: available atoms, terms, a scale, a record of a market, or on for a hold and a pause.';
comment on column operator_acts.after is 'What there is since, in the same words.';

alter table movements add column reverses text collate "C";
create unique index movements_reverses on movements (kind, reverses) where reverses is not null;
comment on column movements.reverses is 'Reference of the movement of the other kind that this one corrects.';

create trigger append_only before update or delete or truncate on operator_acts
  for each statement execute function refuse_change();
`);
