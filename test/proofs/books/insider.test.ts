/**
 * Corrupts books as somebody would who may write to Postgres, to Redis or to both, and who mends the links beside the
 * rows. A reconcile must name each corruption, alone or with a checkpoint of before it.
 */

import { expect } from 'chai';
import { readState, STATE } from '../../../src/engine/state.ts';
import type { LedgerCheckpoint } from '../../../src/ledger/index.ts';
import { RECONCILIATION_LINK } from '../../../src/ledger/reconciliations.ts';
import { SEAL_DIGEST } from '../../../src/ledger/seals.ts';
import { CorruptedBooks, ENGINE, HELD, PREFIX } from '../../books/corrupted-books.ts';
import { MAKER, TAKER } from '../../operator/busy-fixture.ts';
import { WALLET } from '../../operator/fixture.ts';

const DAY_MS = 86_400_000;
const STRANGER = WALLET('d');
const bytesOf = (wallet: string): Buffer => Buffer.from(wallet.slice(2), 'hex');
const availableField = (wallet: string): Buffer => Buffer.concat([bytesOf(wallet), Buffer.from('a')]);

/** SQL that links all results of reconciles anew. */
const LINKED_ANEW = `do $$ declare one public.reconciliations; link_before bytea; begin
  for one in select * from reconciliations order by id loop
    update reconciliations set link = ${RECONCILIATION_LINK} where id = one.id returning link into link_before;
  end loop; end $$`;
/** SQL that links all seals anew. */
const SEALED_ANEW = `do $$ declare one integer; digest_before bytea; begin
  for one in select segment from seals order by segment loop
    update seals set digest = ${SEAL_DIGEST} where segment = one returning digest into digest_before;
  end loop; end $$`;
const FIRST = '(select min(sequence) from movements)';
/** The tables of ended orders, and the id of a cancelled order in each. */
const ENDED = ['ended_orders', 'late_orders'];
const cancelledIn = (table: string): string =>
  `(select id from ${table} where status = 'cancelled' order by id limit 1)`;
const TWO_TRADES = `(select array_agg(trade_id order by trade_id) from (
  select trade_id from trades where fee_atoms > 1000000 order by trade_id limit 2) as two)`;
const FILTER = `${PREFIX}claim-filter`;
const INDEX = `${PREFIX}unsettled:0`;
const SWITCHES = `${PREFIX}cancel-after:due`;
const CUT_OFFS = `${PREFIX}cancel-after:cut-offs`;

/** Adds atoms to the fee of a trade. */
const feeOf = (nth: number, atoms: number): string => `
  update trades set fee_atoms = fee_atoms + ${atoms} where trade_id = (${TWO_TRADES})[${nth}];`;

const DOUBLED = `update movements set amount_atoms = amount_atoms * 2 where sequence = ${FIRST}`;
const GIVEN = `update movements set wallet = '${STRANGER}' where sequence = ${FIRST}`;

/** SQL that swaps the makers of the two trades that are equal. */
const SWAPPED = `
  create temp table makers on commit drop as
  select trades.trade_id, trades.maker_order_id, trades.maker_wallet, other.maker_order_id as other_order,
    other.maker_wallet as other_wallet
  from trades join trades as other on other.taker_order_id = trades.taker_order_id and other.size_steps = trades.size_steps
    and other.price_ticks = trades.price_ticks and other.maker_wallet <> trades.maker_wallet;
  update trades set maker_order_id = other_order, maker_wallet = other_wallet from makers
  where makers.trade_id = trades.trade_id`;

/** SQL that moves every time of the books by a day. */
const REDATED = [
  ['trades', 'time_ms'],
  ['movements', 'time_ms'],
  ['market_versions', 'time_ms'],
  ['setting_changes', 'time_ms'],
  ['operator_acts', 'time_ms'],
  ['holds', 'held_at_ms'],
  ['wallet_terms', 'accepted_at_ms'],
  ['taken_withdrawals', 'taken_at_ms'],
  ['live_orders', 'created_at_ms'],
  ['live_orders', 'updated_at_ms'],
  ...ENDED.flatMap((table) => [
    [table, 'created_at_ms'],
    [table, 'updated_at_ms'],
  ]),
  ['engine_cursor', 'event_time_ms'],
]
  .map(([table, column]) => `update ${table} set ${column} = ${column} - ${DAY_MS};`)
  .join(' ');

/** A change by an insider. Everything is restored, except definitions, which `back` restores. */
interface Corruption {
  readonly sql?: string;
  readonly redis?: (books: CorruptedBooks) => Promise<unknown>;
  /** Restores what `redis` changed beside keys. */
  readonly restore?: (books: CorruptedBooks) => Promise<unknown>;
  /** Restores what `sql` defined. */
  readonly back?: string | ((client: CorruptedBooks['client']) => Promise<string>);
  /** Matches the reported difference. */
  readonly named: RegExp;
}

/** Changes of a cancelled order, in its segment or among the late orders. */
function orderChanges(table: string): Record<string, Corruption> {
  const changes = {
    'another time in force': `time_in_force = 'FOK'`,
    'post-only': 'post_only = not post_only',
    'another leverage': 'leverage = 3',
    'another size': 'size_steps = size_steps + 1',
    'another status': `status = 'failed'`,
    'another reason': `reason = 'market_cleared'`,
    'another end': 'updated_at_ms = updated_at_ms + 1',
    'another client order id': `client_order_id = 'another'`,
  };
  const id = cancelledIn(table);
  const changed = Object.entries(changes).map(([name, change]) => [
    `${name} of a cancelled order in ${table}`,
    { sql: `update ${table} set ${change} where id = ${id}`, named: /event \d+/ },
  ]);
  return {
    ...Object.fromEntries(changed),
    [`a cancelled order of ${table} that lives`]: {
      sql: `insert into live_orders select (jsonb_populate_record(${table},
          '{"status": "resting", "reason": null, "closed_sequence": null}')).* from ${table} where id = ${id};
        delete from ${table} where id = ${id}`,
      named: /event \d+/,
    },
    [`a live order that ended in ${table}`]: {
      sql: `${liveEndsIn(table)}; delete from live_orders where client_order_id = 'live'`,
      named: /order [0-9a-f]{34}|event \d+/,
    },
    [`a live order that ended in ${table}, too`]: {
      sql: liveEndsIn(table),
      named: /orders are in one table/,
    },
    [`an order of ${table} that lies in the other table`]: {
      sql: `insert into ${ENDED.find((other) => other !== table)} select * from ${table} where id = ${id};
        delete from ${table} where id = ${id}`,
      named: /orders are in one table/,
    },
    [`an order of ${table} that lies in both`]: {
      sql: `insert into ${ENDED.find((other) => other !== table)} select * from ${table} where id = ${id}`,
      named: /orders are in one table/,
    },
  };
}

const liveEndsIn = (table: string): string => `
  insert into ${table} select (jsonb_populate_record(live_orders, jsonb_build_object('status', 'cancelled',
    'reason', 'user_cancelled', 'closed_sequence', updated_sequence))).* from live_orders
  where client_order_id = 'live'`;

/** A change of the live order with a client order id. */
const liveChange = (change: string, named = /event \d+/): Corruption => ({
  sql: `update live_orders set ${change} where client_order_id = 'live'`,
  named,
});

const inEngine = (named: RegExp, redis: (books: CorruptedBooks) => Promise<unknown>): Corruption => ({
  named,
  redis,
});

const engineField = (field: string, value: string | null): Corruption =>
  inEngine(new RegExp(`key engine ${field}\\b`), ({ fixture: { redis } }) =>
    value === null ? redis.hdel(ENGINE, field) : redis.hset(ENGINE, field, value),
  );

/** Flips the generation of a part of the engine. */
const flipped = (name: 'claims' | 'unsettled', named: RegExp): Corruption =>
  inEngine(named, async ({ fixture: { redis } }) => {
    const state = readState(await redis.hgetBuffer(ENGINE, 'state'));
    await redis.hset(ENGINE, 'state', STATE.pack({ ...state, [name]: 1 - state[name] }));
  });

/** Changes the claim of the first deposit, which is of ETH by `MAKER`. */
async function claimAnew(
  { fixture: { redis } }: CorruptedBooks,
  change: (text: string) => string,
): Promise<void> {
  const key = `${PREFIX}claims:0`;
  const found = (await redis.callBuffer('HGETALL', key)) as Buffer[];
  const at = found.findIndex((value) => value.includes(`"${MAKER} ETH"`));
  await redis.call('HSET', key, found[at - 1]!, change(found[at]!.toString()));
}

async function addTo(
  { fixture: { redis } }: CorruptedBooks,
  asset: string,
  changes: [Buffer | string, string][],
) {
  for (const [field, atoms] of changes)
    await redis.call('HINCRBY', `${PREFIX}balances:${asset}`, field, atoms);
}

const DEPOSIT_ATOMS = '100000000000000';
const FEE_ATOMS = '1000000';

const definitionOf =
  (name: string) =>
  async (client: CorruptedBooks['client']): Promise<string> => {
    const { rows } = await client.query('select pg_get_functiondef($1::regprocedure) as text', [name]);
    return rows[0].text;
  };

const viewOf =
  (name: string) =>
  async (client: CorruptedBooks['client']): Promise<string> => {
    const { rows } = await client.query('select pg_get_viewdef($1::regclass) as text', [name]);
    return `create or replace view ${name} as ${rows[0].text}`;
  };

const entryOf = (owner: string, at: Buffer): Buffer => Buffer.concat([bytesOf(owner), at.subarray(20)]);
const lastEntry = async ({ fixture: { redis } }: CorruptedBooks): Promise<Buffer> =>
  (await redis.zrangeBuffer(INDEX, '0', '-1')).at(-1)!;

/** Facts that only Postgres has: times, fees, makers, orders. */
const HISTORY: Readonly<Record<string, Corruption>> = {
  'the time of a deposit twenty days back': {
    sql: `update movements set time_ms = time_ms - 20 * ${DAY_MS} where sequence = ${FIRST}`,
    named: /event \d+/,
  },
  'atoms of a fee moved to another trade of the same taker': {
    sql: feeOf(1, -500) + feeOf(2, 500),
    named: /trade \d+/,
  },
  'the makers of two equal trades swapped': { sql: SWAPPED, named: /event \d+/ },
  'everything one day back': {
    sql: REDATED,
    named: /event \d+/,
  },
  ...orderChanges('ended_orders'),
  ...orderChanges('late_orders'),
  'another type of a filled order': {
    sql: `update ended_orders set type = 'market' where id = (select min(taker_order_id) from trades join ended_orders on id = taker_order_id)`,
    named: /event \d+/,
  },
  'another time in force of a live order': liveChange(`time_in_force = 'FOK'`),
  'post-only of a live order': liveChange('post_only = not post_only'),
  'another leverage of a live order': liveChange('leverage = 3'),
  'another size of a live order': liveChange('size_steps = size_steps + 1'),
  'another last change of a live order': liveChange(
    'updated_at_ms = updated_at_ms + 1',
    /order .* updated_at_ms/,
  ),
  'another client order id of a live order': liveChange(`client_order_id = 'another'`),
  'another time of a hold': {
    sql: 'update holds set held_at_ms = held_at_ms - 1',
    named: new RegExp(`hold of ${HELD}`),
  },
  'another time of accepted terms': {
    sql: 'update wallet_terms set accepted_at_ms = accepted_at_ms - 1',
    named: new RegExp(`terms of ${MAKER}`),
  },
  'a lower fee': { sql: feeOf(1, -500), named: /trade \d+/ },
  'a maker who never placed an order': {
    sql: `update trades set maker_wallet = '${HELD}' where maker_wallet = '${MAKER}';
      update live_orders set wallet = '${HELD}' where id in (select maker_order_id from trades);
      ${ENDED.map((table) => `update ${table} set wallet = '${HELD}' where id in (select maker_order_id from trades)`).join('; ')}`,
    named: /event \d+/,
  },
};

/** Records of earlier reconciles, of settlement and of the engine's epochs, and the chain itself. */
const RECORDS: Readonly<Record<string, Corruption>> = {
  'an earlier reconcile that failed made to hold': {
    sql: `update reconciliations set differences = 0, failed_checks = '{}',
        results = (select jsonb_agg(one || '{"differences": 0}') from jsonb_array_elements(results) as one)
      where differences > 0; ${LINKED_ANEW}`,
    named: /reconciliations up to the checkpoint/,
  },
  'all earlier reconciles deleted': {
    sql: 'delete from reconciliations where id <= (select max(id) from saved.reconciliations)',
    named: /reconciliations/,
  },
  'an earlier time of settlement': {
    sql: `update engine_cursor set settled_at = settled_at - interval '2 hours'`,
    named: /engine_cursor settled_at/,
  },
  'a later time of settlement': {
    sql: `update engine_cursor set settled_at = settled_at + interval '2 hours'`,
    named: /engine_cursor settled_at/,
  },
  'no time of settlement': {
    sql: 'update engine_cursor set settled_at = null',
    named: /engine_cursor settled_at/,
  },
  'no epochs': { sql: 'delete from engine_epochs', named: /epochs/ },
  'another server of an epoch': {
    sql: `update engine_epochs set server = 'x' || server`,
    named: /epochs up to the checkpoint/,
  },
  'epoch 60000 added': {
    sql: `insert into engine_epochs values (60000, 'x')`,
    named: /engine_epochs/,
  },
  'a balance of a closing made up': {
    sql: `insert into closing_balances values (1, '${MAKER}', 'ETH', 5, 0)`,
    named: /closing of 2020-02/,
  },
  'a balance of a closing that nobody made': {
    sql: `insert into closing_balances values (2, '${MAKER}', 'ETH', 5, 0)`,
    named: /closing 2: expected a closing, found balances alone/,
  },
  'a closing with another digest, of balances made up': {
    sql: `insert into closing_balances values (1, '${MAKER}', 'ETH', 5, 0);
      update closings set digest = sha256(e'${MAKER}\\tETH\\t5\\t0\\n')`,
    named: /closing of 2020-02: expected digest \w{64}, found digest \w{64}/,
  },
  'an act that closed a month with another digest': {
    sql: `update operator_acts set after = repeat('0', 64) where name = 'ledger close'`,
    named: /closing of 2020-02: expected digest 0{64}/,
  },
  'a closing and its act with another digest': {
    sql: `update operator_acts set after = encode(sha256(e'${MAKER}\\tETH\\t5\\t0\\n'), 'hex') where name = 'ledger close';
      insert into closing_balances values (1, '${MAKER}', 'ETH', 5, 0);
      update closings set digest = sha256(e'${MAKER}\\tETH\\t5\\t0\\n')`,
    named: /chain of events/,
  },
  'a closing that is gone': {
    sql: 'delete from closings',
    named: /closing of 2020-02: expected digest \w{64}, found none/,
  },
  'a closing of a closed month without an act': {
    sql: `insert into closings select 2, '2020-01', end_ms, sequence, sha256('mine') from closings`,
    named: /closing of 2020-01: expected an act that closed it/,
  },
  'a closing withdrawn by an act that never was': {
    sql: `insert into operator_acts (sequence, name, operator, reason, subject, before, time_ms)
      select (select max(sequence) from trades), 'ledger reopen', 'mara', 'wrong', '2020-02', after, time_ms
      from operator_acts where name = 'ledger close'`,
    named: /act of event \d+ on 2020-02|operator_acts/,
  },
  'a closing withdrawn by an act in the place of another one': {
    sql: `update operator_acts set name = 'ledger reopen', subject = '2020-02', after = null,
      before = (select after from operator_acts where name = 'ledger close')
      where sequence = (select max(sequence) from operator_acts)`,
    named: /chain of events/,
  },
  'a seal of another time, and all seals linked anew': {
    sql: `update seals set sealed_at = sealed_at - interval '1 minute'; ${SEALED_ANEW}`,
    named: /seals up to the checkpoint/,
  },
  'a seal of other rows, and all seals linked anew': {
    sql: `update seals set tables = jsonb_set(tables, '{trades,digest}', '"00"') where segment = 1; ${SEALED_ANEW}`,
    named: /trades of segment 1: expected \d+ rows of digest 00,/,
  },
  'a kept balance made up': {
    sql: `insert into kept_balances values (1, '${MAKER}', 'ETH', 5)`,
    named: /balances after event 1 /,
  },
  'the balances of now, kept for an event before them': {
    sql: `insert into kept_balances
      select 2, account, asset, sum(amount_atoms)
      from ledger_entries group by account, asset having sum(amount_atoms) <> 0`,
    named: /balances after event 2 .*the sum of its entries/,
  },
  'a key of operators that is gone': {
    sql: `delete from operator_keys where name = 'leaked'`,
    named: /key leaked: expected a key, which an act made/,
  },
  'a migration that never was': {
    sql: `insert into knex_migrations (name, batch, migration_time) values ('2_mine.ts', 1, now());
      update knex_migrations set name = '0_mine.ts' where id = (select min(id) from knex_migrations)`,
    back: async (client) => {
      const { rows } = await client.query('select min(id) as id, min(name) as name from knex_migrations');
      return `delete from knex_migrations where name = '2_mine.ts'; update knex_migrations set name = '${rows[0].name}' where id = ${rows[0].id}`;
    },
    named: /migrations up to the checkpoint/,
  },
  'a key that an act of before the first event made': {
    sql: `insert into operator_keys (name, digest, rights, caps, two_persons) values ('night', sha256('night'), '{credit,debit}', '{}', '{}');
      insert into operator_acts (sequence, name, operator, reason, subject, after, time_ms)
      select -1, 'key create', 'root', 'night shift', 'night', 'credit,debit sha256:' || encode(sha256('night'), 'hex'),
        event_time_ms from engine_cursor`,
    named: /operator_acts -1/,
  },
  'a movement of before the first event': {
    sql: `insert into movements (sequence, kind, wallet, asset, amount_atoms, reference, time_ms)
      select 0, 'credited', '${STRANGER}', 'ETH', 1, 'early', event_time_ms from engine_cursor`,
    named: /movement 0/,
  },
  'a deposit that was doubled, and a chain that begins behind it': {
    sql: `${DOUBLED}; delete from chain_links; delete from chain_heads;
      insert into chain_heads select sequence, head from engine_cursor`,
    named: /reference .* of movement \d+|chain_heads/,
  },
};

/** Functions, triggers and constraints that guard the tables. */
const GUARDS: Readonly<Record<string, Corruption>> = {
  'refuse_change() that lets everything through': {
    sql: `create or replace function refuse_change() returns trigger language plpgsql as 'begin return null; end'`,
    back: definitionOf('refuse_change()'),
    named: /function refuse_change\(\)/,
  },
  'a view of the entries that gives the fees to a stranger': {
    sql: `do $$ begin execute 'create or replace view ledger_entries as '
      || replace(pg_get_viewdef('ledger_entries'::regclass), '''house''', '''${STRANGER}'''); end $$`,
    back: viewOf('ledger_entries'),
    named: /view ledger_entries: .*, found v p \w/,
  },
  'a view of the entries that leaves out a deposit': {
    sql: `do $$ begin execute 'create or replace view ledger_entries as select * from ('
      || rtrim(pg_get_viewdef('ledger_entries'::regclass), ';') || ') as mine where sequence <> ' || ${FIRST}; end $$`,
    back: viewOf('ledger_entries'),
    named: /view ledger_entries/,
  },
  'a table in place of the view of the entries': {
    sql: `alter view ledger_entries rename to kept; create table ledger_entries as table kept`,
    back: 'drop table ledger_entries; alter view kept rename to ledger_entries',
    named: /view ledger_entries: .*, found missing/,
  },
  'a view of orders that leaves out one': {
    sql: `do $$ begin execute 'create or replace view orders as select * from ('
      || rtrim(pg_get_viewdef('orders'::regclass), ';') || ') as mine where id <> ''' || ${cancelledIn('late_orders')} || ''''; end $$`,
    back: viewOf('orders'),
    named: /view orders/,
  },
  'refuse_used_ids() that lets everything through': {
    sql: `create or replace function refuse_used_ids(live_wallets text[], live_ids text[], ended_wallets text[],
      ended_ids text[], ended_sequences bigint[], last bigint) returns void language plpgsql as 'begin end'`,
    back: definitionOf('refuse_used_ids(text[], text[], text[], text[], bigint[], bigint)'),
    named: /function refuse_used_ids/,
  },
};

/** Objects that are not of the release, with rows that they hide. Each kind alone is of the sweep of the schema. */
const FOREIGN: Readonly<Record<string, Corruption>> = {
  'a function of public that fits the texts of the chain better, and atoms moved between two deposits': {
    sql: `create function public.concat_ws(text, bigint, text, text, text, bigint, bigint, text) returns text language sql
      as $$ select 'as it was' $$; ${GIVEN}`,
    back: 'drop function public.concat_ws(text, bigint, text, text, text, bigint, bigint, text)',
    named: /event \d+/,
  },
  'a policy, and rows that it hides': {
    sql: `create policy "a on b" on trades using (trade_id > 5); alter table trades enable row level security`,
    back: 'drop policy "a on b" on trades; alter table trades disable row level security',
    named: /policy a on b on trades/,
  },
};

/** Money that is changed alike in Postgres and in Redis. */
const BOTH_STORES: Readonly<Record<string, Corruption>> = {
  'an old deposit doubled, with supply, balance and claim': {
    sql: DOUBLED,
    redis: async (books) => {
      await addTo(books, 'ETH', [
        [availableField(MAKER), DEPOSIT_ATOMS],
        ['supply', DEPOSIT_ATOMS],
      ]);
      await claimAnew(books, (text) => text.replace(DEPOSIT_ATOMS, `${2n * BigInt(DEPOSIT_ATOMS)}`));
    },
    named: /event \d+/,
  },
  'a deposit given to another wallet, with balances and claim': {
    sql: GIVEN,
    redis: async (books) => {
      await addTo(books, 'ETH', [
        [availableField(MAKER), `-${DEPOSIT_ATOMS}`],
        [availableField(STRANGER), DEPOSIT_ATOMS],
      ]);
      await claimAnew(books, (text) => text.replace(`"wallet":"${MAKER}"`, `"wallet":"${STRANGER}"`));
    },
    named: /event \d+/,
  },
  'a fee lowered by 1 USDC, from the house to the taker': {
    sql: feeOf(1, -Number(FEE_ATOMS)),
    redis: (books) =>
      addTo(books, 'USDC', [
        [availableField(TAKER), FEE_ATOMS],
        ['house', `-${FEE_ATOMS}`],
      ]),
    named: /trade \d+/,
  },
};

/** Facts that only Redis has. */
const REDIS: Readonly<Record<string, Corruption>> = {
  'a dead-man switch deleted': inEngine(/dead-man switch of 0x/, ({ fixture: { redis } }) =>
    redis.zrem(SWITCHES, bytesOf(MAKER)),
  ),
  'a dead-man switch made up': inEngine(/dead-man switch of 0x/, ({ fixture: { redis } }) =>
    redis.zadd(SWITCHES, 1, bytesOf(STRANGER)),
  ),
  'a dead-man switch that is due later': inEngine(/dead-man switch of 0x/, ({ fixture: { redis } }) =>
    redis.zincrby(SWITCHES, 3_600_000, bytesOf(MAKER) as unknown as string),
  ),
  'a dead-man switch that nobody took': inEngine(/dead-man switch of 0x/, ({ fixture: { redis } }) =>
    redis.zadd(`${PREFIX}cancel-after:leases`, 1, bytesOf(STRANGER)),
  ),
  'a cut-off of events to come': inEngine(/dead-man switch of 0x/, ({ fixture: { redis } }) =>
    redis.hset(CUT_OFFS, bytesOf(STRANGER) as unknown as string, Buffer.alloc(15, 1)),
  ),
  'a stray field of the cut-offs': inEngine(
    /dead-man switch of 0x.* a stray field/,
    ({ fixture: { redis } }) =>
      redis.hset(CUT_OFFS, Buffer.concat([bytesOf(MAKER), Buffer.from('more')]) as unknown as string, '1'),
  ),
  'an empty field of the cut-offs': inEngine(
    /dead-man switch of 0x.* a stray field/,
    ({ fixture: { redis } }) => redis.hset(CUT_OFFS, bytesOf(STRANGER) as unknown as string, ''),
  ),
  'all dead-man switches deleted': inEngine(/dead-man switch of 0x/, ({ fixture: { redis } }) =>
    redis.del(SWITCHES),
  ),
  'switch_clock removed': engineField('switch_clock', null),
  'the unsettled index emptied': inEngine(/unsettled index: event/, ({ fixture: { redis } }) =>
    redis.del(INDEX),
  ),
  'the unsettled index padded': inEngine(/unsettled index: event/, ({ fixture: { redis } }) =>
    redis.zadd(INDEX, 0, entryOf(STRANGER, Buffer.alloc(28, 1))),
  ),
  'an entry of the unsettled index that is gone': inEngine(/unsettled index: event/, async (books) =>
    books.fixture.redis.zrem(INDEX, await lastEntry(books)),
  ),
  'an entry of the unsettled index under another wallet': inEngine(/unsettled index: event/, async (books) =>
    books.fixture.redis.zadd(INDEX, 0, entryOf(STRANGER, await lastEntry(books))),
  ),
  'an entry of the unsettled index that its score hides': inEngine(
    /unsettled index: .*score/,
    async (books) => books.fixture.redis.zadd(INDEX, 1, await lastEntry(books)),
  ),
  'a claim filter of ones': inEngine(/claim filter: expected at most/, async ({ fixture: { redis } }) =>
    redis.set(FILTER, Buffer.alloc(await redis.strlen(FILTER), 0xff)),
  ),
  'a claim filter with a stretch of ones': inEngine(
    /claim filter: expected at most/,
    ({ fixture: { redis } }) => redis.setrange(FILTER, 0, Buffer.alloc(4096, 0xff)),
  ),
  'an empty claim filter': inEngine(/client order id live|reference/, ({ fixture: { redis } }) =>
    redis.del(FILTER),
  ),
  'a turn of claims that was none': inEngine(/generation|no claim/, async ({ fixture: { redis } }) => {
    const { sequence } = readState(await redis.hgetBuffer(ENGINE, 'state'));
    await redis.hset(ENGINE, 'claims:turned_at', sequence);
  }),
  'generations of claims flipped': flipped('claims', /generation/),
  'generations of the unsettled index flipped': flipped('unsettled', /generation|unsettled/),
  'a key of an unknown asset': inEngine(/key \{redbook\}:balances:NONE/, ({ fixture: { redis } }) =>
    redis.call('HSET', `${PREFIX}balances:NONE`, availableField(MAKER), '5'),
  ),
  'a key of an unknown book': inEngine(/key \{redbook\}:book:NO\/NE:bids/, ({ fixture: { redis } }) =>
    redis.zadd(`${PREFIX}book:NO/NE:bids`, 0, 'x'),
  ),
  ...Object.fromEntries(
    ['levels:NO/NE:asks', 'claims:2', 'what'].map((name) => [
      `a key ${name}`,
      inEngine(/key \{redbook\}/, ({ fixture: { redis } }) => redis.zadd(`${PREFIX}${name}`, 0, 'x')),
    ]),
  ),
  'a further user': {
    ...inEngine(/user evil: expected no such user/, ({ fixture: { redis } }) =>
      redis.call('ACL', 'SETUSER', 'evil', 'on', 'nopass', '~*', '+@all'),
    ),
    restore: ({ fixture: { redis } }) => redis.call('ACL', 'DELUSER', 'evil'),
  },
  'a user of the release with more rights': {
    ...inEngine(
      /user queue-api: expected the rights of the release, found more: nopass %W~\{redbook\}:balances:\* \+xrevrange/,
      ({ fixture: { redis } }) =>
        redis.call(
          'ACL',
          'SETUSER',
          'queue-api',
          'on',
          'nopass',
          '-@all',
          '%W~{redbook}:balances:*',
          '+get',
          '+xrevrange',
        ),
    ),
    restore: ({ fixture: { redis } }) => redis.call('ACL', 'DELUSER', 'queue-api'),
  },
  'a later settled event': engineField('settled', '1000000'),
  'an earlier settled event': engineField('settled', '0'),
  'no settled event': engineField('settled', null),
  'a later mark': engineField('mark', '1-1000000'),
  'no mark': engineField('mark', null),
  'no time of the mark': engineField('mark:at', null),
  '01 for 1': inEngine(/key engine paused|USDC used/, ({ fixture: { redis } }) =>
    redis.hset(`${PREFIX}assets`, 'USDC used', '01'),
  ),
  'an asset that is forgotten, and a million minted in it': inEngine(/USDC|available to/, async (books) => {
    await books.fixture.redis.hdel(`${PREFIX}assets`, 'USDC');
    await addTo(books, 'USDC', [[availableField(WALLET('b')), '1000000000000']]);
  }),
  'the last event taken off the stream': inEngine(/sequence/, async ({ fixture: { redis } }) => {
    const [newest] = await redis.xrevrange(`${PREFIX}events`, '+', '-', 'COUNT', 1);
    await redis.xdel(`${PREFIX}events`, newest![0]);
  }),
};

describe('books: reconcile of what an insider changed', () => {
  let books: CorruptedBooks;
  let checkpoint: LedgerCheckpoint;
  before(async () => {
    books = await CorruptedBooks.open();
    checkpoint = await books.fixture.ledger.checks.checkpoint();
  });
  after(() => books.close());

  async function corrupt({ sql, redis, restore, back, named }: Corruption): Promise<void> {
    const { client } = books;
    const restoring = typeof back === 'function' ? await back(client) : (back ?? '');
    if (sql !== undefined)
      expect(await books.sql(`begin; ${sql}; commit`), 'rows').to.be.above(back ? -1 : 0);
    if (redis !== undefined) await redis(books);
    const alone = await books.differences();
    const told = alone.length > 0 ? alone : await books.ledgerDifferences([checkpoint]);
    await books.sql(restoring);
    if (sql !== undefined) await books.restoreTables(books.tables.filter((name) => sql.includes(name)));
    if (redis !== undefined) await books.restoreKeys();
    if (restore !== undefined) await restore(books);
    expect(
      told.some((text) => named.test(text)),
      told.join('\n') || 'nothing',
    ).to.equal(true);
  }

  for (const [group, corruptions] of Object.entries({
    'by SQL alone': { ...HISTORY, ...RECORDS },
    'of what guards the tables': GUARDS,
    'of objects that hide rows': FOREIGN,
    'in both stores': BOTH_STORES,
    'in Redis': REDIS,
  }))
    describe(group, () => {
      for (const [what, corruption] of Object.entries(corruptions))
        it(`names ${what}`, () => corrupt(corruption));
    });

  it('finds nothing once everything is restored', async () => {
    expect(await books.differences()).to.deep.equal([]);
    expect(await books.ledgerDifferences([checkpoint])).to.deep.equal([]);
  });
});
