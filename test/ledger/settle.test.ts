/** Proves that settlement writes each event once and in order, however batches are split or repeated. */

import { expect } from 'chai';
import pg from 'pg';
import type { Cursor, EngineEvent } from '../../src/domain/event.ts';
import { type Ledger, LedgerDiverged, openLedger, type PreparedBatch } from '../../src/ledger/index.ts';
import { random, runSeed } from '../support/seed.ts';
import { seededEvents, WALLETS } from '../support/seeded-events.ts';
import { freshLedgers } from './fresh-ledgers.ts';
import { divide } from './segmented.ts';
import { contents, query, WRITTEN_TABLES } from './tables.ts';

describe('settle', () => {
  const freshLedger = freshLedgers();

  /** A ledger whose orders often outlive their segment. */
  const dividedLedger = async (events?: number) => {
    const made = await freshLedger();
    await divide(made.databaseUrl, events);
    return made;
  };

  const refusal = async (attempt: Promise<unknown>): Promise<unknown> =>
    attempt.then(
      () => undefined,
      (error) => error,
    );

  /** Events of the run's seed, and a ledger that has settled them in one batch. */
  const settledAtOnce = async () => {
    const seed = runSeed();
    const events = seededEvents(seed).next(3_000);
    const whole = await dividedLedger();
    await whole.ledger.settlement.settle(events);
    return { dice: random(seed), events, whole };
  };

  it('writes the same tables however events are split, repeated and overlapped', async () => {
    const { dice, events, whole } = await settledAtOnce();

    const split = await dividedLedger();
    let settled = 0;
    while (settled < events.length) {
      const from = Math.max(0, settled - dice.below(20));
      const cursor = await split.ledger.settlement.settle(events.slice(from, settled + dice.below(60)));
      settled = cursor.sequence;
    }
    await split.ledger.settlement.settle(events);

    expect(await contents(split.databaseUrl)).to.deep.equal(await contents(whole.databaseUrl));
    const trades = await query<{ count: bigint }>(whole.databaseUrl, 'select count(*) from trades');
    expect(Number(trades[0]?.count)).to.be.above(500);
    const { checks } = await split.ledger.checks.run();
    expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
    const [fills] = await query<{ max: bigint }>(
      split.databaseUrl,
      'select max(fill_count) as max from orders',
    );
    expect(Number(fills?.max)).to.be.above(2);
  });

  it('writes the same tables from prepared batches, whatever other processes settle meanwhile', async () => {
    const { dice, events, whole } = await settledAtOnce();

    const { ledger, databaseUrl } = await dividedLedger();
    const { settlement } = ledger;
    /** Settles some events as another process would, at any moment. */
    const others = async (): Promise<void> => {
      const { sequence } = await settlement.cursor();
      await settlement.settle(events.slice(Math.max(0, sequence - 1), sequence + dice.below(30)));
    };
    const prepared = async (after: Cursor, before?: PreparedBatch) => {
      const ahead = events.slice(Math.max(0, after.sequence - 1), after.sequence + 1 + dice.below(60));
      return { ahead, batch: await settlement.prepare(after, ahead, before) };
    };
    const counts = { written: 0, refused: 0 };
    for (let cursor: Cursor = await settlement.cursor(); cursor.sequence < 3_000; ) {
      let now = await prepared(cursor);
      // A chain of batches, each prepared while the one before it is settled.
      for (let length = 1 + dice.below(12); length > 0 && now.ahead.length > 1; length -= 1) {
        const disturbed = dice.chance(0.2) ? others() : undefined;
        const settling = settlement.settle(now.ahead, { prepared: now.batch, flush: dice.chance(0.5) });
        const next = await prepared(now.ahead.at(-1)!, dice.chance(0.9) ? now.batch : undefined);
        const [settled] = await Promise.all([settling, disturbed]);
        if (settled.sequence < now.ahead.at(-1)!.sequence) break; // another one had the lock
        if (dice.chance(0.1)) await others();
        if (now.batch !== undefined) counts[now.batch.isWritten ? 'written' : 'refused'] += 1;
        now = next;
      }
      cursor = await settlement.cursor();
    }

    expect(await contents(databaseUrl)).to.deep.equal(await contents(whole.databaseUrl));
    expect(counts.written, JSON.stringify(counts)).to.be.above(20);
    expect(counts.refused, JSON.stringify(counts)).to.be.above(5);
  });

  it('prepares batches again when they were based on older orders, and those after them', async () => {
    const { dice, events, whole } = await settledAtOnce();

    const { ledger, databaseUrl } = await dividedLedger();
    const { settlement } = ledger;
    const counts = { stale: 0, next: 0 };
    await settlement.settle(events.slice(0, 50));
    for (let { sequence } = await settlement.cursor(); sequence < 3_000; ) {
      const [first, second, third] = [10, 15, 15].map((max) => {
        const from = sequence;
        sequence = Math.min(3_000, sequence + 1 + dice.below(max));
        return events.slice(from - 1, sequence);
      });
      const stale = await settlement.prepare(first!.at(-1)!, second!);
      await settlement.settle(first!);
      const next = await settlement.prepare(second!.at(-1)!, third!, stale);
      await settlement.settle(second!, { prepared: stale });
      await settlement.settle(third!, { prepared: next });
      expect(stale?.isWritten ?? false).to.equal(false);
      expect(next?.isWritten ?? false).to.equal(false);
      if (stale !== undefined) counts.stale += 1;
      if (next !== undefined) counts.next += 1;
    }
    expect(await contents(databaseUrl)).to.deep.equal(await contents(whole.databaseUrl));
    expect(counts.stale, JSON.stringify(counts)).to.be.above(10);
    expect(counts.next, JSON.stringify(counts)).to.be.above(10);
  });

  it('writes rows that pass every check of a reconcile', async () => {
    const { ledger } = await freshLedger();
    await ledger.settlement.settle(seededEvents(runSeed()).next(3_000));
    const { sequence, checks } = await ledger.checks.run();
    expect(sequence).to.equal(3_000);
    expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
  });

  it('starts empty and moves its cursor with the last event', async () => {
    const { ledger } = await freshLedger();
    expect(await ledger.settlement.cursor()).to.deep.equal({
      epoch: 0,
      sequence: 0,
      digest: null,
      timeMs: null,
      settledAtMs: null,
    });
    expect(await ledger.settlement.settle([])).to.include({ epoch: 0, sequence: 0 });
    const events = seededEvents(1).next(10);
    const last = events.at(-1)!;
    expect(await ledger.settlement.settle(events)).to.deep.equal({
      epoch: last.epoch,
      sequence: 10,
      isFlushed: true,
    });
    expect(await ledger.settlement.cursor()).to.include({
      sequence: 10,
      digest: last.digest.hex,
      timeMs: last.timeMs,
    });
  });

  describe('rejects events that do not follow the cursor:', () => {
    const events = seededEvents(2).next(40);
    const variants: Record<string, () => EngineEvent[]> = {
      'a missing event at the cursor': () => events.slice(21),
      'a missing event within the batch': () => [...events.slice(20, 25), ...events.slice(26)],
      'another content at the cursor': () => [
        { ...events[19]!, digest: { hex: 'other' } },
        ...events.slice(20),
      ],
      'another epoch at the cursor': () => [{ ...events[19]!, epoch: 99 }, ...events.slice(20)],
      'an epoch that goes back': () => [{ ...events[20]!, epoch: 0 }, ...events.slice(21)],
      'the same event twice': () => [events[20]!, events[20]!],
      'the end of an order that is not live': () => [
        {
          ...pick(events[20]!),
          kind: 'orders_closed',
          orders: [
            {
              id: 'unknown',
              wallet: WALLETS[0]!,
              market: 'ETH/USDC',
              clientOrderId: null,
              status: 'cancelled',
              reason: 'user_cancelled',
            },
          ],
        },
      ],
      'a reference that was settled before': () => [
        {
          ...pick(events[20]!),
          kind: 'credited',
          wallet: WALLETS[0]!,
          asset: 'ETH',
          amountAtoms: 1n,
          reference: `opening ${WALLETS[0]} ETH`,
        },
      ],
    };
    const pick = ({ epoch, sequence, timeMs, digest }: EngineEvent) => ({ epoch, sequence, timeMs, digest });

    for (const [name, variant] of Object.entries(variants)) {
      it(name, async () => {
        const { ledger, databaseUrl } = await freshLedger();
        await ledger.settlement.settle(events.slice(0, 20));
        const before = await contents(databaseUrl);
        expect(await refusal(ledger.settlement.settle(variant()))).to.be.instanceOf(LedgerDiverged);
        expect(await contents(databaseUrl)).to.deep.equal(before);
        await ledger.settlement.settle(events.slice(15));
        expect(await ledger.settlement.cursor()).to.include({ sequence: 40 });
      });
    }

    it('a first event that is not number one', async () => {
      const { ledger } = await freshLedger();
      expect(await refusal(ledger.settlement.settle(events.slice(1)))).to.be.instanceOf(LedgerDiverged);
    });
  });

  it('rejects a client order id that another order has, live or ended, in the batch or before', async () => {
    const { ledger, databaseUrl } = await freshLedger();
    const events = seededEvents(2).next(400);
    await ledger.settlement.settle(events);
    const { sequence, epoch, timeMs } = events.at(-1)!;
    const orders = events.filter((event) => event.kind === 'order_placed');
    const firstOf = async (table: string) => {
      const [row] = await query<{ id: string }>(
        databaseUrl,
        `select id from ${table} where client_order_id is not null limit 1`,
      );
      return orders.find(({ order }) => order.id === row!.id)!;
    };
    const live = await firstOf('live_orders');
    const ended = await firstOf('ended_orders');
    const unused = { ...live, order: { ...live.order, clientOrderId: 'unused' } };
    /** The same order as a new one, which rests or is refused. */
    const anew = (event: typeof live, status: 'resting' | 'rejected', place = 1): EngineEvent => ({
      kind: 'order_placed',
      epoch,
      timeMs,
      sequence: sequence + place,
      digest: { hex: `new ${place}` },
      order: { ...event.order, id: `new ${place}`, sequence: sequence + place },
      status,
      filledSteps: 0n,
      trades: [],
      expired: [],
      reason: status === 'rejected' ? 'FOK_NOT_FILLED' : null,
    });
    const batches: Record<string, readonly EngineEvent[]> = {
      'live as a live one': [anew(live, 'resting')],
      'live as an ended one': [anew(ended, 'resting')],
      'ended as a live one': [anew(live, 'rejected')],
      'ended as an ended one': [anew(ended, 'rejected')],
      'live and ended of one batch': [anew(unused, 'rejected'), anew(unused, 'resting', 2)],
    };
    const before = await contents(databaseUrl);
    for (const [name, batch] of Object.entries(batches)) {
      const error = await refusal(ledger.settlement.settle(batch));
      expect(error, name).to.be.instanceOf(LedgerDiverged);
      expect((error as Error).message, name).to.match(/client.order.id/);
      expect(await contents(databaseUrl), name).to.deep.equal(before);
    }
    await ledger.settlement.settle([anew(unused, 'rejected')]);
  });

  it('keeps live orders alone in their table, and writes each ended one once', async () => {
    const { ledger, databaseUrl } = await freshLedger();
    const events = seededEvents(3).next(2_000);
    await query(
      databaseUrl,
      `create table written (id text); create function note() returns trigger language plpgsql as $$
       begin insert into public.written values (new.id); return null; end $$;
       create trigger note after insert on live_orders for each row execute function note()`,
    );
    await ledger.settlement.settle(events);
    const counted = async (): Promise<unknown> =>
      query(
        databaseUrl,
        `select (select count(*) from live_orders) as live, (select count(*) from written) as written,
         (select count(*) from live_orders join (table ended_orders union all table late_orders) as ended using (id)) as both`,
      );
    const [all] = (await counted()) as { live: string; written: string; both: string }[];
    // One batch has the whole life of each ended order.
    expect(all).to.include({ written: all!.live, both: '0' });
    expect(Number(all!.live)).to.be.above(0);
  });

  it('writes nothing of a batch that fails at any of its tables', async () => {
    const { ledger, databaseUrl } = await dividedLedger(512);
    const events = seededEvents(26).next(700);
    await ledger.settlement.settle(events.slice(0, 100));
    const before = await contents(databaseUrl);
    await query(
      databaseUrl,
      `create function fail() returns trigger language plpgsql as $$ begin raise exception 'disk full' using
       errcode = 'disk_full'; end $$`,
    );
    // A batch writes to chain_heads only every 10,000 events.
    for (const table of WRITTEN_TABLES.filter((name) => name !== 'chain_heads')) {
      await query(
        databaseUrl,
        `create trigger fail before insert or update or delete on ${table} for each row execute function fail()`,
      );
      expect(await refusal(ledger.settlement.settle(events)), table).to.have.property('code', '53100');
      expect(await contents(databaseUrl)).to.deep.equal(before);
      await query(databaseUrl, `drop trigger fail on ${table}`);
    }
    expect(await ledger.settlement.settle(events)).to.include({ sequence: 700 });
  });

  it('sends two queries for a batch of any size', async () => {
    const { ledger } = await freshLedger();
    const events = seededEvents(5).next(700);
    await ledger.settlement.settle(events.slice(0, 50));
    const { query: ask } = pg.Client.prototype;
    let asked = 0;
    pg.Client.prototype.query = function (this: pg.Client, ...parameters: unknown[]) {
      asked += 1;
      return Reflect.apply(ask, this, parameters);
    } as typeof ask;
    try {
      for (const [from, to] of [
        [49, 100],
        [99, 700],
      ]) {
        asked = 0;
        await ledger.settlement.settle(events.slice(from, to));
        expect(asked).to.equal(2);
      }
    } finally {
      pg.Client.prototype.query = ask;
    }
    expect(await ledger.settlement.cursor()).to.include({ sequence: 700 });
  });

  it('settles each event once when several processes settle at the same time', async () => {
    const seed = runSeed();
    const events = seededEvents(seed).next(2_000);
    const alone = await freshLedger();
    await alone.ledger.settlement.settle(events);

    const shared = await freshLedger();
    const others = Array.from({ length: 3 }, () => openLedger({ databaseUrl: shared.databaseUrl }));
    const drain = async (ledger: Ledger, size: number): Promise<void> => {
      for (let at = 0; at < events.length; ) {
        const { sequence } = await ledger.settlement.cursor();
        at = (await ledger.settlement.settle(events.slice(Math.max(0, sequence - 1), sequence + size)))
          .sequence;
      }
    };
    await Promise.all([shared.ledger, ...others].map((ledger, index) => drain(ledger, 20 + index * 7)));
    await Promise.all(others.map((ledger) => ledger.close()));
    expect(await contents(shared.databaseUrl)).to.deep.equal(await contents(alone.databaseUrl));
  });

  it('rejects every change of append-only tables', async () => {
    const { ledger, databaseUrl } = await freshLedger();
    await ledger.settlement.settle(seededEvents(3).next(300));
    for (const table of ['ended_orders', 'late_orders', 'trades', 'movements']) {
      for (const change of [
        `update ${table} set sequence = 1`,
        `update ${table} set sequence = 1 where false`,
        `delete from ${table}`,
        `truncate ${table}`,
        `truncate live_orders, ${table}`,
      ]) {
        const error = await refusal(query(databaseUrl, change));
        expect(error, change).to.have.property('code', '23001');
      }
    }
  });
});
