/** Tests the seals of segments: what is sealed, what is read again, and what a reconcile of sealed segments names. */

import { expect } from 'chai';
import { type Extent, type Ledger, type LedgerCheckpoint, openLedger } from '../../../src/ledger/index.ts';
import { divide, SEGMENT } from '../../ledger/segmented.ts';
import { query, remembered } from '../../ledger/tables.ts';
import { seededEvents } from '../../support/seeded-events.ts';
import { freshLedgerDatabase } from '../../support/servers.ts';

const EVENTS = 400;
/** Segments that lie before the last event. */
const CLOSED = Math.floor(EVENTS / SEGMENT);

const KEPT = ['seals', 'scrubs', 'kept_balances', 'adopted_fills'];

interface Run {
  readonly extent?: Extent;
  readonly scrubDays?: number;
  readonly isSound?: boolean;
  readonly noted?: readonly LedgerCheckpoint[];
  readonly onCheck?: (name: string) => void;
  /** False for a run that is killed before its result is noted. */
  readonly isEnding?: boolean;
}

const FINISHED = { sequence: 0, checks: 1, differences: 0, failedChecks: [] };

const STEP_MS = 1_800_000;

/** Returns a part of an event with its times moved by half an hour for each event, so that a segment has a midnight. */
function spread<Value>(value: Value, byMs: number): Value {
  if (Array.isArray(value)) return value.map((one) => spread(one, byMs)) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      typeof one === 'number' && /^timeMs$|AtMs$/.test(name) ? one + byMs : spread(one, byMs),
    ]),
  ) as Value;
}

describe('seals', () => {
  let ledger: Ledger;
  let databaseUrl: string;
  const opened: Ledger[] = [];

  const settled = async (events: number): Promise<void> => {
    databaseUrl = await freshLedgerDatabase();
    await divide(databaseUrl);
    ledger = openLedger({ databaseUrl });
    opened.push(ledger);
    const source = seededEvents(44);
    for (let left = events; left > 0; left -= 100)
      await ledger.settlement.settle(
        source.next(Math.min(left, 100)).map((event) => spread(event, event.sequence * STEP_MS)),
      );
  };

  after(async () => {
    for (const one of opened) await one.close();
  });

  const ask = <Row extends object>(sql: string): Promise<Row[]> => query(databaseUrl, sql) as Promise<Row[]>;
  const changed = (sql: string): Promise<unknown> => ask(`set session_replication_role = replica; ${sql}`);

  const run = async ({ extent = 'night', scrubDays = 1, isSound = true, noted = [], ...rest }: Run = {}) => {
    const { onCheck = () => undefined, isEnding = true } = rest;
    const result = await ledger.checks.reconcile({ onCheck, noted, extent, scrubDays, isSound });
    if (isEnding) await ledger.checks.noteReconcile(FINISHED);
    return result;
  };

  /** Names and subjects of all differences. */
  const differences = async (options?: Run): Promise<string[]> =>
    (await run(options)).checks.flatMap(({ name, violations }) =>
      violations.map(({ subject }) => `${name}: ${subject}`),
    );

  const seals = () =>
    ask<{ segment: number; tables: Record<string, { rows: number; digest: string }>; digest: string }>(
      `select segment, tables, encode(digest, 'hex') as digest from seals order by segment`,
    );

  describe('of a ledger', () => {
    before(() => settled(EVENTS));

    it('are made of each segment before the last event, once everything holds', async () => {
      await run({ isSound: false });
      expect(await seals()).to.deep.equal([]);
      await changed(
        'update trades set fee_atoms = fee_atoms + 1 where trade_id = (select min(trade_id) from trades)',
      );
      expect((await differences()).join()).to.match(/chain of events: event \d+/);
      expect(await seals()).to.deep.equal([]);
      await changed(
        'update trades set fee_atoms = fee_atoms - 1 where trade_id = (select min(trade_id) from trades)',
      );
      expect(await differences()).to.deep.equal([]);
      const made = await seals();
      expect(made.map(({ segment }) => segment)).to.deep.equal(Array.from({ length: CLOSED }, (_, at) => at));
      const [counted] = await ask<Record<string, number>>(`
        select (select count(*) from trades where sequence < ${CLOSED * SEGMENT})::integer as trades,
          (select count(*) from ended_orders where sequence < ${CLOSED * SEGMENT})::integer as ended_orders,
          (select count(*) from movements where sequence < ${CLOSED * SEGMENT})::integer as movements`);
      for (const [table, rows] of Object.entries(counted!))
        expect(
          made.reduce((sum, { tables }) => sum + tables[table]!.rows, 0),
          table,
        ).to.equal(rows);
      expect(await differences(), 'a second run').to.deep.equal([]);
      expect(await seals()).to.deep.equal(made);
    });

    it('leave only what follows them to full checks, unless all or one by chance is asked for', async () => {
      const full = async (extent: Extent): Promise<string[]> => {
        const names: string[] = [];
        await run({ extent, onCheck: (name) => names.push(name) });
        return names.filter((name) => name.startsWith('trades fit their orders'));
      };
      expect(await full('night')).to.deep.equal(['trades fit their orders']);
      expect((await full('week')).filter((name) => name.includes('segment'))).to.have.lengthOf(1);
      expect(await full('all')).to.deep.equal(['trades fit their orders']);
      const last = await ledger.checks.run();
      const all = await run({ extent: 'all' });
      expect(all.checks.map(({ name }) => name)).to.include.members(last.checks.map(({ name }) => name));
    });

    it('give the balances from which those of all accounts follow', async () => {
      const accounts = (isWhole: boolean): Promise<string[]> =>
        ledger.audit(async (audit) => {
          const found: string[] = [];
          for await (const chunk of audit.accounts())
            for (const { asset, account, atoms, reservedAtoms } of chunk)
              if (atoms !== 0n || reservedAtoms !== 0n)
                found.push([asset, account, atoms, reservedAtoms].join(' '));
          return found.sort();
        }, isWhole);
      const whole = await accounts(true);
      expect(whole.length).to.be.above(10);
      expect(await accounts(false)).to.deep.equal(whole);
      const restore = await remembered(databaseUrl, KEPT);
      await changed(
        `update kept_balances set total_atoms = total_atoms + 1 where sequence = ${CLOSED * SEGMENT - 1}`,
      );
      const follow = await accounts(false);
      await restore();
      expect(follow).not.to.deep.equal(whole);
    });

    it('are what a checkpoint noted, as far as it has them', async () => {
      const noted = [await ledger.checks.checkpoint()];
      expect(await differences({ noted })).to.deep.equal([]);
      const restore = await remembered(databaseUrl, KEPT);
      await changed(
        `delete from seals where segment = ${CLOSED - 1}; delete from scrubs where segment = ${CLOSED - 1}`,
      );
      const told = await differences({ noted });
      await restore();
      expect(told).to.deep.equal([
        `records of the checkpoint: seals up to the checkpoint of event ${EVENTS}`,
      ]);
    });

    /** Changes of rows of sealed segments, by the tables whose digests tell. */
    const CHANGES: Readonly<Record<string, string>> = {
      trades: `insert into trades select (jsonb_populate_record(trades, '{"trade_id": 9007199254740000}')).* from trades
        where trade_id = (select min(trade_id) from trades)`,
      ended_orders: `update ended_orders set size_steps = size_steps + 1
        where id = (select min(id) from ended_orders where sequence < 300)`,
      late_orders: `update late_orders set leverage = coalesce(leverage, 1) + 1
        where id = (select min(id) from late_orders where closed_sequence < 300)`,
      // A live order, as it was placed.
      placed_orders: `update live_orders set leverage = coalesce(leverage, 1) + 1
        where id = (select id from live_orders order by sequence limit 1)`,
      movements: 'delete from movements where sequence = (select min(sequence) from movements)',
      chain_links: `update chain_links set links = 'x' || substr(links, 2)
        where sequence = (select min(sequence) from chain_links)`,
      chain_heads: `insert into chain_heads values (5, 'x')`,
      epoch_starts: 'update epoch_starts set epoch = epoch + 1000 where sequence < 300',
      setting_changes: `insert into setting_changes values (7, 'terms_required', null, '5', 1)`,
      market_versions: 'update market_versions set time_ms = time_ms + 1 where sequence < 10',
      operator_acts: `update operator_acts set reason = 'another' where sequence = (select min(sequence) from operator_acts)`,
      adopted_fills: `insert into adopted_fills values ('an order', 9, 1, 1)`,
      candles:
        'update candles set volume_steps = volume_steps + 1 where open_ms = (select min(open_ms) from candles)',
      kept_balances: `update kept_balances set total_atoms = total_atoms + 1 where sequence = ${SEGMENT - 1}`,
    };

    it('name the table and the segment of each row that differs', async () => {
      const restore = await remembered(databaseUrl, KEPT);
      for (const change of Object.values(CHANGES)) await changed(change);
      const told = await differences();
      await restore();
      for (const table of Object.keys(CHANGES))
        expect(told.join('\n')).to.match(new RegExp(`sealed rows are as sealed: ${table} of segment \\d`));
    });

    it('name the event of a row that differs', async () => {
      for (const [change, named] of [
        [CHANGES.movements!, /chain of events: event \d+/],
        [CHANGES.kept_balances!, /kept balances follow from entries: balances after event 63/],
      ] as const) {
        const restore = await remembered(databaseUrl, KEPT);
        await changed(change);
        const told = await differences();
        await restore();
        expect(told.join('\n')).to.match(named);
      }
    });

    it('name a seal that is another one or gone', async () => {
      const restore = await remembered(databaseUrl, KEPT);
      await changed(`update seals set tables = jsonb_set(tables, '{trades,rows}', '7') where segment = 3;
        delete from seals where segment = 1`);
      const told = await differences();
      await restore();
      const named = [1, 2, 3].map(
        (segment) =>
          `seals follow from each other: ${segment === 1 ? 'scrubs of segment' : 'seals'} ${segment}`,
      );
      expect(told).to.include.members([...named, 'sealed rows are as sealed: trades of segment 3']);
    });

    it('name nothing once it is put back, and nothing where all is read', async () => {
      expect(await differences()).to.deep.equal([]);
      expect(await differences({ extent: 'all' })).to.deep.equal([]);
    });
  });

  describe('of segments that are read again', () => {
    before(() => settled(EVENTS));

    const read = async (): Promise<number[]> => {
      const rows = await ask<{ segment: number }>('select segment from scrubs order by read_at');
      return rows.map(({ segment }) => segment);
    };

    it('are read by a share in each run, in an order that chance gives, and each in time', async () => {
      await run({ scrubDays: 30 });
      expect(await read(), 'drawn by chance').to.have.lengthOf(1);
      const orders = new Set<string>();
      for (let night = 0; night < 4; night += 1) {
        await changed('delete from scrubs');
        await run({ scrubDays: 3 });
        const drawn = await read();
        expect(drawn).to.have.lengthOf(CLOSED / 3);
        orders.add(drawn.join());
      }
      expect(orders.size).to.be.above(1);
      await changed(
        `delete from scrubs; insert into scrubs select segment, now() - interval '2 days', true from seals;
         update seals set sealed_at = sealed_at - interval '9 days'`,
      );
      const due = (await run({ scrubDays: 3 })).checks.find(
        ({ name }) => name === 'sealed rows are as sealed',
      );
      expect(due).to.include({ compared: `${CLOSED} of ${CLOSED} sealed segments`, count: 0 });
    });

    it('are not read again by the run after one that was killed, and one that differed is read in each run', async () => {
      await settled(EVENTS);
      await run({ scrubDays: 30, isEnding: false });
      const [first] = await read();
      await run({ scrubDays: 30 });
      expect(await read()).to.deep.equal([first]);
      await changed(
        'update trades set fee_atoms = fee_atoms + 1 where trade_id = (select min(trade_id) from trades)',
      );
      await changed(`delete from scrubs; insert into scrubs values (0, now(), false)`);
      for (let night = 0; night < 2; night += 1) {
        const told = await differences({ scrubDays: 30 });
        expect(told.join()).to.match(/trades of segment/);
      }
    });
  });

  it('go on after a run that was killed between two of them', async () => {
    await settled(EVENTS);
    const killed = new Error('killed');
    const error = await run({
      onCheck: (name) => {
        if (name === 'chain of events, in segment 5') throw killed;
      },
    }).catch((one: unknown) => one);
    expect(error).to.equal(killed);
    expect(await seals()).to.have.lengthOf(5);
    const names: string[] = [];
    expect((await run({ onCheck: (name) => names.push(name) })).isEnded).to.equal(false);
    expect(names).not.to.include('chain of events, in segment 4');
    expect(await seals()).to.have.lengthOf(CLOSED);
  });

  it('are made by one of two runs at the same time', async () => {
    await settled(EVENTS);
    const both = await Promise.all([run(), run()]);
    for (const { checks } of both) expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
    expect(await differences()).to.deep.equal([]);
    expect(await seals()).to.have.lengthOf(CLOSED);
  });
});
