/**
 * Proves that no number of a caller is a size. A made-up cursor, id or time of each list costs no more rows, statements
 * and bytes than honest pages. No limit makes a page larger than the largest one of the document. The lists and their
 * parameters come from the tables of routes.
 */

import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import pg from 'pg';
import request, { type Response } from 'supertest';
import type { z } from 'zod';
import { createKey } from '../../../src/books/operator-keys.ts';
import {
  forwardScope,
  readWidePlace,
  writePlace,
  writeSummedPlace,
} from '../../../src/contract/list-cursor.ts';
import { OPERATOR_RIGHTS } from '../../../src/domain/operator-rights.ts';
import { createOperatorApp } from '../../../src/http/operator/app.ts';
import { pathOf as operatorsPath } from '../../../src/http/operator/serve.ts';
import { ROUTES } from '../../../src/http/routes.ts';
import { openLedger } from '../../../src/ledger/index.ts';
import { OPERATIONS } from '../../../src/operator/nouns.ts';
import { limit } from '../../engine/fixture.ts';
import { type Fixture, openFixture, type Trader } from '../../http/fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { random, runSeed } from '../../support/seed.ts';

const ORDERS = 3_000;
const TRADES = 600;
/** Withdrawals and wallets on hold, each of which is an act as well. */
const ACTS = 300;
const MADE_UP = 1_000;
const HONEST = 20;
const PAGE = 5;
/** Rows of searches for a place beyond all others. Some places are found by more seeks than the first one. */
const SEARCHED = 100;

/** Live and dead rows of the ledger's tables that were read by any connection that has ended. */
const ROWS_READ = `
  select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int as rows from pg_stat_user_tables`;

type Query = Readonly<Record<string, string>>;

interface Route {
  readonly method: string;
  readonly path: string;
  readonly id: string;
  readonly request?: z.ZodType | undefined;
}

interface Cost {
  readonly rows: number;
  readonly statements: number;
  readonly bytes: number;
  readonly ms: number;
  readonly accepted: number;
}

const draw = random(runSeed());
const EDGES = [0n, 1n, 2n ** 16n, 2n ** 32n, 2n ** 32n - 2n, 2n ** 48n, 2n ** 53n - 1n, 2n ** 64n - 1n];
const number = (): bigint => {
  if (draw.chance(0.5)) return draw.pick(EDGES);
  const small = BigInt(draw.below(2 * ORDERS));
  // The epoch and the kind of a cursor of changes lie in the upper bits.
  return (BigInt(draw.below(5)) << draw.pick([48n, 56n])) | small;
};
const seconds = (): string =>
  draw.pick(['0', '1', '99999999999', `${Math.floor(Date.now() / 1_000) - draw.below(100_000)}`]);
const milliseconds = (): string =>
  draw.pick(['0', '999999999999999', `${Date.now() - draw.below(100_000_000)}`]);

/** Parameters that are places of a list, besides its cursor. */
const PLACES: Readonly<Record<string, () => string>> = {
  since: milliseconds,
  until: milliseconds,
  start_time: seconds,
  end_time: seconds,
  after_id: () => `${number()}`,
  before_id: () => `${number()}`,
};
const SIZES = ['limit', 'depth'];
const CURSORS = ['cursor', 'after'];
/** Parameters that are neither a place nor a size. */
const WORDS = [
  ...[
    'market',
    'status',
    'order',
    'orderId',
    'format',
    'type',
    'tf',
    'pick',
    'level',
    'state',
    'by',
    'wallet',
    'asset',
    'side',
    'bom',
  ],
  'ticker_id',
  'pair',
  'wait',
  'from',
  'to',
];

const shapeOf = ({ request: schema }: Route): Readonly<Record<string, z.ZodType>> =>
  schema !== undefined && 'shape' in schema ? (schema.shape as Record<string, z.ZodType>) : {};
const hasOne = (route: Route, names: readonly string[]): boolean =>
  Object.keys(shapeOf(route)).some((name) => names.includes(name));
/** Reports of any length have no page: their number is bounded instead. */
const ALL: readonly Route[] = [
  ...ROUTES,
  ...OPERATIONS.map((one) => ({ ...one, path: operatorsPath(one), request: one.query })),
];
const LISTS = ALL.filter((route) => route.method === 'GET' && hasOne(route, [...SIZES, 'cursor']));

describe('made-up places', function () {
  this.timeout(300_000);
  let fixture: Fixture;
  let alice: Trader;
  let key: string;
  let today: string;
  let tomorrow: string;
  /** The server's part of a cursor of changes, which only the engine gives. */
  let server: bigint;
  let statements = 0;
  const { query } = pg.Client.prototype;

  before(async () => {
    fixture = await openFixture();
    alice = await fixture.trader({ USDC: '1000000', ETH: '100' });
    const { wallet } = alice;
    const { engine } = fixture;
    for (let placed = 0; placed < ORDERS; placed += 200)
      await Promise.all(
        Array.from({ length: 200 }, () =>
          engine.orders.place({ wallet, request: limit('ETH/USDC', 'buy', '1000', '0.01') }),
        ),
      );
    const { wallet: taker } = await fixture.trader({ ETH: '10' });
    for (let taken = 0; taken < TRADES; taken += 1)
      await engine.orders.place({ wallet: taker, request: limit('ETH/USDC', 'sell', '1000', '0.01') });
    await engine.orders.cancelAll(wallet, null);
    const act = { by: 'test', reason: 'a test' };
    key = await createKey(fixture, { name: 'test', rights: OPERATOR_RIGHTS, caps: new Map() }, act);
    const app = operatorApp(fixture.ledger);
    for (let acted = 0; acted < ACTS; acted += 1) {
      const held = `0x${(acted + 1).toString(16).padStart(40, '0')}`;
      const withdrawal = { reference: `w-${acted}`, wallet, asset: 'USDC', amount: '1', reason: 'a test' };
      for (const [path, body] of [
        [`wallets/${held}/hold`, { reason: 'a test' }],
        ['withdrawals', withdrawal],
        ['deposits', { ...withdrawal, reference: `d-${acted}` }],
      ] as const) {
        const { status, text } = await ofKey(request(app).post(`/operator/v1/${path}`)).send(body);
        expect(status, text).to.be.oneOf([200, 201]);
      }
    }
    await fixture.settle();
    today = new Date().toISOString().slice(0, 10);
    tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    const { cursor } = (await alice.get('/v1/orders/changes')).body;
    server = readWidePlace({ list: 'changes', wallet }, cursor, 3, 'after')[0]!;
    pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
      statements += 1;
      return (query as (...all: unknown[]) => unknown).apply(this, args);
    } as typeof query;
  });
  after(async () => {
    pg.Client.prototype.query = query;
    await fixture.close();
  });

  const ofKey = (asked: request.Test): request.Test => asked.set('Authorization', `Bearer ${key}`);

  const operatorApp = (ledger: Fixture['ledger']): RequestListener => {
    const { engine, logger, metrics, ready, wakeSettlement } = fixture.services;
    const shared = { engine, logger, metrics, ready, wakeSettlement };
    // The Redis user of an api process may not act for operators.
    return createOperatorApp({
      ...shared,
      engine: fixture.engine,
      ledger,
      networkId: '',
      serviceName: 'Redbook',
    });
  };

  /** Asks Postgres by a connection that no count has. */
  const asking = async <T>(ask: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: fixture.databaseUrl, application_name: 'counts' });
    await client.connect();
    try {
      return await ask(client);
    } finally {
      await client.end();
    }
  };
  const connections = (client: pg.Client): Promise<readonly number[]> =>
    client
      .query<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
      )
      .then(({ rows }) => rows.map(({ pid }) => pid));

  /** Asks by ledger connections of its own, which report their counts when they end. */
  const costOf = async (
    route: Route,
    queries: readonly Query[],
    statuses: readonly number[],
  ): Promise<Cost> => {
    const ledger = openLedger({ databaseUrl: fixture.databaseUrl });
    const { app } = await fixture.replica({ trustProxyHops: 1 }, { ledger });
    const operators = operatorApp(ledger);
    const [others, before] = await asking(async (client) => [
      await connections(client),
      (await client.query<{ rows: number }>(ROWS_READ)).rows[0]!.rows,
    ]);
    const beganMs = performance.now();
    const stated = statements;
    let bytes = 0;
    let accepted = 0;
    for (const [index, asked] of queries.entries()) {
      const path = pathOf(route, asked);
      const { status, text }: Response = path.startsWith('/operator/')
        ? await ofKey(request(operators).get(path))
        : // An address for each request, because market data has a limit.
          await request(app)
            .get(path)
            .set(
              'Authorization',
              'caller' in route && route.caller === 'wallet' ? `Bearer ${alice.token}` : '',
            )
            .set('X-Forwarded-For', `10.0.${index >> 8}.${index & 255}`);
      expect(status, `${path}: ${text}`).to.be.oneOf(statuses);
      if (status !== 200) continue;
      bytes = Math.max(bytes, text.length);
      accepted += 1;
    }
    const ms = performance.now() - beganMs;
    const cost = { statements: statements - stated, bytes, ms, accepted };
    await ledger.close();
    return asking(async (client) => {
      await eventually('its connections have ended', async () =>
        (await connections(client)).every((pid) => others.includes(pid)),
      );
      return { ...cost, rows: (await client.query<{ rows: number }>(ROWS_READ)).rows[0]!.rows - before };
    });
  };

  const pathOf = ({ path }: Route, asked: Query): string => {
    const left = new URLSearchParams(asked);
    const named = path.replaceAll(/:(\w+)/g, (_, name: string) => {
      left.delete(name);
      return encodeURIComponent(asked[name]!);
    });
    return `${named}?${left}`;
  };

  /** The parameters that a page of a list needs, and a small page. */
  const needed = (route: Route): Query => {
    const known: Query = {
      ticker_id: 'ETH_USDC',
      pair: 'ETH_USDC',
      wallet: alice.wallet,
      from: today,
      to: tomorrow,
    };
    const shape = shapeOf(route);
    const names = new Set([...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!));
    for (const [name, schema] of Object.entries(shape))
      if (!schema.safeParse(undefined).success) names.add(name);
    const asked = Object.fromEntries([...names].map((name) => [name, known[name]!]));
    return 'limit' in shape ? { ...asked, limit: `${PAGE}` } : asked;
  };

  /** Writes a cursor that the list takes for one of its own. A list whose cursors are made otherwise needs a line here. */
  const forge = (route: Route, asked: Query): string => {
    const { wallet } = alice;
    const { since, until } = asked;
    const numbersOf = (count: number): bigint[] => Array.from({ length: count }, number);
    const span = (time: string | undefined) => (time === undefined ? undefined : Number(time));
    const read = forwardScope({ direction: 'desc', since: span(since), until: span(until) });
    const statement = (): string => {
      const scope = {
        list: 'statement',
        wallet,
        from: `${Date.parse(today)}`,
        to: `${Date.parse(tomorrow)}`,
        order: asked.order ?? 'asc',
      };
      const sums = draw.chance(0.2)
        ? null
        : new Map(
            Array.from({ length: draw.below(64) }, () => [
              draw.pick(['USDC', 'ETH', `A${draw.below(99)}`]),
              (draw.pick([-1n, 1n]) * number() ** 2n) % 10n ** 29n,
            ]),
          );
      const [sequence, tradeId] = numbersOf(2);
      return writeSummedPlace(
        scope,
        [Number(sequence! >> 11n), Number(tradeId! >> 11n), draw.below(3)],
        sums,
      );
    };
    const ofThisEpoch = (): bigint => (1n << 48n) | BigInt(draw.below(ORDERS));
    const forgeries: Readonly<Record<string, () => string>> = {
      getOrders: () =>
        writePlace({ list: 'orders', wallet, status: undefined, market: undefined, ...read }, numbersOf(1)),
      getTrades: () =>
        writePlace({ list: 'trades', wallet, market: undefined, orderId: undefined, ...read }, numbersOf(1)),
      getOrderChanges: () =>
        writePlace({ list: 'changes', wallet }, [
          server,
          draw.chance(0.7) ? ofThisEpoch() : number(),
          number(),
        ]),
      getStatement: statement,
      getWalletStatement: statement,
      listWithdrawals: () =>
        writePlace({ list: 'withdrawals', state: 'pending', order: 'asc' }, numbersOf(1)),
      listDeposits: () => writePlace({ list: 'deposits' }, numbersOf(1)),
      listMovements: () => {
        const span = { from: `${Date.parse(today)}`, to: `${Date.parse(tomorrow)}` };
        const filter = { wallet: undefined, asset: undefined, side: undefined };
        return writePlace({ list: 'movements', ...span, ...filter, order: 'asc' }, numbersOf(1));
      },
      listMovementChanges: () =>
        writePlace({ list: 'movements' }, draw.chance(0.5) ? [draw.below(ORDERS)] : numbersOf(1)),
      listActs: () =>
        writePlace(
          { list: 'acts', since: `${span(since)}`, until: `${span(until)}`, order: 'asc' },
          numbersOf(1),
        ),
      listWaitingMovements: () => writePlace({ list: 'approvals', order: 'asc' }, numbersOf(1)),
      listHolds: () => `0x${draw.pick(['0', '1', 'f', 'a'])}${number().toString(16).padStart(39, '0')}`,
    };
    return forgeries[route.id]!();
  };

  /** Lists of changes without `after` have no page. */
  const firstPlace = ({ id }: Route): string | undefined => {
    const places: Readonly<Record<string, string>> = {
      getOrderChanges: writePlace({ list: 'changes', wallet: alice.wallet }, [
        server,
        (1n << 48n) | 1n,
        3n << 56n,
      ]),
      listMovementChanges: writePlace({ list: 'movements' }, [0]),
    };
    return places[id];
  };

  const madeUp = (route: Route): Query => {
    const shape = shapeOf(route);
    const asked: Record<string, string> = { ...needed(route) };
    for (const [name, make] of Object.entries(PLACES))
      if (name in shape && draw.chance(0.4)) asked[name] = make();
    if (asked.after_id !== undefined) delete asked.before_id;
    const name = CURSORS.find((cursor) => cursor in shape);
    if (name === undefined) return asked;
    const cursor = forge(route, asked);
    if (draw.chance(0.9)) return { ...asked, [name]: cursor };
    // One letter is another one.
    const at = draw.below(cursor.length);
    return {
      ...asked,
      [name]: `${cursor.slice(0, at)}${draw.pick(['A', 'z', '0', '_'])}${cursor.slice(at + 1)}`,
    };
  };

  it('have a kind for each parameter of each list', () => {
    const kinds = [...Object.keys(PLACES), ...SIZES, ...CURSORS, ...WORDS];
    const others = LISTS.flatMap((route) =>
      Object.keys(shapeOf(route)).flatMap((name) => (kinds.includes(name) ? [] : [`${route.path} ${name}`])),
    );
    expect(others).to.deep.equal([]);
    expect(LISTS.filter(({ path }) => path.startsWith('/operator/'))).to.have.length.above(3);
  });

  for (const route of LISTS.filter((one) => hasOne(one, [...CURSORS, ...Object.keys(PLACES)])))
    it(`of ${route.path} cost no more than honest pages`, async () => {
      const first = firstPlace(route);
      const start: Query = { ...needed(route), ...(first !== undefined && { after: first }) };
      const honest = await costOf(route, Array<Query>(HONEST).fill(start), [200]);
      const queries = Array.from({ length: MADE_UP }, () => madeUp(route));
      const cost = await costOf(route, queries, [200, 400]);
      const each = (sum: number, count: number): string => (sum / count).toFixed(1);
      console.log(
        `      rows ${each(honest.rows, HONEST)} and ${each(cost.rows, MADE_UP)}, ` +
          `statements ${each(honest.statements, HONEST)} and ${each(cost.statements, MADE_UP)}, ` +
          `bytes ${honest.bytes} and ${cost.bytes}, ms ${each(honest.ms, HONEST)} and ${each(cost.ms, MADE_UP)}`,
      );
      expect(cost.accepted, 'places that the list takes').to.be.above(MADE_UP / 5);
      const share = MADE_UP / HONEST;
      expect(cost.rows).to.be.at.most(2 * honest.rows * share + SEARCHED * MADE_UP);
      // A page that begins at a time is read in a snapshot, which asks for the cursor first.
      expect(cost.statements).to.be.at.most(2 * honest.statements * share + MADE_UP);
      expect(cost.bytes).to.be.at.most(2 * honest.bytes);
    });

  const LARGE = [
    '0',
    '-1',
    '501',
    '1001',
    '65536',
    '2147483648',
    '4294967295',
    '9007199254740993',
    '1e9',
    'Infinity',
  ];

  for (const route of LISTS.filter((one) => hasOne(one, SIZES)))
    it(`of ${route.path} make no page larger than its largest`, async () => {
      const shape = shapeOf(route);
      const size = SIZES.find((name) => name in shape)!;
      const { maximum } = shape[size]!.meta() as { maximum?: number };
      const largest = await costOf(route, [{ ...needed(route), [size]: `${maximum ?? 500}` }], [200]);
      const cost = await costOf(
        route,
        LARGE.map((value) => ({ ...needed(route), [size]: value })),
        [200, 400],
      );
      // The figures are those of the whole database, of which others may read a row meanwhile.
      expect(cost.rows).to.be.at.most(LARGE.length * (largest.rows + 1));
      expect(cost.bytes).to.be.at.most(largest.bytes);
    });
});
