/** Tests the segments of a ledger: settlement makes them ahead, and rows of all are read as if they were in one table. */

import { expect } from 'chai';
import pg from 'pg';
import type { EngineEvent } from '../../../src/domain/event.ts';
import { type Ledger, LedgerDiverged, openLedger } from '../../../src/ledger/index.ts';
import type { MakePool } from '../../../src/ledger/pools.ts';
import { freshLedgers } from '../../ledger/fresh-ledgers.ts';
import { divide, SEGMENT } from '../../ledger/segmented.ts';
import { contents, query } from '../../ledger/tables.ts';
import { eventually } from '../../support/eventually.ts';
import { seededEvents } from '../../support/seeded-events.ts';

const EVENTS = 1_000;

describe('segments', () => {
  const fresh = freshLedgers();
  const events = seededEvents(11).next(EVENTS);

  const divided = async () => {
    const made = await fresh();
    await divide(made.databaseUrl);
    return made;
  };

  const settleAll = async ({ settlement }: Ledger, step = 90): Promise<void> => {
    for (let at = 0; at < EVENTS; at += step) await settlement.settle(events.slice(at, at + step));
  };

  const refusal = async (attempt: Promise<unknown>): Promise<Error | undefined> =>
    attempt.then(
      () => undefined,
      (error) => error,
    );

  const segmentsOf = (databaseUrl: string) =>
    query<{ number: number; from: number; to: number }>(
      databaseUrl,
      `select number, from_sequence::integer as from, to_sequence::integer as to from segments order by number`,
    );

  it('are made ahead of settlement, one after the other, and hold what one table would', async () => {
    const { ledger, databaseUrl } = await divided();
    const whole = await fresh();
    await settleAll(ledger);
    await settleAll(whole.ledger);
    const together = async (url: string) => {
      // An order that outlives a segment lies in another table.
      const { ended_orders: _ended, late_orders: _late, ...others } = await contents(url);
      return others;
    };
    expect(await together(databaseUrl)).to.deep.equal(await together(whole.databaseUrl));

    const segments = await segmentsOf(databaseUrl);
    const last = Math.floor(EVENTS / SEGMENT) + 1;
    expect(segments).to.deep.equal(
      Array.from({ length: last + 1 }, (_, n) => ({ number: n, from: n * SEGMENT, to: (n + 1) * SEGMENT })),
    );
    expect(await ledger.serverFigures()).to.have.property('segmentsAhead', 1);
    const rows = await query<{ part: string; rows: number }>(
      databaseUrl,
      'select tableoid::regclass::text as part, count(*)::integer as rows from ended_orders group by 1',
    );
    expect(rows.length).to.be.above(10);
    const { checks } = await ledger.checks.run();
    expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
  });

  it('that cannot be made delay the events that need one, and those are settled once they can', async () => {
    const { ledger, databaseUrl } = await divided();
    await query(databaseUrl, 'alter function add_segments rename to lost');
    await ledger.settlement.settle(events.slice(0, 2 * SEGMENT - 1));
    expect(await ledger.serverFigures()).to.have.property('segmentsAhead', 0);
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const error = await refusal(ledger.settlement.settle(events.slice(100, 300)));
      expect(error).to.be.instanceOf(Error).and.not.instanceOf(LedgerDiverged);
      expect(error!.message).to.match(/^no segment has the events: no partition of relation/);
      expect(String(error!.cause)).to.match(/function public.add_segments\(unknown\) does not exist/);
    }
    expect((await ledger.settlement.cursor()).sequence).to.equal(2 * SEGMENT - 1);
    await query(databaseUrl, 'alter function lost rename to add_segments');
    await settleAll(ledger);
    expect((await ledger.settlement.cursor()).sequence).to.equal(EVENTS);
  });

  it('are made anew after Postgres was put back to before them', async () => {
    const { ledger, databaseUrl } = await divided();
    await ledger.settlement.settle(events.slice(0, 50));
    // Events that do not follow have segments made all the same.
    expect(await refusal(ledger.settlement.settle(events.slice(60, 100)))).to.be.instanceOf(LedgerDiverged);
    await query(
      databaseUrl,
      `drop table ${[1, 2].map((n) => `segments.ended_orders_${n}, segments.trades_${n}, segments.chain_links_${n}`)};
       set session_replication_role = replica; delete from segments where number > 0`,
    );
    const next = events.slice(49, 100);
    const error = await refusal(ledger.settlement.settle(next));
    expect(error).to.be.instanceOf(Error).and.not.instanceOf(LedgerDiverged);
    await ledger.settlement.settle(next);
    expect((await ledger.settlement.cursor()).sequence).to.equal(100);
  });

  it('are made by the user of settlement, who may make nothing else', async function () {
    if (process.env.DATABASE_URL) this.skip(); // nobody wants the users on a server of their own
    const { databaseUrl } = await divided();
    const own = Object.assign(new URL(databaseUrl), { username: 'redbook_settlement' }).href;
    const ledger = openLedger({ databaseUrl: own });
    await settleAll(ledger);
    await ledger.close();
    const owners = await query(
      databaseUrl,
      `select distinct pg_get_userbyid(relowner)::text as owner from pg_class
       where relnamespace = 'segments'::regnamespace and relkind = 'r'`,
    );
    expect(owners).to.deep.equal([{ owner: 'redbook_owner' }]);
    for (const [user, sql] of [
      ['redbook_api', 'select add_segments(1000000)'],
      ['redbook_settlement', 'select add_segment(segments) from segments'],
      ['redbook_settlement', 'insert into segments select 99, 5, 6, 7'],
      ['redbook_settlement', 'create table segments.mine (id int)'],
      ['redbook_settlement', 'insert into segments.trades_0 select * from trades'],
    ] as const) {
      const url = Object.assign(new URL(databaseUrl), { username: user }).href;
      expect(await refusal(query(url, sql)), sql).to.have.property('code', '42501');
    }
    const far = await refusal(query(own, 'select add_segments(1000000)'));
    expect(far?.message).to.equal('event 1000000 lies more than 100 segments ahead');
  });

  it('leave no plans with readers for ever: a connection that keeps statements prepared ends', async () => {
    const { databaseUrl } = await fresh();
    const makePool: MakePool = ({ maxLifetimeSeconds, ...config }) =>
      new pg.Pool({ ...config, ...(maxLifetimeSeconds && { maxLifetimeSeconds: 1 }) });
    const ledger = openLedger({ databaseUrl, makePool, poolSize: 1 });
    const readers = async (): Promise<number[]> => {
      await ledger.trades.ofMarket('ETH/USDC', { limit: 1 });
      const rows = await query<{ pid: number }>(
        databaseUrl,
        `select pid from pg_stat_activity
         where datname = current_database() and application_name = 'redbook public'`,
      );
      return rows.map(({ pid }) => pid);
    };
    const [first] = await readers();
    await eventually('another connection', async () => !(await readers()).includes(first!));
    await ledger.close();
  });

  it('reject every change of their rows', async () => {
    const { ledger, databaseUrl } = await divided();
    await settleAll(ledger);
    for (const table of ['ended_orders', 'trades', 'chain_links'])
      for (const change of ['delete from', 'truncate']) {
        const error = await refusal(query(databaseUrl, `${change} segments.${table}_3`));
        expect(error, `${change} ${table}`).to.have.property('code', '23001');
      }
  });

  it('let no client order id be used in two of them', async () => {
    const { ledger, databaseUrl } = await divided();
    await settleAll(ledger);
    const [row] = await query<{ id: string }>(
      databaseUrl,
      'select id from ended_orders where client_order_id is not null order by sequence limit 1',
    );
    const used = events.find((event) => event.kind === 'order_placed' && event.order.id === row!.id)!;
    if (used.kind !== 'order_placed') throw new Error('no order');
    const { epoch, timeMs } = events.at(-1)!;
    const sequence = EVENTS + 1;
    const again: EngineEvent = {
      kind: 'order_placed',
      epoch,
      timeMs,
      sequence,
      digest: { hex: 'again' },
      order: { ...used.order, id: 'again', sequence },
      status: 'rejected',
      filledSteps: 0n,
      trades: [],
      expired: [],
      reason: 'FOK_NOT_FILLED',
    };
    const error = await refusal(ledger.settlement.settle([again]));
    expect(error)
      .to.be.instanceOf(LedgerDiverged)
      .with.property('message')
      .that.matches(/client order id/);
  });

  it('have ids that a reconcile finds twice', async () => {
    const { ledger, databaseUrl } = await divided();
    await settleAll(ledger);
    await query(
      databaseUrl,
      `set session_replication_role = replica;
       update ended_orders set (wallet, client_order_id) = (select wallet, client_order_id from ended_orders
         where client_order_id is not null order by sequence limit 1)
       where id = (select id from ended_orders order by sequence desc limit 1);
       update trades set trade_id = (select min(trade_id) from trades) where trade_id = (select max(trade_id) from trades)`,
    );
    const { checks } = await ledger.checks.run();
    const broken = checks.filter(({ count }) => count > 0).map(({ name }) => name);
    expect(broken).to.include.members(['orders are in one table', 'trade ids rise']);
  });

  it('are as wide as a day of events, as a power of two within bounds', async () => {
    const { databaseUrl } = await fresh();
    const widthAfter = async (settled: number, hours: number, last = 2 ** 22): Promise<number> => {
      await query(databaseUrl, `update engine_cursor set sequence = ${settled}`);
      const [found] = await query<{ width: number }>(
        databaseUrl,
        `select segment_width(row(1, 0, ${last}, 0, clock_timestamp() - interval '${hours} hours')::segments)::float8 as width`,
      );
      return found!.width;
    };
    expect(await widthAfter(0, 1)).to.equal(2 ** 22);
    // 100 orders and cancels each a second make 17 million events a day.
    expect(await widthAfter(200 * 3_600 * 24, 24, 2 ** 26)).to.equal(2 ** 24);
    expect(await widthAfter(10 ** 6, 1)).to.equal(2 ** 24);
    expect(await widthAfter(10 ** 7, 1)).to.equal(2 ** 26);
  });

  describe('that are not as the release makes them', () => {
    let made: { readonly ledger: Ledger; readonly databaseUrl: string };
    before(async () => {
      made = await divided();
      await settleAll(made.ledger);
    });

    const CHANGES: Readonly<Record<string, readonly [does: string, undoes: string, named: string]>> = {
      'a segment that was taken out': [
        'alter table trades detach partition segments.trades_3',
        'alter table trades attach partition segments.trades_3 for values from (192) to (256)',
        'segment 3 of trades',
      ],
      'a guard that is gone': [
        'drop trigger append_only on segments.ended_orders_2',
        `create trigger append_only before update or delete or truncate on segments.ended_orders_2
         for each statement execute function refuse_change()`,
        'trigger append_only on segments.ended_orders_2',
      ],
      'a key that is gone': [
        'alter table segments.trades_5 drop constraint trades_5_pkey',
        'alter table segments.trades_5 add primary key (trade_id)',
        'index trades_5_pkey on segments.trades_5',
      ],
      'a further segment': [
        `create table segments.trades_99 partition of trades for values from (100000) to (100100)`,
        'drop table segments.trades_99',
        'table segments.trades_99',
      ],
      'a row of another range': [
        `set session_replication_role = replica; update segments set to_sequence = 200 where number = 2`,
        `set session_replication_role = replica; update segments set to_sequence = 192 where number = 2`,
        'segment 2 of ended_orders',
      ],
      'a right to write': [
        'grant insert on segments.trades_1 to public',
        'revoke insert on segments.trades_1 from public',
        'rights on segments.trades_1',
      ],
    };
    for (const [name, [does, undoes, named]] of Object.entries(CHANGES))
      it(`are named by a reconcile: ${name}`, async () => {
        await query(made.databaseUrl, does);
        const { checks } = await made.ledger.checks.run();
        await query(made.databaseUrl, undoes);
        const subjects = checks.flatMap(({ violations }) => violations.map(({ subject }) => subject));
        expect(subjects).to.include(named);
      });

    it('and nothing once they are put back', async () => {
      const { checks } = await made.ledger.checks.run();
      expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
    });
  });
});
