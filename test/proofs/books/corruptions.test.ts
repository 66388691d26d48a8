/**
 * Changes each column of each table of Postgres and each kind of field and member in Redis, one at a time, and checks that
 * `ledger reconcile` names it. Columns and keys are listed by the servers, so new ones are covered automatically. Rows and
 * changes are drawn by a seed of their own: `CORRUPTIONS=5 npx mocha …` draws others.
 */

import { expect } from 'chai';
import pg from 'pg';
import { readState, STATE } from '../../../src/engine/state.ts';
import { CorruptedBooks, PREFIX } from '../../books/corrupted-books.ts';
import { query } from '../../ledger/tables.ts';
import { random } from '../../support/seed.ts';

/** The corruption was made, or the server refused it. */
type Outcome = 'done' | 'refused';

interface Corruption {
  readonly what: string;
  /** The table that is changed; undefined for a change in Redis. Its checks are faster than a reconcile. */
  readonly table?: string;
  act(): Promise<Outcome>;
  /** Matches the reported difference. */
  readonly named: RegExp;
}

/** Fields that no reconcile can find wrong, each with the reason. */
const UNSEEN: Readonly<Record<string, string>> = {
  '{redbook}:engine mark:at': 'a time at which events were settled; one later than now is seen',
  '{redbook}:engine unsettled:ready_at': 'the same, for the index of unsettled events',
  '{redbook}:engine claims:ready_at': 'the same, for recent claims',
  '{redbook}:engine unsettled:ready_at that is gone': 'the next trim notes it again',
  '{redbook}:engine claims:ready_at that is gone': 'the same',
  'segments.made_after': 'the width of a later segment alone follows from it',
  'segments.made_at': 'the same',
  'scrubs.holds': 'a reading decides only when its segment is read again',
  'scrubs.segment': 'the same, if the other segment was sealed before the reading, too',
  'a row of scrubs that is gone': 'the same',
  'operator_keys.revoked_at': 'an earlier time: a revocation that is tried again has a later act',
  'cap_reservations.kind': 'a reservation has no other use than that the same request joins it',
  'cap_reservations.reference': 'the same',
  'cap_reservations.holders': 'how many requests wait with a reservation',
  'cap_reservations.is_moved': 'whether a reservation may be given back',
};
/**
 * Tables without a row in these books. A movement that waits moves nothing without the act that approves it. Those of seams are changed in
 * the test of `ledger adopt`.
 */
const EMPTY = [
  'adopted_balances',
  'adopted_fills',
  'adopted_prices',
  'adoptions',
  'backups',
  'closing_balances',
  'engine_copies',
  'engine_lists',
  'waiting_movements',
];

type Change = (column: string) => string;
const NULL: Change = () => 'null';

/** Other values of the same type. */
const OTHER: Readonly<Record<string, readonly Change[]>> = {
  bigint: [
    (column) => `coalesce(${column}, 0) + 1`,
    (column) => `${column} - 1`,
    (column) => `${column} * 2`,
  ],
  integer: [(column) => `${column} + 1`, (column) => `${column} - 1`],
  smallint: [(column) => `${column} - 1`, (column) => `${column} + 1`],
  numeric: [(column) => `${column} + 1`, (column) => `${column} - 1`, (column) => `${column} * 2`],
  'double precision': [(column) => `coalesce(${column}, 0) + 1`],
  boolean: [(column) => `not ${column}`],
  text: [
    (column) => `coalesce(${column}, '') || 'x'`,
    (column) => `substr(${column}, 2)`,
    (column) => `reverse(${column})`,
  ],
  jsonb: [(column) => `jsonb_set(${column}, '{feeBps}', '77')`],
  bytea: [
    (column) => `substr(${column}, 2)`,
    (column) => `set_byte(${column}, 3, 1 # get_byte(${column}, 3))`,
  ],
  'timestamp with time zone': [(column) => `${column} - interval '1 hour'`],
  ARRAY: [(column) => `array_append(${column}, 'x')`],
  date: [(column) => `${column} - 1`],
};
const SIDE: Change = (column) => `case ${column} when 'buy' then 'sell' else 'buy' end`;
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
};
/** Columns whose corruption has different effects in orders of each kind. */
const EACH_KIND = ['status', 'filled_steps', 'closed_sequence', 'client_order_id', 'reason'];
/** SQL of a part of a row by which a reconcile names it, where that is not the table's key. */
const KEYS: Readonly<Record<string, string>> = {
  engine_cursor: `'engine_cursor'`,
  trading_switches: `'trading_switches'`,
  announced_deposits: 'reference',
  pending_withdrawals: 'reference',
  taken_withdrawals: 'reference',
  market_versions: 'sequence',
  chain_heads: `'chain'`,
  chain_links: `'event'`,
  ended_orders: 'id',
  trades: 'trade_id',
  candles: "concat_ws(' ', market, timeframe, 'at', open_ms)",
  closing_balances: `'closing'`,
  kept_balances: `'balances after'`,
  operator_key_days: 'key',
  cap_reservations: 'key',
  engine_epochs: `'epoch'`,
  epoch_starts: `'epoch'`,
  scrubs: `'scrubs of segment'`,
  seals: `'seals'`,
};
/** Further names under which a reconcile reports a row. */
const ALSO: Readonly<Record<string, string>> = {
  engine_cursor: 'event|rows of|cursor row',
  trading_switches: 'terms|paused|trading|rows of',
  epoch_starts: 'starts up to the checkpoint',
};

/** Tables whose rows of sealed segments are proven by digests. */
const SEALED = [
  'live_orders',
  'ended_orders',
  'late_orders',
  'trades',
  'chain_links',
  'chain_heads',
  'epoch_starts',
  'movements',
  'market_versions',
  'setting_changes',
  'operator_acts',
  'kept_balances',
  'candles',
  'seals',
];

/** Names under which a reconcile reports a row that has another key. */
const OTHER_KEY = /event \d+|order \w{33,35}|(key|reference) \w+|none|no row|missing/;

/** Names under which a reconcile reports keys of Redis, by family. */
const NAMES_OF_KEYS: Readonly<Record<string, RegExp>> = {
  assets: /asset|used/,
  balances: /0x|supply|house/,
  book: /order [0-9a-f]{34}/,
  'cancel-after': /dead-man switch of 0x/,
  'claim-filter': /client order id|reference/,
  claims: /claims/,
  engine: /epoch|sequence/,
  events: /event|sequence/,
  levels: /at \d+ ticks/,
  live: /live order/,
  markets: /market/,
  unsettled: /unsettled index/,
};

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
}

describe('books: reconcile of a corrupted engine or ledger', function () {
  this.timeout(1_800_000);
  let books: CorruptedBooks;
  const dice = random(Number(process.env.CORRUPTIONS ?? 77));
  before(async () => {
    books = await CorruptedBooks.open();
  });
  after(() => books.close());

  const ask = <Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> =>
    query<Row>(books.fixture.databaseUrl, sql);

  const inPostgres = (what: string, table: string, named: RegExp, texts: readonly string[]): Corruption => ({
    what,
    table,
    named,
    act: async () => {
      for (const text of texts)
        try {
          if ((await books.sql(text)) > 0) return 'done';
        } catch (error) {
          // The value breaks a constraint, or the type has no such value.
          if (!(error instanceof pg.DatabaseError && /^(2[0-9A-F]|428C9)/.test(error.code ?? '')))
            throw error;
        }
      return 'refused';
    },
  });

  /** Values that a column may have instead, in the order in which they are tried. */
  function othersOf({ table, name, type, isNullable }: Column): string[] {
    const one = OTHER_OF[`${table}.${name}`];
    if (one !== undefined) return [one];
    const changes = [...OTHER[type]!, ...(isNullable ? [NULL] : [])];
    const first = dice.below(changes.length);
    return [...changes.slice(first), ...changes.slice(0, first)].map((change) => change(name));
  }

  /** SQL that copies a row with other values in the columns that are unique, in the order in which they are tried. */
  function copiesOf(
    table: string,
    own: readonly Column[],
    unique: readonly string[],
    where: string,
  ): string[] {
    const names = own.map(({ name }) => name);
    const shifted = ({ name, type }: Column, by: number): string => {
      if (!unique.includes(name)) return name;
      if (/int|numeric/.test(type)) return `${name} + ${by}`;
      return {
        text: `${name} || 'x'`,
        date: `${name} + ${by}`,
        boolean: name,
        bytea: `${name} || '\\x01'`,
        'timestamp with time zone': `now() + interval '1 day'`,
      }[type]!;
    };
    return [1, -1, 2, -2].map(
      (by) => `insert into ${table} (${names.join(', ')})
        select ${own.map((column) => shifted(column, by)).join(', ')} from ${table} where ${where}`,
    );
  }

  interface DrawnRow {
    readonly table: string;
    readonly kind: string;
    /** SQL that finds the row. */
    readonly where: string;
    readonly named: RegExp;
  }

  async function drawRow(table: string, kind: string, primary: string | undefined): Promise<DrawnRow> {
    const key = KEYS[table] ?? primary ?? `'${table}'`;
    const ofKind = kind === 'live' ? `where client_order_id = 'live'` : kind && `where status = '${kind}'`;
    const rows = await ask<{ ctid: string; key: string }>(
      `select ctid::text, (${key})::text as key from saved.${table} ${ofKind} order by ctid`,
    );
    if (rows.length === 0) throw new Error(`${table} has no row`);
    const { ctid, key: name } = dice.pick(rows);
    const own = `${literal(name)}|${table.replace(/^(?:operator|engine)_/, '')} up to the checkpoint`;
    const also = ALSO[table];
    return {
      table,
      kind,
      where: `${table}::text = (select saved::text from saved.${table} as saved where ctid = '${ctid}')`,
      named: new RegExp(also === undefined ? own : `${own}|${also}`),
    };
  }

  /** Changes one value of each column, and deletes and copies one row of each table. */
  async function postgresCorruptions(): Promise<Corruption[]> {
    const columns = await ask<Column>(
      `select table_name as table, column_name as name, data_type as type, is_nullable = 'YES' as "isNullable"
       from information_schema.columns where table_schema = 'public' order by table_name, ordinal_position`,
    );
    const primary = await ask<{ table: string; key: string }>(
      `select conrelid::regclass::text as table, string_agg(attname, ' || '' '' || ') as key from pg_constraint
       join pg_attribute on attrelid = conrelid and attnum = any(conkey) where contype = 'p' group by 1`,
    );
    const unique = await ask<{ table: string; name: string }>(
      `select distinct indrelid::regclass::text as table, attname as name from pg_index
       join pg_attribute on attrelid = indrelid and attnum = any(indkey) where indisunique`,
    );
    const corruptions: Corruption[] = [];
    for (const table of books.tables) {
      if (EMPTY.includes(table)) continue;
      const kinds = table === 'orders' ? ['live', 'filled', 'cancelled', 'rejected'] : [''];
      for (const [nth, kind] of kinds.entries()) {
        const key = primary.find((one) => one.table === table)?.key;
        const row = await drawRow(table, kind, key);
        const own = columns.filter((column) => column.table === table);
        for (const [place, column] of own.entries()) {
          if (place % kinds.length !== nth && !EACH_KIND.includes(column.name)) continue;
          const texts = othersOf(column).map(
            (value) =>
              `update ${table} set ${column.name} = ${value} where ${row.where} and ${column.name} is distinct from ${value}`,
          );
          const what = `${table}.${column.name}${kind && ` of a ${kind} one`}`;
          const isKey = new RegExp(`\\b${column.name}\\b`).test(key ?? '');
          const named = isKey ? new RegExp(`${row.named.source}|${OTHER_KEY.source}`) : row.named;
          corruptions.push(inPostgres(what, table, named, texts));
        }
        corruptions.push(
          inPostgres(
            `a row of ${table} that is gone${kind && ` (${kind})`}`,
            table,
            new RegExp(`${row.named.source}|rows of|chain begins|reconciliations|heads up to`),
            [`delete from ${table} where ${row.where}`],
          ),
          inPostgres(
            `a row of ${table} that is there twice${kind && ` (${kind})`}`,
            table,
            new RegExp(`${row.named.source}|${OTHER_KEY.source}|rows of|no candle`),
            copiesOf(
              table,
              own,
              unique.filter((one) => one.table === table).map(({ name }) => name),
              row.where,
            ),
          ),
        );
      }
    }
    return corruptions;
  }

  const inRedis = (what: string, named: RegExp, act: () => Promise<unknown>): Corruption => ({
    what,
    named,
    act: async () => {
      await act();
      return 'done';
    },
  });

  /** Changes each part of the engine's state, and deletes the state. */
  const stateCorruptions = (key: string, value: Buffer): Corruption[] => [
    ...STATE.names.map((name) => {
      const state = readState(value) as Record<string, number>;
      // The generations are 0 and 1.
      const other = STATE.pack({ ...readState(value), [name]: state[name]! + 2 });
      return inRedis(`${key} state: ${name}`, new RegExp(`\\b${name}\\b|event`), () =>
        books.fixture.redis.hset(key, 'state', other),
      );
    }),
    inRedis(`${key} state that is gone`, /epoch/, () => books.fixture.redis.hdel(key, 'state')),
  ];

  /** Changes each field of each hash, deletes it, and adds an extra field. */
  async function hashCorruptions(): Promise<Corruption[]> {
    const { redis } = books.fixture;
    const corruptions: Corruption[] = [];
    for (const key of (await redis.keys(`${PREFIX}*`)).sort()) {
      if ((await redis.type(key)) !== 'hash') continue;
      const found = (await redis.callBuffer('HGETALL', key)) as Buffer[];
      const seen = new Set<string>();
      for (let at = 0; at < found.length; at += 2) {
        const field = found[at]!;
        const value = found[at + 1]!;
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
          inRedis(`${key} ${kind}`, name, () => redis.call('HSET', key, field, other)),
          inRedis(`${key} ${kind} that is gone`, name, () => redis.call('HDEL', key, field)),
        );
      }
      const stranger = key.includes('balances')
        ? Buffer.concat([Buffer.alloc(20, 7), Buffer.from('a')])
        : 'x';
      corruptions.push(
        inRedis(`${key} one too many`, /x|0707/, () => redis.call('HSET', key, stranger, '5')),
      );
    }
    return corruptions;
  }

  /** Changes each part of a member of a book and of the live orders. */
  async function memberCorruptions(): Promise<Corruption[]> {
    const { redis } = books.fixture;
    const parts = {
      [`${PREFIX}book:ETH/USDC:asks`]: {
        price: 6,
        epoch: 8,
        sequence: 14,
        wallet: 34,
        rest: 41,
      },
      [`${PREFIX}live`]: {
        wallet: 19,
        market: 21,
        price: 28,
        epoch: 30,
        sequence: 36,
        size: 43,
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
          inRedis(`${key} ${name}`, named, async () => {
            const other = Buffer.from(member);
            const place = at < 0 ? other.length + at : at;
            other.writeUInt8(other.readUInt8(place) ^ 1, place);
            await redis.zrem(key, member);
            await redis.zadd(key, 0, other);
          }),
        );
      corruptions.push(
        inRedis(`${key} a member that is gone`, named, () => redis.zrem(key, member)),
        inRedis(`${key} a score`, /score/, () => redis.zadd(key, 1, member)),
        inRedis(`${key} a member too many`, /order|member/, () =>
          redis.zadd(key, 0, Buffer.concat([member.subarray(0, 30), Buffer.alloc(13, 1)])),
        ),
      );
    }
    return corruptions;
  }

  /** Deletes each key and gives it a time to live. Deletes and changes a member of each set, and changes a score. */
  async function keyCorruptions(): Promise<Corruption[]> {
    const { redis } = books.fixture;
    const corruptions: Corruption[] = [];
    for (const key of (await redis.keys(`${PREFIX}*`)).sort()) {
      const [, family = ''] = key.split(':');
      const named = NAMES_OF_KEYS[family]!;
      corruptions.push(
        inRedis(`${key} that is gone`, named, () => redis.del(key)),
        inRedis(
          `${key} with a time to live`,
          new RegExp(`key ${literal(key)}: expected no time to live`),
          () => redis.pexpire(key, 86_400_000),
        ),
      );
      if ((await redis.type(key)) !== 'zset') continue;
      const member = dice.pick(await redis.zrangeBuffer(key, '0', '-1'));
      const other = Buffer.from(member);
      const place = dice.below(other.length);
      other.writeUInt8(other.readUInt8(place) ^ (1 << dice.below(8)), place);
      corruptions.push(
        inRedis(`${key} a member that is gone`, named, () => redis.zrem(key, member)),
        inRedis(`${key} the score of a member`, named, () =>
          redis.zincrby(key, 1, member as unknown as string),
        ),
        inRedis(`${key} byte ${place} of a member`, named, async () => {
          const score = await redis.zscore(key, member as unknown as string);
          await redis.zrem(key, member);
          await redis.zadd(key, score!, other);
        }),
      );
    }
    return corruptions;
  }

  it('names each corruption of a stored field', async () => {
    const corruptions = [
      ...(await postgresCorruptions()),
      ...(await hashCorruptions()),
      ...(await memberCorruptions()),
      ...(await keyCorruptions()),
    ];
    const checkpoint = await books.fixture.ledger.checks.checkpoint();
    const wrong: string[] = [];
    let refused = 0;
    for (const { what, act, table, named } of corruptions) {
      if ((await act()) === 'refused') {
        refused += 1;
        continue;
      }
      const shown = table === undefined ? [] : await books.ledgerDifferences();
      const alone = shown.length > 0 ? shown : await books.differences();
      const told =
        alone.length > 0 || table === undefined ? alone : await books.ledgerDifferences([checkpoint]);
      // The same without the checks of sealed rows, which their digests replace.
      const sealed = table !== undefined && SEALED.includes(table) ? await books.sealedDifferences() : told;
      if (told.length === 0 && !(what in UNSEEN)) wrong.push(`${what}: not seen`);
      else if (told.length > 0 && !told.some((text) => named.test(text)))
        wrong.push(`${what}: seen and not named by ${named}: ${told.join('; ').slice(0, 300)}`);
      if (told.length > 0 && !sealed.some((text) => named.test(text)))
        wrong.push(`${what}: not named by ${named} once sealed: ${sealed.join('; ').slice(0, 300)}`);
      if (table === undefined) await books.restoreKeys();
      else await books.restoreTables([table, 'scrubs', 'seals']);
    }
    expect(wrong).to.deep.equal([]);
    expect(await books.differences(), 'what was made wrong was put back').to.deep.equal([]);
    expect(corruptions.length - refused).to.be.above(330);
  });

  it('reports an unreadable value and names its row', async () => {
    const of = `where symbol = 'ETH/USDC'`;
    const damages: readonly (readonly [table: string, sql: string, named: RegExp])[] = [
      [
        'live_orders',
        `update live_orders set price_ticks = null where client_order_id = 'live'`,
        /order [0-9a-f]{34}/,
      ],
      ['markets', `update markets set record = record - 'base' ${of}`, /market ETH\/USDC/],
      ['markets', `update markets set record = record - 'quoteAtomsPerLot' ${of}`, /market record .*ETH/],
    ];
    for (const [table, sql, named] of damages) {
      await books.client.query(sql);
      const told = await books.differences();
      expect(
        told.some((text) => named.test(text)),
        told.join('\n'),
      ).to.equal(true);
      expect(
        told.some((text) => text.includes('can be read')),
        told.join('\n'),
      ).to.equal(true);
      await books.restoreTables([table]);
    }
  });
});
