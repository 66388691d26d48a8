/**
 * Corrupts each stored field of Redis and Postgres in turn, and checks that `ledger reconcile` reports and names each
 * corruption. Columns and fields are listed by the servers, so new ones are covered automatically.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { bookMovements } from '../../src/books/movement-batch.ts';
import { reconcile } from '../../src/books/reconcile/index.ts';
import { parseDecimal } from '../../src/domain/units.ts';
import { readState, STATE } from '../../src/engine/state.ts';
import type { LedgerCheckpoint } from '../../src/ledger/index.ts';
import { query, TABLES } from '../ledger/tables.ts';
import { MAKER, openBusyFixture, TAKER } from '../operator/busy-fixture.ts';
import { type OperatorFixture, WALLET } from '../operator/fixture.ts';
import { words } from '../support/words.ts';

const HELD = WALLET('e');
const PREFIX = '{redbook}:';
/** Small, because the filter is copied for each corruption. */
const FILTER_BYTES = 2 ** 16;

/** Opens a fixture with data of every kind: held wallets, terms, all kinds of orders, client order ids. */
async function openFullFixture(): Promise<OperatorFixture> {
  const fixture = await openBusyFixture({ trading: FILTER_BYTES, operating: FILTER_BYTES });
  await fixture.ask('account', 'hold', HELD);
  for (const reference of ['paid later', 'not paid yet'])
    await fixture.ask('withdrawal', 'request', MAKER, 'USDC', '1', '--reference', reference);
  await fixture.ask('withdrawal', 'confirm', 'paid later', '--txid', '0x1');
  await fixture.ask('terms', 'require', '1');
  for (const wallet of [MAKER, TAKER]) await fixture.engine.switches.acceptTerms(wallet, '1');
  // The ledger takes a time that is not before its last event's for one that settlement writes.
  await sleep(10);
  await fixture.place({ wallet: MAKER, side: 'sell', price: '3000', size: '2', clientOrderId: 'live' });
  await fixture.place({ wallet: MAKER, price: '3', size: '2' });
  for (const timeInForce of ['FOK', 'IOC'] as const)
    await fixture.engine.orders.place({
      wallet: TAKER,
      request: {
        market: 'ETH/USDC',
        side: 'buy',
        type: 'limit',
        clientOrderId: `never ${timeInForce}`,
        price: parseDecimal('1')!,
        size: parseDecimal('1')!,
        timeInForce,
        postOnly: false,
        reduceOnly: false,
        leverage: 2,
      },
    });
  await fixture.engine.dueCancels.set(MAKER, 60_000);
  await fixture.settle();
  await fixture.ask('ledger', 'close', '2020-02');
  for (const name of ['custody', 'leaked'])
    await fixture.ask(
      'key',
      'create',
      name,
      '--may',
      'credit,debit',
      '--cap',
      'USDC=100/day',
      '--cap',
      'ETH=5/day',
    );
  await fixture.ask('key', 'revoke', 'leaked');
  const key = (await fixture.ledger.keys.all()).find(({ name }) => name === 'custody')!;
  const act = { by: 'custody', reason: 'a test' };
  const capped = {
    wallet: MAKER,
    asset: 'USDC',
    amount: parseDecimal('3')!,
    reference: 'by key',
    kind: 'credited',
  } as const;
  await bookMovements(fixture.services, [{ ...capped, act }], key);
  await fixture.settle();
  await reconcile(fixture.services, { patienceMs: 0 });
  return fixture;
}

/** The corruption was made, or the server refused it. */
type Outcome = 'done' | 'refused';

interface Corruption {
  readonly what: string;
  /** True if the ledger's own checks reveal the corruption. They are faster than a reconcile. */
  readonly isOfLedger?: boolean;
  act(): Promise<Outcome>;
  undo(): Promise<unknown>;
  /** Matches the reported difference. */
  readonly named: RegExp;
}

/** Fields whose corruption cannot be detected, with the reason. */
const UNSEEN: Readonly<Record<string, string>> = {
  '{redbook}:engine mark:at': 'a time at which events were settled; one later than now is seen',
  '{redbook}:engine unsettled:ready_at': 'the same, for the index of unsettled events',
  '{redbook}:engine claims:ready_at': 'the same, for recent claims',
  '{redbook}:engine filter:generations': 'how often the filter was rebuilt: only the next rebuild reads it',
  'cap_reservations.kind': 'a reservation has no other use than that the same request joins it',
  'cap_reservations.reference': 'the same',
  'cap_reservations.holders': 'how many requests wait with a reservation',
  'cap_reservations.is_moved': 'whether a reservation may be given back',
};

/** Another value of the same type. */
const OTHER: Readonly<Record<string, (column: string) => string>> = {
  bigint: (column) => `coalesce(${column}, 0) + 1`,
  integer: (column) => `${column} + 1`,
  smallint: (column) => `${column} - 1`,
  numeric: (column) => `${column} + 1`,
  'double precision': (column) => `coalesce(${column}, 0) + 1`,
  boolean: (column) => `not ${column}`,
  text: (column) => `coalesce(${column}, '') || 'x'`,
  jsonb: (column) => `jsonb_set(${column}, '{feeBps}', '77')`,
  bytea: (column) => `substr(${column}, 2)`,
  'timestamp with time zone': (column) => `${column} - interval '1 hour'`,
  ARRAY: (column) => `array_append(${column}, 'x')`,
  date: (column) => `${column} - 1`,
};
const SIDE = (column: string): string => `case ${column} when 'buy' then 'sell' else 'buy' end`;
const OTHER_OF: Readonly<Record<string, string>> = {
  'orders.side': SIDE('side'),
  'orders.type': `case type when 'limit' then 'market' else 'limit' end`,
  'orders.status': `case status when 'filled' then 'expired' when 'resting' then 'partially_filled'
    when 'cancelled' then 'failed' else 'cancelled' end`,
  'trades.taker_side': SIDE('taker_side'),
  'reconciliations.results': `jsonb_set(results, '{0,differences}', '77')`,
  'operator_keys.caps': `jsonb_set(caps, '{USDC}', '"9"')`,
  'operator_keys.revoked_at': `now() - interval '1 hour'`,
  'movements.kind': `case kind when 'credited' then 'debited' else 'credited' end`,
  'ledger_entries.kind': `case kind when 'trade' then 'fee' else 'trade' end`,
};
/** Columns whose corruption has different effects in orders of each kind. */
const EACH_KIND = ['status', 'filled_steps', 'closed_sequence', 'client_order_id', 'reason', 'witness'];
const KEYS: Readonly<Record<string, string>> = {
  orders: 'id',
  trades: 'trade_id',
  movements: 'sequence',
  pending_withdrawals: 'reference',
  ledger_entries: "sequence || '-' || line",
  holds: 'wallet',
  wallet_terms: 'wallet',
  assets: 'symbol',
  markets: 'symbol',
  reconciliations: 'id',
  market_versions: 'sequence',
  setting_changes: 'sequence',
  operator_acts: 'sequence',
  chain_heads: "'chain'",
  candles: "concat_ws(' ', market, timeframe, 'at', open_ms)",
  closings: 'month',
  operator_keys: 'name',
  operator_key_days: 'key',
  cap_reservations: 'key',
};
const TABLES_WITH_RECORDS = [
  ...TABLES,
  ...words('reconciliations closings operator_keys operator_key_days cap_reservations'),
];

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

describe('books: reconcile of a corrupted engine or ledger', function () {
  this.timeout(300_000);
  let fixture: OperatorFixture;
  let client: pg.Client;
  before(async () => {
    fixture = await openFullFixture();
    client = new pg.Client({ connectionString: fixture.databaseUrl });
    await client.connect();
    const copies = [...TABLES_WITH_RECORDS, 'chain_links', 'engine_epochs'].map(
      (table) => `create table saved.${table} as table ${table};`,
    );
    await client.query(`create schema saved; ${copies.join(' ')}`);
  });
  after(async () => {
    await client.end();
    await fixture.close();
  });

  const restoreTable = async (table: string): Promise<void> => {
    // Each reconcile of this test adds a row of its own.
    const kept = table === 'reconciliations' ? 'where id <= (select max(id) from saved.reconciliations)' : '';
    await client.query(`set session_replication_role = replica; delete from ${table} ${kept};
      insert into ${table} overriding system value table saved.${table}; reset session_replication_role`);
  };

  const inPostgres = (
    what: string,
    table: string,
    sql: string,
    named: RegExp,
    asReplica: boolean,
  ): Corruption => ({
    what,
    named,
    isOfLedger: true,
    act: async () => {
      try {
        if (asReplica) await client.query('set session_replication_role = replica');
        await client.query(sql);
        return 'done';
      } catch (error) {
        if (error instanceof pg.DatabaseError && /^(23|428C9)/.test(error.code ?? '')) return 'refused';
        throw error;
      } finally {
        await client.query('reset session_replication_role');
      }
    },
    undo: () => restoreTable(table),
  });

  /** Changes one value of each column, and deletes one row of each table. */
  async function postgresCorruptions(): Promise<Corruption[]> {
    const columns = await query<{ table_name: string; column_name: string; data_type: string }>(
      fixture.databaseUrl,
      `select table_name, column_name, data_type from information_schema.columns
       where table_schema = 'public' and table_name in (${TABLES_WITH_RECORDS.map((name) => `'${name}'`).join()})
       order by table_name, ordinal_position`,
    );
    const corruptions: Corruption[] = [];
    for (const table of TABLES_WITH_RECORDS) {
      const key = KEYS[table];
      const rows = table === 'orders' ? ['live', 'filled', 'cancelled', 'rejected'] : [''];
      for (const [nth, kind] of rows.entries()) {
        const [row] = await query<{ ctid: string; key: string }>(
          fixture.databaseUrl,
          `select ctid::text, (${key ?? `'${table}'`})::text as key from ${table}
           ${kind === 'live' ? `where client_order_id = 'live'` : kind && `where status = '${kind}'`}
           order by ctid limit 1`,
        );
        const where = key === undefined ? 'true' : `(${key})::text = '${row!.key}'`;
        const named = new RegExp(
          key === undefined
            ? 'engine_cursor|event|terms|paused|trading|rows of'
            : `${literal(row!.key)}|${table.replace('operator_', '')} up to the checkpoint`,
        );
        // Disables the triggers that prevent manual changes.
        const isGuarded = ![
          ...['orders', 'candles', 'holds', 'wallet_terms', 'assets', 'markets', 'pending_withdrawals'],
          ...['operator_keys', 'operator_key_days', 'cap_reservations'],
        ].includes(table);
        const ofTable = columns.filter(({ table_name }) => table_name === table);
        for (const [place, { column_name: column, data_type: type }] of ofTable.entries()) {
          if (place % rows.length !== nth && !EACH_KIND.includes(column)) continue;
          const value = OTHER_OF[`${table}.${column}`] ?? OTHER[type]!(column);
          corruptions.push(
            inPostgres(
              `${table}.${column}${kind && ` of a ${kind} one`}`,
              table,
              `update ${table} set ${column} = ${value} where ${where}`,
              named,
              isGuarded,
            ),
          );
        }
        if (key !== undefined && table !== 'reconciliations')
          corruptions.push(
            inPostgres(
              `a row of ${table} that is gone${kind && ` (${kind})`}`,
              table,
              `delete from ${table} where ${where}`,
              new RegExp(`${named.source}|rows of|chain begins`),
              true,
            ),
          );
      }
    }
    return corruptions;
  }

  const inRedis = (what: string, key: string, named: RegExp, act: () => Promise<unknown>): Corruption => {
    const dumped = new Map<string, Buffer | null>();
    return {
      what,
      named,
      act: async () => {
        for (const one of [key, `${PREFIX}assets`]) dumped.set(one, await fixture.redis.dumpBuffer(one));
        await act();
        return 'done';
      },
      undo: async () => {
        for (const [one, value] of dumped) {
          await fixture.redis.del(one);
          if (value !== null) await fixture.redis.restore(one, 0, value);
        }
      },
    };
  };

  /** Changes each part of the engine's state, and deletes the state. */
  const stateCorruptions = (key: string, value: Buffer): Corruption[] => [
    ...STATE.names.map((name) => {
      const state = readState(value) as Record<string, number>;
      // The generations are 0 and 1.
      const other = STATE.pack({ ...readState(value), [name]: state[name]! + 2 });
      return inRedis(`${key} state: ${name}`, key, new RegExp(`\\b${name}\\b|event`), () =>
        fixture.redis.hset(key, 'state', other),
      );
    }),
    inRedis(`${key} state that is gone`, key, /epoch/, () => fixture.redis.hdel(key, 'state')),
  ];

  /** Changes each field of each hash, deletes it, and adds an extra field. */
  async function hashCorruptions(): Promise<Corruption[]> {
    const { redis } = fixture;
    const corruptions: Corruption[] = [];
    for (const key of (await redis.keys(`${PREFIX}*`)).sort()) {
      if ((await redis.type(key)) !== 'hash') continue;
      const found = (await redis.callBuffer('HGETALL', key)) as Buffer[];
      const seen = new Set<string>();
      for (let at = 0; at < found.length; at += 2) {
        const [field, value] = [found[at]!, found[at + 1]!];
        if (field.toString() === 'state') {
          corruptions.push(...stateCorruptions(key, value));
          continue;
        }
        // Equivalent to a missing field.
        if (value.toString() === '0' && key.includes('balances')) continue;
        // Only one field of each kind, for fields named by a wallet, a price or a claim.
        const kind = /^[ -~]+$/.test(field.toString('latin1'))
          ? field.toString()
          : `${field.toString('latin1').match(/^[a-z]+:/)?.[0] ?? ''}…${field.length}${String.fromCharCode(field.at(-1)!)}`;
        if (seen.has(/claims:|levels:/.test(key) ? 'one' : kind)) continue;
        seen.add(/claims:|levels:/.test(key) ? 'one' : kind);
        const name = kind.includes('…')
          ? /0x|ticks|[0-9a-f]{28}/
          : new RegExp(literal(kind.replace(/:.*/, '')));
        const text = value.toString();
        const other = /^\d+$/.test(text) ? `${BigInt(text) + 1n}` : `${text}x`;
        corruptions.push(
          inRedis(`${key} ${kind}`, key, name, () => redis.call('HSET', key, field, other)),
          inRedis(`${key} ${kind} that is gone`, key, name, () => redis.call('HDEL', key, field)),
        );
      }
      const stranger = key.includes('balances')
        ? Buffer.concat([Buffer.alloc(20, 7), Buffer.from('a')])
        : 'x';
      corruptions.push(
        inRedis(`${key} one too many`, key, /x|0707/, () => redis.call('HSET', key, stranger, '5')),
      );
    }
    return corruptions;
  }

  /** Changes each part of a member of a book and of the live orders. */
  async function memberCorruptions(): Promise<Corruption[]> {
    const { redis } = fixture;
    const parts = {
      [`${PREFIX}book:ETH/USDC:asks`]: {
        price: 6,
        epoch: 8,
        sequence: 14,
        wallet: 34,
        'had fills': 35,
        rest: 42,
      },
      [`${PREFIX}live`]: {
        wallet: 19,
        market: 21,
        price: 28,
        epoch: 30,
        sequence: 36,
        'client order id': -1,
      },
    };
    const corruptions: Corruption[] = [];
    for (const [key, places] of Object.entries(parts)) {
      const members = await redis.zrangeBuffer(key, '0', '-1');
      const member = members.find((one) => one.includes('live')) ?? members[0]!;
      const named = /order [0-9a-f]{34}/;
      for (const [name, at] of Object.entries(places))
        corruptions.push(
          inRedis(`${key} ${name}`, key, named, async () => {
            const other = Buffer.from(member);
            const place = at < 0 ? other.length + at : at;
            other.writeUInt8(other.readUInt8(place) ^ 1, place);
            await redis.zrem(key, member);
            await redis.zadd(key, 0, other);
          }),
        );
      corruptions.push(
        inRedis(`${key} a member that is gone`, key, named, () => redis.zrem(key, member)),
        inRedis(`${key} a score`, key, /score/, () => redis.zadd(key, 1, member)),
        inRedis(`${key} a member too many`, key, /order|member/, () =>
          redis.zadd(key, 0, Buffer.concat([member.subarray(0, 30), Buffer.alloc(13, 1)])),
        ),
      );
    }
    return corruptions;
  }

  /** Corruptions that change more than one place. */
  const otherCorruptions = (): Corruption[] => {
    const { redis } = fixture;
    const [wallet, stranger] = [MAKER, WALLET('d')].map((one) => Buffer.from(one.slice(2), 'hex')) as [
      Buffer,
      Buffer,
    ];
    const [switches, cutOffs] = [`${PREFIX}cancel-after:due`, `${PREFIX}cancel-after:cut-offs`];
    const index = `${PREFIX}unsettled:0`;
    const member = async (): Promise<Buffer> => (await redis.zrangeBuffer(index, '0', '-1')).at(-1)!;
    const entryOf = (owner: Buffer, at: Buffer): Buffer => Buffer.concat([owner, at.subarray(20)]);
    const filter = `${PREFIX}claim-filter`;
    const ddl = (what: string, sql: string, back: string, named: RegExp): Corruption => ({
      what,
      named,
      act: async () => {
        await client.query(sql);
        return 'done';
      },
      undo: () => client.query(back),
    });
    return [
      inRedis('a dead-man switch that is gone', switches, /dead-man switch of 0x/, () =>
        redis.zrem(switches, wallet),
      ),
      inRedis('a dead-man switch that is due later', switches, /dead-man switch of 0x/, () =>
        redis.zincrby(switches, 3_600_000, wallet),
      ),
      inRedis('a dead-man switch that nobody set', switches, /dead-man switch of 0x/, () =>
        redis.zadd(switches, 1, stranger),
      ),
      inRedis('a switch that nobody took', `${PREFIX}cancel-after:leases`, /dead-man switch of 0x/, () =>
        redis.zadd(`${PREFIX}cancel-after:leases`, 1, stranger),
      ),
      inRedis('a cut-off of events to come', cutOffs, /dead-man switch of 0x/, () =>
        redis.hset(cutOffs, stranger, Buffer.alloc(15, 1)),
      ),
      inRedis('all dead-man switches gone', switches, /dead-man switch of 0x/, () => redis.del(switches)),
      inRedis('an unsettled index that is empty', index, /unsettled index: event/, () => redis.del(index)),
      inRedis('an entry of the unsettled index that is gone', index, /unsettled index: event/, async () =>
        redis.zrem(index, await member()),
      ),
      inRedis('an entry of an event under another wallet', index, /unsettled index: event/, async () =>
        redis.zadd(index, 0, entryOf(stranger, await member())),
      ),
      inRedis('an entry of an event to come', index, /unsettled index: event/, () =>
        redis.zadd(index, 0, entryOf(stranger, Buffer.alloc(28, 1))),
      ),
      inRedis('an entry that its score hides', index, /unsettled index: .*score/, async () =>
        redis.zadd(index, 1, await member()),
      ),
      ...['balances:NONE', 'book:NO/NE:bids', 'levels:NO/NE:asks', 'claims:2', 'what'].map((name) =>
        inRedis(`a key ${name}`, `${PREFIX}${name}`, /key \{redbook\}/, () =>
          redis.zadd(`${PREFIX}${name}`, 0, 'x'),
        ),
      ),
      inRedis('a claim filter of ones', filter, /claim filter: at most|claim filter/, () =>
        redis.setrange(filter, 0, Buffer.alloc(4096, 0xff)),
      ),
      inRedis('generations of claims that are swapped', `${PREFIX}engine`, /generation/, async () => {
        const state = readState((await redis.hgetBuffer(`${PREFIX}engine`, 'state'))!);
        await redis.hset(`${PREFIX}engine`, 'state', STATE.pack({ ...state, claims: 1 - state.claims }));
      }),
      inRedis('a turn of claims that was none', `${PREFIX}engine`, /generation|no claim/, async () => {
        const { sequence } = readState((await redis.hgetBuffer(`${PREFIX}engine`, 'state'))!);
        await redis.hset(`${PREFIX}engine`, 'claims:turned_at', sequence);
      }),
      inRedis('an empty claim filter', filter, /client order id live|reference/, () => redis.del(filter)),
      inRedis(
        'an asset that is forgotten, and a million minted in it',
        `${PREFIX}balances:USDC`,
        /USDC|available to/,
        () =>
          Promise.all([
            redis.hdel(`${PREFIX}assets`, 'USDC'),
            redis.call(
              'HINCRBY',
              `${PREFIX}balances:USDC`,
              Buffer.concat([Buffer.alloc(20, 0xbb), Buffer.from('a')]),
              '1000000000000',
            ),
          ]),
      ),
      inRedis('the last event taken off the stream', `${PREFIX}events`, /sequence/, async () => {
        const [newest] = await redis.xrevrange(`${PREFIX}events`, '+', '-', 'COUNT', 1);
        await redis.xdel(`${PREFIX}events`, newest![0]);
      }),
      ddl(
        'a trigger that is off',
        'alter table trades disable trigger append_only',
        'alter table trades enable trigger append_only',
        /append_only on trades/,
      ),
      ddl(
        'a trigger that is off for rows',
        'alter table holds disable trigger stamp',
        'alter table holds enable trigger stamp',
        /stamp on holds/,
      ),
      ddl(
        'a unique index that is gone',
        'drop index orders_client_order_id',
        'create unique index orders_client_order_id on orders (wallet, client_order_id) where client_order_id is not null',
        /index orders_client_order_id/,
      ),
      ddl(
        'a key that is gone',
        'alter table movements drop constraint movements_kind_reference_key',
        'alter table movements add constraint movements_kind_reference_key unique (kind, reference)',
        /movements_kind_reference_key/,
      ),
      ddl(
        'a constraint that is gone',
        'alter table ledger_entries drop constraint ledger_entries_amount_atoms_check',
        'alter table ledger_entries add constraint ledger_entries_amount_atoms_check check (amount_atoms <> 0)',
        /constraint ledger_entries_amount_atoms_check/,
      ),
      inPostgres(
        'notional and candle alike',
        'trades',
        'update trades set notional_atoms = notional_atoms + 1',
        /notional_atoms/,
        true,
      ),
    ];
  };

  it('reports and names each corruption of a stored field', async () => {
    const corruptions = [
      ...(await postgresCorruptions()),
      ...(await hashCorruptions()),
      ...(await memberCorruptions()),
      ...otherCorruptions(),
    ];
    const checkpoint = await fixture.ledger.checks.checkpoint();
    const wrong: string[] = [];
    let refused = 0;
    for (const { what, act, undo, named, isOfLedger = false } of corruptions) {
      const outcome = await act();
      if (outcome === 'refused') refused += 1;
      else {
        const shown = isOfLedger ? await ledgerDifferences() : [];
        const alone = shown.length > 0 ? shown : await differences();
        const told = alone.length > 0 || !isOfLedger ? alone : await ledgerDifferences([checkpoint]);
        if (told.length === 0 && !(what in UNSEEN)) wrong.push(`${what}: not seen`);
        else if (told.length > 0 && !told.some((text) => named.test(text)))
          wrong.push(`${what}: seen and not named by ${named}: ${told.join('; ').slice(0, 300)}`);
      }
      await undo();
    }
    expect(wrong).to.deep.equal([]);
    expect(await differences(), 'what was made wrong was put back').to.deep.equal([]);
    expect(corruptions.length - refused).to.be.above(130);
  });

  it('reports what an insider changed in several places, digests included', async () => {
    const checkpoint = await fixture.ledger.checks.checkpoint();
    const [{ id: filled }] = (await query<{ id: string }>(
      fixture.databaseUrl,
      `select taker_order_id as id from trades order by trade_id limit 1`,
    )) as [{ id: string }];
    const mended = 'update orders set witness = order_witness(orders)';
    const cancelled = `(select id from orders where status = 'cancelled' order by id limit 1)`;
    const first = '(select min(sequence) from movements)';
    const twoTrades = `(select array_agg(trade_id order by trade_id) from (
      select trade_id from trades where fee_atoms > 500 order by trade_id limit 2) as two)`;
    const feeOf = (nth: number, atoms: number): string => `
      update trades set fee_atoms = fee_atoms + ${atoms} where trade_id = (${twoTrades})[${nth}];
      update ledger_entries set amount_atoms = amount_atoms + case account when 'house' then ${atoms} else -(${atoms}) end
      where kind = 'fee' and transaction_id = 'trade-' || (${twoTrades})[${nth}];`;
    const insiders: readonly (readonly [what: string, tables: readonly string[], sql: string])[] = [
      [
        'a deposit of twenty days ago',
        ['movements', 'ledger_entries'],
        `update movements set time_ms = time_ms - 1728000000 where sequence = ${first};
         update ledger_entries set time_ms = time_ms - 1728000000 where sequence = ${first}`,
      ],
      ['a fee moved to another trade', ['trades', 'ledger_entries'], feeOf(1, -500) + feeOf(2, 500)],
      ['a lower fee', ['trades', 'ledger_entries'], feeOf(1, -500)],
      [
        'another maker',
        ['trades', 'ledger_entries', 'orders'],
        `update ledger_entries set account = '${HELD}' where account = '${MAKER}' and kind = 'trade';
         update trades set maker_wallet = '${HELD}';
         update orders set wallet = '${HELD}' where id in (select maker_order_id from trades); ${mended}`,
      ],
      [
        'a history of a day ago',
        ['trades', 'ledger_entries', 'movements', 'orders'],
        `update trades set time_ms = time_ms - 86400000; update ledger_entries set time_ms = time_ms - 86400000;
         update movements set time_ms = time_ms - 86400000;
         update orders set created_at_ms = created_at_ms - 86400000, updated_at_ms = updated_at_ms - 86400000; ${mended}`,
      ],
      [
        'a deposit that was doubled',
        ['movements', 'ledger_entries'],
        `update movements set amount_atoms = amount_atoms * 2 where sequence = ${first};
         update ledger_entries set amount_atoms = amount_atoms * 2 where sequence = ${first}`,
      ],
      [
        'a deposit of another wallet',
        ['movements', 'ledger_entries'],
        `update ledger_entries set account = '${HELD}' where sequence = ${first} and account <> 'custody';
         update movements set wallet = '${HELD}' where sequence = ${first}`,
      ],
      ...[
        `time_in_force = 'FOK'`,
        'post_only = not post_only',
        'leverage = 3',
        'size_steps = size_steps + 1',
        `status = 'failed'`,
        `reason = 'market_cleared'`,
        'updated_at_ms = updated_at_ms + 1',
        `client_order_id = 'another'`,
      ].map((change): [string, string[], string] => [
        `a cancelled order with ${change}`,
        ['orders'],
        `update orders set ${change} where id = ${cancelled}; ${mended}`,
      ]),
      [
        'a filled order of another type',
        ['orders'],
        `update orders set type = 'market' where id = '${filled}'; ${mended}`,
      ],
      [
        'a hold of another time',
        ['holds'],
        'update holds set held_at_ms = held_at_ms - 1; update holds set witness = witness_of(holds)',
      ],
      [
        'terms that were accepted at another time',
        ['wallet_terms'],
        `update wallet_terms set accepted_at_ms = accepted_at_ms - 1;
         update wallet_terms set witness = witness_of(wallet_terms)`,
      ],
      [
        'a reconcile that found nothing',
        ['reconciliations'],
        `update reconciliations set differences = 0, failed_checks = '{}', sequence = sequence - 1
         where id <= (select max(id) from saved.reconciliations);
         update reconciliations set witness = witness_of(reconciliations)`,
      ],
      [
        'reconciles that are gone',
        ['reconciliations'],
        'delete from reconciliations where id <= (select max(id) from saved.reconciliations)',
      ],
      [
        'the time of settlement',
        ['engine_cursor'],
        `update engine_cursor set settled_at = settled_at - interval '2 hours'`,
      ],
      [
        'an epoch of tomorrow',
        ['engine_epochs'],
        `insert into engine_epochs values (60000, 'x', now() + interval '1 day')`,
      ],
      ['an epoch that was never noted', ['engine_epochs'], `insert into engine_epochs values (60000, 'x')`],
      [
        'a deposit that was doubled, and a chain that begins behind it',
        ['movements', 'ledger_entries', 'chain_heads', 'chain_links'],
        `update movements set amount_atoms = amount_atoms * 2 where sequence = ${first};
         update ledger_entries set amount_atoms = amount_atoms * 2 where sequence = ${first};
         delete from chain_links; delete from chain_heads;
         insert into chain_heads select sequence, head from engine_cursor`,
      ],
    ];
    const wrong: string[] = [];
    for (const [what, tables, sql] of insiders) {
      await client.query(`set session_replication_role = replica; ${sql}; reset session_replication_role`);
      const told = await ledgerDifferences([checkpoint]);
      if (told.length === 0) wrong.push(what);
      for (const table of tables) await restoreTable(table);
    }
    expect(wrong).to.deep.equal([]);
    expect(await ledgerDifferences([checkpoint])).to.deep.equal([]);
  });

  it('reports functions, triggers and constraints of another text', async () => {
    const definition = async (name: string): Promise<string> => {
      const { rows } = await client.query('select pg_get_functiondef($1::regprocedure) as text', [name]);
      return rows[0].text;
    };
    const changes = [
      [
        'function order_witness(orders)',
        `create or replace function order_witness(orders) returns bytea language sql stable parallel safe as
         'select $1.witness'`,
        await definition('order_witness(orders)'),
      ],
      [
        'function refuse_change()',
        `create or replace function refuse_change() returns trigger language plpgsql as 'begin return null; end'`,
        await definition('refuse_change()'),
      ],
      [
        'trigger append_only on trades',
        `drop trigger append_only on trades; create trigger append_only before update or delete or truncate on trades
         for each statement when (false) execute function refuse_change()`,
        `drop trigger append_only on trades; create trigger append_only before update or delete or truncate on trades
         for each statement execute function refuse_change()`,
      ],
      [
        'constraint ledger_entries_amount_atoms_check on ledger_entries',
        `alter table ledger_entries drop constraint ledger_entries_amount_atoms_check;
         alter table ledger_entries add constraint ledger_entries_amount_atoms_check check (amount_atoms <> 0 or true)`,
        `alter table ledger_entries drop constraint ledger_entries_amount_atoms_check;
         alter table ledger_entries add constraint ledger_entries_amount_atoms_check check (amount_atoms <> 0)`,
      ],
      [
        'trigger mine on orders',
        'create trigger mine before update on orders for each row execute function stamp_hold()',
        'drop trigger mine on orders',
      ],
      [
        'rule mine on holds',
        'create rule mine as on delete to holds do instead nothing',
        'drop rule mine on holds',
      ],
    ] as const;
    for (const [name, sql, back] of changes) {
      await client.query(sql);
      expect((await ledgerDifferences()).join('\n')).to.include(`guards are in place: ${name}`);
      await client.query(back);
    }
    expect(await ledgerDifferences()).to.deep.equal([]);
  });

  it('reports an unreadable value and names its row', async () => {
    const of = `where symbol = 'ETH/USDC'`;
    const damages: readonly (readonly [table: string, sql: string, named: RegExp])[] = [
      ['orders', `update orders set price_ticks = null where client_order_id = 'live'`, /order [0-9a-f]{34}/],
      ['markets', `update markets set record = record - 'base' ${of}`, /market ETH\/USDC/],
      ['markets', `update markets set record = record - 'quoteAtomsPerLot' ${of}`, /market record .*ETH/],
    ];
    for (const [table, sql, named] of damages) {
      await client.query(sql);
      const told = await differences();
      expect(
        told.some((text) => named.test(text)),
        told.join('\n'),
      ).to.equal(true);
      expect(
        told.some((text) => text.includes('can be read')),
        told.join('\n'),
      ).to.equal(true);
      await restoreTable(table);
    }
  });

  /** Differences that the second half of a reconcile reports. */
  const ledgerDifferences = async (checkpoints: readonly LedgerCheckpoint[] = []): Promise<string[]> => {
    const { checks } = await fixture.ledger.checks.run(undefined, checkpoints);
    return checks.flatMap(({ name, violations }) =>
      violations.map((one) => `${name}: ${one.subject}: expected ${one.expected}, found ${one.found}`),
    );
  };

  const differences = async (): Promise<string[]> => {
    try {
      const { checks } = await reconcile(fixture.services, { patienceMs: 0 });
      return checks.flatMap(({ name, asset, differences: found }) =>
        found.map(
          (one) => `${name} ${asset ?? ''}: ${one.subject}: expected ${one.expected}, found ${one.found}`,
        ),
      );
    } catch (error) {
      return [String(error)];
    }
  };
});
