/** Tests where an ended order lies: in the segment of its placement if it ended there, else among the late orders. */

import { expect } from 'chai';
import type { EngineEvent } from '../../../src/domain/event.ts';
import { KIND } from '../../../src/domain/order-life.ts';
import type { Ledger, StatementPage, StatementPosition } from '../../../src/ledger/index.ts';
import { freshLedgers } from '../../ledger/fresh-ledgers.ts';
import { divide } from '../../ledger/segmented.ts';
import { contents, query, remembered } from '../../ledger/tables.ts';
import { eventually } from '../../support/eventually.ts';
import { seededEvents, WALLETS } from '../../support/seeded-events.ts';

const EVENTS = 800;
/** Events of a segment: many orders live through several. */
const SEGMENT = 16;
const STEP = 25;
const PAGE = 50;
const NO_LIMIT = 1_000_000;

describe('orders that outlive their segment', () => {
  const fresh = freshLedgers();
  const events = seededEvents(27).next(EVENTS);
  const divided = async () => {
    const made = await fresh();
    await divide(made.databaseUrl, SEGMENT);
    return made;
  };
  const settleFrom = async ({ settlement }: Ledger, onBatch = async () => {}, step = STEP): Promise<void> => {
    for (let at = (await settlement.cursor()).sequence; at < EVENTS; at += step) {
      await settlement.settle(events.slice(Math.max(0, at - 1), at + step));
      await onBatch();
    }
  };

  let whole: Awaited<ReturnType<typeof fresh>>;
  let narrow: Awaited<ReturnType<typeof fresh>>;
  before(async () => {
    [whole, narrow] = [await fresh(), await divided()];
    await settleFrom(whole.ledger);
    await settleFrom(narrow.ledger);
  });

  const rows = async <Row extends object>(sql: string): Promise<Row[]> => query(narrow.databaseUrl, sql);

  it('are those of the late orders, and no others', async () => {
    const misplaced = await rows(
      `select id, sequence, closed_sequence from late_orders where sequence / ${SEGMENT} = closed_sequence / ${SEGMENT}
       union all
       select id, sequence, closed_sequence from ended_orders where sequence / ${SEGMENT} <> closed_sequence / ${SEGMENT}`,
    );
    expect(misplaced).to.deep.equal([]);
    const [all] = await query<{ late: string }>(
      whole.databaseUrl,
      'select count(*) as late from late_orders',
    );
    expect(all!.late).to.equal('0');
  });

  it('are there in each form', async () => {
    const [found] = await rows<Record<string, number>>(`
      with late as (
        select *, closed_sequence / ${SEGMENT} - sequence / ${SEGMENT} as outlived,
          (select count(distinct trades.sequence / ${SEGMENT}) from trades
           where maker_order_id = late_orders.id or trades.sequence = late_orders.sequence) as filled_in,
          (closed_sequence - 1) / ${STEP} = (sequence - 1) / ${STEP} as of_one_batch
        from late_orders)
      select count(*) filter (where outlived = 1)::integer as one,
        count(*) filter (where outlived = 2)::integer as two,
        count(*) filter (where outlived > 9)::integer as many,
        count(*) filter (where filled_in > 1)::integer as "filled in several",
        count(*) filter (where closed_sequence % ${SEGMENT} = 0)::integer as "ended by the first event of a segment",
        count(*) filter (where closed_sequence % ${SEGMENT} = ${SEGMENT - 1})::integer as "ended by the last event of a segment",
        count(*) filter (where status = 'filled')::integer as filled,
        count(*) filter (where status = 'cancelled')::integer as cancelled,
        count(*) filter (where reason = 'replaced')::integer as replaced,
        count(*) filter (where of_one_batch)::integer as "of one batch",
        count(*) filter (where client_order_id is not null)::integer as named
      from late`);
    for (const [form, count] of Object.entries(found!)) expect(count, form).to.be.above(0);
  });

  it('are answered as in a ledger of one segment', async () => {
    const answers = async ({ ledger, databaseUrl }: typeof whole): Promise<unknown[]> => {
      const orders = await query<{ id: string; wallet: string; named: string | null }>(
        databaseUrl,
        'select id, wallet, client_order_id as named from orders order by id',
      );
      const all: unknown[] = [];
      for (const { id, wallet, named } of orders) {
        all.push(await ledger.orders.byId(wallet, id, PAGE));
        if (named !== null) all.push(await ledger.orders.idByClientId(wallet, named));
      }
      for (const wallet of WALLETS) all.push(...(await answersOf(ledger, wallet)));
      for (const { timeMs } of events.filter((_event, at) => at % 300 === 0)) {
        const balances = [];
        for await (const balance of ledger.balances.at(timeMs)) balances.push(balance);
        all.push(balances);
      }
      for (let sequence = 100; sequence < EVENTS; sequence += 400) {
        const live = [];
        for await (const order of ledger.state.liveOrders(sequence)) live.push(order);
        all.push(live);
      }
      return [...all, ...(await booksOf(ledger))];
    };
    expect(await answers(narrow)).to.deep.equal(await answers(whole));
  });

  async function answersOf(ledger: Ledger, wallet: string): Promise<unknown[]> {
    const all: unknown[] = [];
    const markets = [undefined, 'ETH/USDC'];
    for (const status of [undefined, 'live', 'closed'] as const)
      for (const direction of ['asc', 'desc'] as const)
        for (const market of markets) {
          for (let place: number | undefined; ; ) {
            const bound = direction === 'asc' ? { afterSequence: place } : { beforeSequence: place };
            const fills = { maxFillsPerOrder: 5, maxFillsPerReply: 40, orders: PAGE };
            const page = await ledger.orders.ofWallet(wallet, {
              status,
              direction,
              market,
              limit: PAGE,
              fills,
              ...bound,
            });
            all.push(page.orders);
            if (page.orders.length < PAGE) break;
            place = page.orders.at(-1)!.sequence;
          }
        }
    const span = { sinceMs: events[200]!.timeMs, untilMs: events[600]!.timeMs };
    all.push(await ledger.orders.ofWallet(wallet, { span, limit: NO_LIMIT }));
    all.push(await ledger.trades.ofWallet(wallet, { span, limit: NO_LIMIT }));
    for (let after = { sequence: 0, kind: KIND.filled as number, key: 0 }; ; ) {
      const page = await ledger.changes.ofWallet(wallet, { after, limit: PAGE, maxFills: 3, orderIds: [] });
      all.push(
        page.changes,
        page.orders.toSorted((one, other) => one.sequence - other.sequence),
      );
      const last = page.changes.at(-1);
      if (last === undefined) break;
      after = { sequence: last.sequence, kind: last.kind, key: last.key };
    }
    const statement = { wallet, fromMs: span.sinceMs, toMs: span.untilMs };
    const whole = { wallet, fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
    for (const [asked, limit] of [
      [statement, NO_LIMIT],
      [statement, 7],
      [whole, PAGE],
    ] as const)
      for (const read of [ledger.statements.page, ledger.statements.newestPage])
        for (let place: StatementPosition | null = null; ; ) {
          const { settled: _settled, ...stated }: StatementPage = await read(asked, place, limit);
          all.push(stated);
          place = stated.next;
          if (place === null) break;
        }
    return all;
  }

  async function booksOf({ journal, turnover, closings }: Ledger): Promise<unknown[]> {
    const all: unknown[] = [];
    const times = [0, events[150]!.timeMs, events[500]!.timeMs, Number.MAX_SAFE_INTEGER];
    for (const fromMs of times)
      for (const toMs of times) {
        const span = { fromMs, toMs };
        for await (const entry of journal.entries(span)) all.push(entry);
        for await (const movement of journal.movements(span)) all.push(movement);
        for await (const fees of turnover.fees(span, ['day', 'wallet'])) all.push(fees);
        for await (const volumes of turnover.volumes(span, ['market'])) all.push(volumes);
      }
    for (const timeMs of times) all.push(await closings.firstBookedAt(timeMs));
    return all;
  }

  it('hold a reconcile, and count among its orders', async () => {
    const { checks } = await narrow.ledger.checks.run();
    expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
  });

  it('change no row of a segment whose events are settled', async () => {
    const { ledger, databaseUrl } = await divided();
    const final = new Map<string, string>();
    await settleFrom(ledger, async () => {
      const past = await pastSegments(databaseUrl);
      const digests = await digestsOf(
        databaseUrl,
        past.filter((relation) => !final.has(relation)),
      );
      for (const [relation, digest] of digests) final.set(relation, digest);
    });
    expect(final.size).to.equal(3 * Math.floor((EVENTS + 1) / SEGMENT));
    expect(await digestsOf(databaseUrl, [...final.keys()])).to.deep.equal(final);
  });

  /** Returns the tables of each segment of which all events are settled. */
  const pastSegments = async (databaseUrl: string): Promise<string[]> => {
    const past = await query<{ relation: string }>(
      databaseUrl,
      `select format('segments.%s_%s', parent, number) as relation
       from segments cross join unnest(array['ended_orders', 'trades', 'chain_links']) as parent
       where to_sequence <= (select sequence + 1 from engine_cursor)`,
    );
    return past.map(({ relation }) => relation);
  };

  /** Returns digests of the rows of tables, with the place and the transaction of each row. */
  async function digestsOf(databaseUrl: string, relations: readonly string[]): Promise<Map<string, string>> {
    if (relations.length === 0) return new Map();
    const digests = await query<{ relation: string; digest: string }>(
      databaseUrl,
      relations
        .map(
          (relation) =>
            `select '${relation}' as relation, md5(coalesce(string_agg(concat(ctid, xmin, part), '|' order by ctid), '')) as digest
             from ${relation} as part`,
        )
        .join(' union all '),
    );
    return new Map(digests.map(({ relation, digest }) => [relation, digest]));
  }

  it('are the same whatever batches they were settled in', async () => {
    const { ledger, databaseUrl } = await divided();
    await settleFrom(ledger, undefined, 700);
    expect(await contents(databaseUrl)).to.deep.equal(await contents(narrow.databaseUrl));
  });

  it('let no client order id be used again', async () => {
    const { epoch, timeMs } = events.at(-1)!;
    const [late] = await rows<{ id: string }>(
      'select id from late_orders where client_order_id is not null order by id limit 1',
    );
    const placed = events.find((event) => event.kind === 'order_placed' && event.order.id === late!.id)!;
    if (placed.kind !== 'order_placed') throw new Error('no order');
    const again = (status: 'resting' | 'rejected'): EngineEvent => ({
      kind: 'order_placed',
      epoch,
      timeMs,
      sequence: EVENTS + 1,
      digest: { hex: 'again' },
      order: { ...placed.order, id: 'again', sequence: EVENTS + 1 },
      status,
      filledSteps: 0n,
      trades: [],
      expired: [],
      reason: status === 'rejected' ? 'FOK_NOT_FILLED' : null,
    });
    for (const status of ['resting', 'rejected'] as const) {
      let error: unknown;
      // While the connection of the failed batch before has the lock of settlement, nothing is settled.
      await eventually(`a batch with a used id is refused: ${status}`, async () => {
        error = await narrow.ledger.settlement.settle([again(status)]).catch((thrown: unknown) => thrown);
        return error instanceof Error;
      });
      expect((error as Error).message, status).to.match(/have the client order id/);
    }
  });

  const MISPLACED: Readonly<Record<string, string>> = {
    'a late order lies in the segment of its placement': `with moved as (delete from late_orders where id = (select min(id) from late_orders) returning *)
      insert into ended_orders select * from moved`,
    'an order that ended in its segment lies among the late ones': `with moved as (delete from ended_orders where id = (select min(id) from ended_orders) returning *)
      insert into late_orders select * from moved`,
    'an order lies in both tables': `insert into ended_orders select * from late_orders where id = (select min(id) from late_orders)`,
    'a late order is live, too': `insert into live_orders select (jsonb_populate_record(late_orders,
      '{"status": "resting", "reason": null, "closed_sequence": null}')).* from late_orders
      where id = (select min(id) from late_orders where status = 'cancelled')`,
    'a late order has the client order id of an ended one': `update late_orders set (wallet, client_order_id) = (
      select wallet, client_order_id from ended_orders where client_order_id is not null order by id limit 1)
      where id = (select min(id) from late_orders)`,
  };
  for (const [name, sql] of Object.entries(MISPLACED))
    it(`are named by a reconcile if ${name}`, async () => {
      const restore = await remembered(narrow.databaseUrl);
      await query(narrow.databaseUrl, `set session_replication_role = replica; ${sql}`);
      const { checks } = await narrow.ledger.checks.run();
      await restore();
      const broken = checks.filter(({ count }) => count > 0).map((check) => check.name);
      expect(broken).to.include('orders are in one table');
    });
});
