/** Books with data of every kind, for tests that corrupt them in Redis or Postgres, reconcile and restore them. */

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { bookMovements } from '../../src/books/book-movements.ts';
import { type CheckResult, reconcile } from '../../src/books/reconcile/index.ts';
import { parseDecimal } from '../../src/domain/units.ts';
import type { LedgerCheckpoint } from '../../src/ledger/index.ts';
import { divide } from '../ledger/segmented.ts';
import { query } from '../ledger/tables.ts';
import { MAKER, openBusyFixture, TAKER } from '../operator/busy-fixture.ts';
import { type OperatorFixture, WALLET } from '../operator/fixture.ts';
import { freshLedgerDatabase } from '../support/servers.ts';

export const PREFIX = '{redbook}:';
export const ENGINE = `${PREFIX}engine`;
export const HELD = WALLET('e');
/** Another maker, of a trade that equals one of `MAKER`. */
const OTHER_MAKER = WALLET('c');
/** Small, because the filter is restored after each corruption. */
const FILTER_BYTES = 2 ** 16;
/** Some orders outlive a segment, and some end in theirs. */
const SEGMENT_EVENTS = 16;

/** Places orders of every kind that the busy fixture lacks, two equal trades among their results. */
async function placeMore(fixture: OperatorFixture): Promise<void> {
  await fixture.place({ wallet: MAKER, side: 'sell', price: '3000', size: '2', clientOrderId: 'live' });
  await fixture.place({ wallet: MAKER, price: '3', size: '2' });
  for (const wallet of [MAKER, OTHER_MAKER])
    await fixture.place({ wallet, side: 'sell', price: '2000', size: '0.5' });
  await fixture.place({ wallet: TAKER, side: 'buy', price: '2000', size: '1' });
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
}

/** Makes keys of operators, one of them revoked, and moves an amount by the other. */
async function moveByKey(fixture: OperatorFixture): Promise<void> {
  const caps = ['--cap', 'USDC=100/day', '--cap', 'ETH=5/day'];
  for (const name of ['custody', 'leaked'])
    await fixture.ask('key', 'create', name, '--may', 'credit,debit', ...caps);
  await fixture.ask('key', 'revoke', 'leaked');
  const key = (await fixture.ledger.keys.all()).find(({ name }) => name === 'custody')!;
  const amount = parseDecimal('3')!;
  const deposit = { wallet: MAKER, asset: 'USDC', amount, reference: 'by key', kind: 'credited' } as const;
  await bookMovements(fixture.services, [{ ...deposit, act: { by: 'custody', reason: 'a test' } }], key);
}

async function dividedDatabase(): Promise<string> {
  const databaseUrl = await freshLedgerDatabase();
  await divide(databaseUrl, SEGMENT_EVENTS);
  return databaseUrl;
}

async function openFullFixture(databaseUrl: string): Promise<OperatorFixture> {
  const fixture = await openBusyFixture({ claimFilterBytes: FILTER_BYTES, databaseUrl });
  const { order: late } = await fixture.place({
    wallet: MAKER,
    price: '5',
    size: '2',
    clientOrderId: 'late',
  });
  await fixture.ask('account', 'credit', OTHER_MAKER, 'ETH', '10', '--reference', 'other maker');
  await fixture.ask('account', 'hold', HELD, '--reason', 'a test');
  for (const reference of ['paid later', 'not paid yet'])
    await fixture.ask('withdrawal', 'request', MAKER, 'USDC', '1', '--reference', reference);
  await fixture.ask('withdrawal', 'confirm', 'paid later', '--txid', '0x1');
  await fixture.ask('deposit', 'announce', MAKER, 'USDC', '7', '--reference', 'announced');
  const until = new Date(Date.now() + 3_600_000).toISOString();
  await fixture.ask('withdrawal', 'take', 'not paid yet', '--by', 'payer', '--until', until);
  await fixture.ask('account', 'credit', HELD, 'ETH', '3', '--reference', 'gone');
  await fixture.settle();
  await fixture.ask(
    'account',
    'debit',
    HELD,
    'ETH',
    '1',
    '--reference',
    'gone',
    '--reverses',
    'gone',
    '--reason',
    'a test',
  );
  await fixture.ask('terms', 'require', '1');
  for (const wallet of [MAKER, TAKER, OTHER_MAKER]) await fixture.engine.switches.acceptTerms(wallet, '1');
  // The ledger takes a time that is not before its last event's for one that settlement writes.
  await sleep(10);
  await placeMore(fixture);
  await fixture.engine.orders.cancel(MAKER, late.id);
  await fixture.settle();
  const settling = fixture.settleOnAndOn();
  await fixture.ask('ledger', 'close', '2020-02', '--empty');
  await settling.stop();
  await moveByKey(fixture);
  await fixture.settle();
  const epoch = (await fixture.engine.reads.state()).epoch;
  await fixture.ledger.epochs.note({ epoch, server: await fixture.engine.lifecycle.serverRunId() });
  await fixture.engine.outbox.trim(await fixture.ledger.settlement.cursor());
  return fixture;
}

/** Returns each difference as a text, or the error that ended the checks. */
async function reported(
  check: () => Promise<readonly Pick<CheckResult, 'name' | 'asset' | 'differences'>[]>,
): Promise<string[]> {
  try {
    return (await check()).flatMap(({ name, asset, differences }) =>
      differences.map(
        (one) => `${name} ${asset ?? ''}: ${one.subject}: expected ${one.expected}, found ${one.found}`,
      ),
    );
  } catch (error) {
    return [String(error)];
  }
}

/** Full books that can be corrupted and restored. */
export class CorruptedBooks {
  readonly fixture: OperatorFixture;
  readonly client: pg.Client;
  /** All tables but those of the migrations. */
  readonly tables: readonly string[];
  readonly #keys = new Map<string, Buffer>();

  private constructor(fixture: OperatorFixture, client: pg.Client, tables: readonly string[]) {
    this.fixture = fixture;
    this.client = client;
    this.tables = tables;
  }

  /** @param databaseUrl a migrated database; a new one of the run's Postgres, with small segments, unless given */
  static async open(databaseUrl?: string): Promise<CorruptedBooks> {
    const fixture = await openFullFixture(databaseUrl ?? (await dividedDatabase()));
    const found = await query<{ name: string }>(
      fixture.databaseUrl,
      `select table_name as name from information_schema.tables
       where table_schema = 'public' and table_type = 'BASE TABLE' and table_name !~ '^knex_' order by 1`,
    );
    const client = new pg.Client({ connectionString: fixture.databaseUrl });
    await client.connect();
    const books = new CorruptedBooks(
      fixture,
      client,
      found.map(({ name }) => name),
    );
    await books.#failOnce();
    await books.#save();
    return books;
  }

  /** Leaves a reconcile that found a difference, and one that found none. */
  async #failOnce(): Promise<void> {
    await this.fixture.redis.hset(ENGINE, 'paused', '1');
    await this.differences();
    await this.fixture.redis.hdel(ENGINE, 'paused');
    await this.differences();
  }

  async #save(): Promise<void> {
    const copies = this.tables.map((table) => `create table saved.${table} as table ${table};`);
    await this.client.query(`create schema saved; ${copies.join(' ')}`);
    const { redis } = this.fixture;
    for (const key of await redis.keys(`${PREFIX}*`)) this.#keys.set(key, (await redis.dumpBuffer(key))!);
  }

  /** Runs SQL that no trigger prevents. */
  async sql(text: string): Promise<number> {
    try {
      await this.client.query('set session_replication_role = replica');
      const results = [await this.client.query(text)].flat();
      return results.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0);
    } catch (error) {
      // Otherwise every later statement would fail too.
      await this.client.query('rollback');
      throw error;
    } finally {
      await this.client.query('reset session_replication_role');
    }
  }

  async restoreTables(tables: readonly string[] = this.tables): Promise<void> {
    const texts = tables.map((table) => `delete from ${table}; insert into ${table} table saved.${table};`);
    await this.sql(texts.join(' '));
  }

  async restoreKeys(): Promise<void> {
    const { redis } = this.fixture;
    const strange = (await redis.keys(`${PREFIX}*`)).filter((key) => !this.#keys.has(key));
    const restoring = redis.pipeline();
    for (const key of strange) restoring.del(key);
    for (const [key, value] of this.#keys) restoring.restore(key, 0, value, 'REPLACE');
    await restoring.exec();
  }

  /** Differences that the ledger's own checks report. They are faster than a reconcile. */
  ledgerDifferences(checkpoints: readonly LedgerCheckpoint[] = []): Promise<string[]> {
    return reported(async () => {
      const { checks } = await this.fixture.ledger.checks.run(undefined, checkpoints);
      return checks.map(({ name, violations }) => ({ name, asset: null, differences: violations }));
    });
  }

  /** Differences that the ledger's part of a reconcile reports, which reads sealed segments by their digests. */
  sealedDifferences(): Promise<string[]> {
    const asked = {
      onCheck: () => undefined,
      noted: [],
      extent: 'night',
      scrubDays: 1,
      isSound: true,
    } as const;
    return reported(async () => {
      const { checks } = await this.fixture.ledger.checks.reconcile(asked);
      return checks.map(({ name, violations }) => ({ name, asset: null, differences: violations }));
    });
  }

  /** Differences that the ledger's own checks report, and those of objects that change what the checks read. */
  async schemaDifferences(): Promise<string[]> {
    const foreign = await reported(async () => {
      const { name, violations } = await this.fixture.ledger.checks.foreign();
      return [{ name, asset: null, differences: violations }];
    });
    return [...foreign, ...(await this.ledgerDifferences())];
  }

  /** Differences that a reconcile reports, of each check the first 20. */
  differences(): Promise<string[]> {
    return reported(async () => (await reconcile(this.fixture.services, { patienceMs: 0 })).checks);
  }

  async close(): Promise<void> {
    await this.client.end();
    await this.fixture.close();
  }
}
