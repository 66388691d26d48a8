/** Proves that the ledger's checks pass on settled data and detect each kind of corruption. */

import { expect } from 'chai';
import pg from 'pg';
import type { EngineEvent } from '../../src/domain/event.ts';
import { ORDER_CHECKS } from '../../src/ledger/checks/orders.ts';
import { textsOf } from '../../src/ledger/checks/query.ts';
import { TRADE_CHECKS } from '../../src/ledger/checks/trades.ts';
import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import type { MakePool } from '../../src/ledger/pools.ts';
import { partsOf, type Span, WHOLE_HISTORY } from '../../src/ledger/span.ts';
import { seededEvents } from '../support/seeded-events.ts';
import { freshLedgerDatabase } from '../support/servers.ts';
import { freshLedgers } from './fresh-ledgers.ts';
import { divide, SEGMENT } from './segmented.ts';
import { query, remembered } from './tables.ts';

const WALLET = `0x${'a1'.repeat(20)}`;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** Number of rows that a query makes of values it lists itself. */
async function rowsListed(databaseUrl: string, sql: string): Promise<number> {
  const explained = await query<{ 'QUERY PLAN': readonly [{ Plan: PlanNode }] }>(
    databaseUrl,
    `explain (analyze, timing off, format json) ${sql}`,
  );
  return nodesOf(explained[0]!['QUERY PLAN'][0].Plan)
    .filter((node) => node['Node Type'] === 'Values Scan')
    .reduce(
      (sum, node) =>
        sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    );
}

interface Damage {
  readonly sql: string;
  readonly seenBy: readonly string[];
}

/** Damage to the first maker of a table that was not filled. The chain proves the end of an ended one. */
function damageOf(kind: 'live' | 'ended' | 'late'): Record<string, Damage> {
  const table = `${kind}_orders`;
  const first = `(select id from ${table} join trades on id = maker_order_id
    where status <> 'filled' order by trade_id limit 1)`;
  const ofEnd = kind === 'live' ? [] : ['chain of events'];
  const changed = (change: string): string => `update ${table} set ${change} where id = ${first}`;
  return {
    [`a ${kind} order counts a fill too few`]: {
      sql: changed('filled_steps = filled_steps - 1'),
      seenBy: ['fills are trades', ...ofEnd],
    },
    [`a ${kind} order counts one fill too many`]: {
      sql: changed('fill_count = fill_count + 1'),
      seenBy: ['fills are trades', ...ofEnd],
    },
    [`a ${kind} order has another status`]: {
      sql: changed(`status = '${kind === 'live' ? 'resting' : 'expired'}'`),
      seenBy: ['statuses follow', ...ofEnd],
    },
    [`a ${kind} order has another last change`]: {
      sql: changed('updated_sequence = updated_sequence - 1'),
      seenBy: ['statuses follow', ...ofEnd],
    },
    [`a ${kind} order is gone`]: {
      sql: `delete from ${table} where id = ${first}`,
      seenBy: ['trades fit their orders', 'no row is missing', 'chain of events'],
    },
    [`a ${kind} order is of another wallet`]: {
      sql: changed(`wallet = 'nobody'`),
      seenBy: ['trades fit their orders', 'chain of events'],
    },
    [`a ${kind} order has another price`]: {
      sql: changed('price_ticks = price_ticks + 1'),
      seenBy: ['trades fit their orders', 'orders fit ids and markets', 'chain of events'],
    },
  };
}

/** Manual changes with the triggers off, and the checks that must detect them. */
const DAMAGE: Readonly<Record<string, Damage>> = {
  ...damageOf('live'),
  ...damageOf('ended'),
  ...damageOf('late'),
  'a live order has ended, too': {
    sql: `insert into ended_orders select * from (select (jsonb_populate_record(live_orders,
        '{"status": "cancelled", "closed_sequence": 800}')).* from live_orders limit 1) as one`,
    seenBy: [
      'orders are in one table',
      'statuses follow',
      'no row is missing',
      'chain of events',
      'times rise with events',
    ],
  },
  'a live order has the client order id of an ended one': {
    sql: `update live_orders set (wallet, client_order_id) = (select wallet, client_order_id from ended_orders
        where client_order_id is not null limit 1) where id = (select min(id) from live_orders where filled_steps = 0)`,
    seenBy: ['orders are in one table', 'chain of events'],
  },
  'an order ended for another reason': {
    sql: `update ended_orders set reason = 'cancel_after'
      where id = (select min(id) from ended_orders where status = 'cancelled')`,
    seenBy: ['chain of events'],
  },
  'deposits are of another account': {
    sql: `update movements set wallet = 'nobody' where reference like 'opening % ETH'`,
    seenBy: ['no account is overdrawn', 'chain of events'],
  },
  'a deposit is smaller': {
    sql: `update movements set amount_atoms = amount_atoms - 1
      where sequence = (select max(sequence) from movements where kind = 'credited')`,
    seenBy: ['chain of events'],
  },
  'a deposit is gone': {
    sql: `delete from movements where sequence = (select max(sequence) from movements where kind = 'credited'
      and reference not in (select reference from movements where kind = 'announced'))`,
    seenBy: ['no row is missing', 'chain of events'],
  },
  'a trade moved other amounts than price and size': {
    sql: `update trades set notional_atoms = notional_atoms + 1 where trade_id = (select min(trade_id) from trades where fee_atoms = 0)`,
    seenBy: ['amounts are price and size', 'candles are their trades', 'chain of events'],
  },
  'a trade is gone': {
    sql: 'delete from trades where trade_id = (select max(trade_id) from trades)',
    seenBy: [
      'candles are their trades',
      'fills are trades',
      'statuses follow',
      'no row is missing',
      'chain of events',
    ],
  },
  'a candle is too high': {
    sql: 'update candles set high_ticks = high_ticks + 1 where open_ms = (select max(open_ms) from candles)',
    seenBy: ['candles are their trades'],
  },
  'a candle of an hour counts too little': {
    sql: `update candles set volume_steps = volume_steps - 1
      where (timeframe, open_ms) = (select timeframe, max(open_ms) from candles where timeframe = '1h' group by 1)`,
    seenBy: ['candles are their trades'],
  },
  'a candle of a day is gone': {
    sql: `delete from candles where timeframe = '1D'`,
    seenBy: ['candles are their trades'],
  },
  'a candle is gone': {
    sql: 'delete from candles where open_ms = (select max(open_ms) from candles)',
    seenBy: ['candles are their trades'],
  },
  'a candle counts what nobody traded': {
    sql: `insert into candles values ('ETH/USDC', 0, 1, 1, 1, 1, 1, 1, 1, 1, '1m')`,
    seenBy: ['candles are their trades'],
  },
  'a market is gone': {
    sql: 'delete from markets',
    seenBy: ['orders fit ids and markets', 'settings follow from their changes'],
  },
  'the cursor is of an earlier epoch': {
    sql: 'update engine_cursor set epoch = (select max(epoch) - 1 from epoch_starts)',
    seenBy: ['epochs rise'],
  },
  'trade ids are out of order': {
    sql: `update trades set trade_id = 9007199254740991 where trade_id = (select min(trade_id) from trades)`,
    seenBy: ['trade ids rise', 'candles are their trades', 'chain of events'],
  },
};

const SEEN_IN_SPANS = [
  'a live order counts a fill too few',
  'a ended order is gone',
  'a late order has another status',
  'a live order has ended, too',
  'deposits are of another account',
  'a trade is gone',
  'a candle of a day is gone',
  'a candle counts what nobody traded',
];

const DAY_MS = 86_400_000;
/** The whole history in two spans, of seven segments and of the others. */
const SPANS: readonly Span[] = [
  { ...WHOLE_HISTORY, to: 7 * SEGMENT - 1 },
  { ...WHOLE_HISTORY, from: 7 * SEGMENT - 1 },
];

describe('ledger check', () => {
  const freshLedger = freshLedgers();
  let ledger: Ledger;
  let databaseUrl: string;

  before(async () => {
    databaseUrl = await freshLedgerDatabase();
    await divide(databaseUrl);
    ledger = openLedger({ databaseUrl });
    const events = seededEvents(44);
    // Some batches end within a segment, others reach over its end.
    for (const size of [7, 100, 40, 3, 250, 64, 150, 186]) await ledger.settlement.settle(events.next(size));
  });

  after(() => ledger.close());

  it('reports nothing for settled events', async () => {
    for (const span of [WHOLE_HISTORY, ...SPANS]) {
      const { sequence, checks } = await ledger.checks.run(() => undefined, [], span);
      expect(sequence).to.equal(800);
      for (const { name, meaning, count, violations } of checks) {
        expect(violations, name).to.deep.equal([]);
        expect(count, name).to.equal(0);
        expect(meaning).to.be.a('string');
      }
    }
  });

  it('plans its lists for reading them whole, like a rebuild', async () => {
    const fractions: unknown[] = [];
    const makePool: MakePool = (config) => {
      const pool = new pg.Pool(config);
      pool.on('connect', (client) => {
        const ask = client.query.bind(client) as (...args: unknown[]) => Promise<pg.QueryResult>;
        client.query = (async (...args: unknown[]) => {
          if (String(args[0]).startsWith('declare'))
            fractions.push((await ask('show cursor_tuple_fraction')).rows[0].cursor_tuple_fraction);
          return ask(...args);
        }) as typeof client.query;
      });
      return pool;
    };
    const noted = openLedger({ databaseUrl, makePool });
    const { sequence } = await noted.settlement.cursor();
    let orders = 0;
    await noted.audit(async (audit) => {
      for await (const chunk of audit.liveOrders('id')) orders += chunk.length;
    });
    for await (const _order of noted.state.liveOrders(sequence)) orders -= 1;
    await noted.close();
    expect({ orders, fractions }).to.deep.equal({ orders: 0, fractions: ['1', '1'] });
  });

  it('names the broken rule only for a row that breaks one', async () => {
    const restore = await remembered(databaseUrl);
    const checked = new Map<string, number[]>();
    const parts = await partsOf((sql, parameters) => query(databaseUrl, sql, parameters), WHOLE_HISTORY);
    const count = async (): Promise<void> => {
      for (const check of [...ORDER_CHECKS, ...TRADE_CHECKS].filter(({ ofPart }) =>
        ofPart?.includes('is_broken'),
      )) {
        let rows = 0;
        for (const text of textsOf(check, WHOLE_HISTORY, parts)) rows += await rowsListed(databaseUrl, text);
        checked.set(check.name, [...(checked.get(check.name) ?? []), rows]);
      }
    };
    await count();
    await query(
      databaseUrl,
      `set session_replication_role = replica;
      update trades set base = base || 'x', base_atoms = base_atoms + 1 where trade_id = (select max(trade_id) from trades);
      update ended_orders set fill_count = fill_count + 1, updated_sequence = updated_sequence + 1, base = base || 'x'
      where id = (select max(maker_order_id) from trades join ended_orders on id = maker_order_id)`,
    );
    await count();
    await restore();
    expect([...checked.keys()]).to.have.lengthOf(5);
    for (const [name, [sound, damaged]] of checked) {
      expect(sound, name).to.equal(0);
      expect(damaged, name).to.be.within(1, 40);
    }
  });

  for (const [name, { sql, seenBy }] of Object.entries(DAMAGE)) {
    it(`reports that ${name}`, async () => {
      const restore = await remembered(databaseUrl);
      await query(databaseUrl, `set session_replication_role = replica; ${sql}`);
      const { checks } = await ledger.checks.run();
      await restore();
      const seen = checks.filter(({ count }) => count > 0);
      expect(seen.map((check) => check.name)).to.deep.equal(seenBy);
      for (const { violations } of seen) {
        expect(violations[0]?.subject).to.match(/\w/);
        expect(violations[0]?.expected).to.not.equal(violations[0]?.found);
        expect(violations[0]?.found).to.be.a('string');
      }
    });
  }

  it('reports in one of two spans what it reports of the whole history', async () => {
    for (const name of SEEN_IN_SPANS) {
      const { sql, seenBy } = DAMAGE[name]!;
      const restore = await remembered(databaseUrl);
      await query(databaseUrl, `set session_replication_role = replica; ${sql}`);
      const seen = new Set<string>();
      for (const span of SPANS)
        for (const check of (await ledger.checks.run(() => undefined, [], span)).checks)
          if (check.count > 0) seen.add(check.name);
      await restore();
      expect([...seen], name).to.have.members(seenBy);
    }
  });

  it('reports each epoch with events that is not noted', async () => {
    const asReplica = 'set session_replication_role = replica;';
    await query(
      databaseUrl,
      `${asReplica} insert into engine_epochs (epoch, server, begun_at)
        select epoch, 'a server', now() from (select epoch from epoch_starts union select epoch from engine_cursor) as all_of_them;
      insert into epoch_starts (epoch, sequence) values (0, 0), (99, 800)`,
    );
    const { checks } = await ledger.checks.run();
    await query(
      databaseUrl,
      `${asReplica} delete from engine_epochs; delete from epoch_starts where epoch in (0, 99)`,
    );
    const { violations } = checks.find(({ name }) => name === 'epochs rise')!;
    expect(violations.map(({ subject }) => subject)).to.deep.equal([
      'engine_cursor epoch',
      'engine_epochs 99',
    ]);
  });

  it('reports that an adoption gave one account what it took from none', async () => {
    const asReplica = 'set session_replication_role = replica;';
    await query(
      databaseUrl,
      `${asReplica} insert into adopted_balances select 'house', sequence, 'ETH', 2, 5, event_time_ms from engine_cursor`,
    );
    const { checks } = await ledger.checks.run();
    await query(databaseUrl, `${asReplica} delete from adopted_balances`);
    const seen = checks.filter(({ count }) => count > 0).map(({ name }) => name);
    expect(seen).to.deep.equal(['adoptions sum to zero', 'chain of events']);
  });

  it('names a view of the entries that is not the one of the release', async () => {
    const { ledger: viewed, databaseUrl: viewedUrl } = await freshLedger();
    const named = async (): Promise<string[]> => {
      const { checks } = await viewed.checks.run();
      return checks.flatMap(({ violations }) => violations.map(({ subject }) => subject));
    };
    expect(await named()).to.deep.equal([]);
    await query(
      viewedUrl,
      `do $$ begin execute 'create or replace view ledger_entries as '
         || replace(pg_get_viewdef('ledger_entries'::regclass), '''house''', '''me'''); end $$`,
    );
    expect(await named()).to.deep.equal(['view ledger_entries']);
  });

  it('reports balances that were kept after another event', async () => {
    const { timeMs } = await ledger.settlement.cursor();
    await ledger.balances.keepDay(timeMs! + DAY_MS);
    const broken = async (): Promise<string[]> => {
      const { checks } = await ledger.checks.run();
      return checks.filter(({ count }) => count > 0).map(({ name }) => name);
    };
    const kept = await broken();
    const damaged =
      'set session_replication_role = replica; update kept_balances set sequence = sequence / 2';
    await query(databaseUrl, damaged);
    const moved = await broken();
    await query(databaseUrl, 'set session_replication_role = replica; delete from kept_balances');
    expect({ kept, moved }).to.deep.equal({ kept: [], moved: ['kept balances follow from entries'] });
  });

  it('names every event that differs, and a batch without links', async () => {
    const { ledger: chained, databaseUrl: chainedUrl } = await freshLedger();
    const deposit = (sequence: number): EngineEvent => ({
      kind: 'credited',
      epoch: 1,
      sequence,
      timeMs: 1_000 * sequence,
      digest: { hex: `${sequence}` },
      wallet: WALLET,
      asset: 'USDC',
      amountAtoms: 5n,
      reference: `deposit ${sequence}`,
    });
    await chained.settlement.settle([1, 2, 3].map(deposit));
    await chained.settlement.settle([3, 4, 5].map(deposit));
    const named = async (): Promise<string[]> => {
      const { checks } = await chained.checks.run();
      return checks.find(({ name }) => name === 'chain of events')!.violations.map(({ subject }) => subject);
    };
    expect(await named()).to.deep.equal([]);
    const changeTimes = (by: string): Promise<unknown> =>
      query(
        chainedUrl,
        `set session_replication_role = replica;
         update movements set time_ms = time_ms ${by} where sequence in (2, 3, 5)`,
      );
    await changeTimes('+ 1');
    expect(await named()).to.include.members(['event 2', 'event 3', 'event 5']);
    await changeTimes('- 1');
    await query(
      chainedUrl,
      'set session_replication_role = replica; delete from chain_links where sequence = 3',
    );
    expect(await named()).to.deep.equal(['chain_links of event 5']);
  });

  it('still reports an order that was changed by hand after its next change', async () => {
    const { ledger: changed, databaseUrl: changedUrl } = await freshLedger();
    // A seed whose first 400 events leave an order that the next 400 change; a few leave none.
    const events = seededEvents(7);
    await changed.settlement.settle(events.next(400));
    const later = events.next(400);
    const touched = later.flatMap((event): string[] => {
      if (event.kind === 'orders_closed') return event.orders.map(({ id }) => id);
      if (event.kind !== 'order_placed') return [];
      return [...event.expired.map(({ id }) => id), ...event.trades.map(({ makerOrderId }) => makerOrderId)];
    });
    const [order] = await query<{ id: string; filled_steps: string }>(
      changedUrl,
      `update live_orders set leverage = coalesce(leverage, 0) + 1
       where id = (select id from live_orders where id in (${touched.map((id) => `'${id}'`)}) limit 1)
       returning id, filled_steps`,
    );
    for (const following of [later, []]) {
      const { checks } = await changed.checks.run();
      const { violations } = checks.find(({ name }) => name === 'chain of events')!;
      expect(violations[0]!.found).to.match(new RegExp(`: order ${order!.id}$`));
      await changed.settlement.settle(following);
    }
    const [after] = await query(
      changedUrl,
      `select closed_sequence > 400 or filled_steps > ${order!.filled_steps} as changed from orders
       where id = '${order!.id}'`,
    );
    expect(after!.changed).to.equal(true);
  });
});
