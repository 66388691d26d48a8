/** Proves that no number of a cursor is a size: a made-up one costs no more rows and bytes than an honest one. */

import { expect } from 'chai';
import pg from 'pg';
import { forwardScope, readWidePlace, writePlace } from '../../src/history/list-cursor.ts';
import { openLedger } from '../../src/ledger/index.ts';
import { limit } from '../engine/fixture.ts';
import { random, runSeed } from '../support/seed.ts';
import { type Fixture, openFixture, type Replica, type Trader, traderOf } from './fixture.ts';

const ORDERS = 3_000;
const TRADES = 50;
const MADE_UP = 1_000;
const PAGE = 5;

/** Live and dead rows of the ledger's tables that were read by any connection that has ended. */
const ROWS_READ = `
  select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int as rows from pg_stat_user_tables`;

interface Cost {
  readonly rows: number;
  readonly bytes: number;
}

/** A list, with the scope of its cursors, their first numbers if the engine gives them, and the number of the others. */
interface List {
  readonly path: string;
  readonly scope: Readonly<Record<string, string | undefined>>;
  readonly name: 'cursor' | 'after';
  readonly given: readonly bigint[];
  readonly numbers: 1 | 2;
}

describe('made-up cursors', function () {
  this.timeout(300_000);
  let fixture: Fixture;
  let alice: Trader;

  before(async () => {
    fixture = await openFixture();
    alice = await fixture.trader({ USDC: '1000000', ETH: '100' });
    const { wallet } = alice;
    const { orders } = fixture.engine;
    for (let placed = 0; placed < ORDERS; placed += 200)
      await Promise.all(
        Array.from({ length: 200 }, () =>
          orders.place({ wallet, request: limit('ETH/USDC', 'buy', '1000', '0.01') }),
        ),
      );
    const { wallet: taker } = await fixture.trader({ ETH: '10' });
    for (let taken = 0; taken < TRADES; taken += 1)
      await orders.place({ wallet: taker, request: limit('ETH/USDC', 'sell', '1000', '0.01') });
    await orders.cancelAll(wallet, null);
    await fixture.settle();
  });
  after(() => fixture.close());

  const rowsNow = async (): Promise<number> => {
    const client = new pg.Client({ connectionString: fixture.databaseUrl, application_name: 'counts' });
    await client.connect();
    try {
      for (;;) {
        const { rows } = await client.query(
          `select count(*)::int as readers from pg_stat_activity
           where datname = current_database() and application_name = 'redbook lists'`,
        );
        if (rows[0].readers === 0) return (await client.query<{ rows: number }>(ROWS_READ)).rows[0]!.rows;
      }
    } finally {
      await client.end();
    }
  };

  /** Asks with ledger connections of its own, which report their counts when they end. */
  const costOf = async (paths: readonly string[], statuses: readonly number[]): Promise<Cost> => {
    const before = await rowsNow();
    const ledger = openLedger({ databaseUrl: fixture.databaseUrl });
    const replica: Replica = await fixture.replica({}, { ledger });
    const asking = traderOf(replica.app, alice.signer, alice.token);
    let bytes = 0;
    for (const path of paths) {
      const { status, text } = await asking.get(path);
      expect(status, `${path}: ${text}`).to.be.oneOf(statuses);
      bytes = Math.max(bytes, text.length);
    }
    await ledger.close();
    return { rows: (await rowsNow()) - before, bytes };
  };

  const draw = random(runSeed());
  const EDGES = [0n, 1n, 2n ** 16n, 2n ** 32n, 2n ** 32n - 2n, 2n ** 48n, 2n ** 53n - 1n, 2n ** 64n - 1n];
  const number = (): bigint => {
    if (draw.chance(0.5)) return draw.pick(EDGES);
    const small = BigInt(draw.below(2 * ORDERS));
    // The epoch and the kind of a cursor of changes lie in the upper bits.
    return (BigInt(draw.below(5)) << draw.pick([48n, 56n])) | small;
  };

  const NEWEST = forwardScope({ direction: 'desc' });
  const lists = async (): Promise<List[]> => {
    const { wallet } = alice;
    const changes = { list: 'changes', wallet };
    const { cursor } = (await alice.get('/v1/orders/changes')).body;
    const [server] = readWidePlace(changes, cursor, 3, 'after') as [bigint, bigint, bigint];
    return [
      {
        path: '/v1/orders?',
        scope: { list: 'orders', wallet, status: undefined, market: undefined, ...NEWEST },
        name: 'cursor',
        given: [],
        numbers: 1,
      },
      {
        path: '/v1/trades?',
        scope: { list: 'trades', wallet, market: undefined, orderId: undefined, ...NEWEST },
        name: 'cursor',
        given: [],
        numbers: 1,
      },
      { path: '/v1/orders/changes?', scope: changes, name: 'after', given: [server], numbers: 2 },
    ];
  };

  for (const [index, title] of ['orders', 'trades', 'changes'].entries())
    it(`of ${title} cost no more than the honest one`, async () => {
      const { path, scope, name, given, numbers } = (await lists())[index]!;
      const ask = (places: readonly bigint[]): string =>
        `${path}limit=${PAGE}&${name}=${writePlace(scope, [...given, ...places])}`;
      const first = numbers === 1 ? [BigInt(Number.MAX_SAFE_INTEGER)] : [(1n << 48n) | 1n, 3n << 56n];
      const honest = await costOf([ask(first)], [200]);
      const cursors = Array.from({ length: MADE_UP }, () =>
        ask(Array.from({ length: numbers }, () => number())),
      );
      const madeUp = await costOf(cursors, [200, 400]);
      // Some places are found by more seeks than the first one.
      expect(madeUp.rows).to.be.at.most(2 * MADE_UP * honest.rows);
      expect(madeUp.bytes).to.be.at.most(2 * honest.bytes);
    });
});
