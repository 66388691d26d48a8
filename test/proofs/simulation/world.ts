/**
 * The servers of a simulation: one real Redis and one real Postgres. The engine's copies are databases of that Redis. Each
 * history begins with the same contents: two markets and three wallets with funds, settled. The database is made anew
 * from a template every few hundred histories.
 */

import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ChainableCommander, Redis } from 'ioredis';
import pg from 'pg';
import type { Cursor } from '../../../src/domain/event.ts';
import type { Market } from '../../../src/domain/market.ts';
import type { StreamEntry } from '../../../src/engine/event-codec.ts';
import { giveList, openEngine } from '../../../src/engine/index.ts';
import { claimFilterKey, KEYS } from '../../../src/engine/keys.ts';
import { openLedger } from '../../../src/ledger/index.ts';
import type { Script } from '../../../src/redis/lua.ts';
import { limit, movement, spec } from '../../engine/fixture.ts';
import { WRITTEN_TABLES } from '../../ledger/tables.ts';
import type { Rewrite } from '../../planted/planted.ts';
import { openRedis } from '../../support/redis-server.ts';
import { Journal } from './journal.ts';
import { type Entry, ReplicatedData } from './replicated-data.ts';
import { Replication } from './replication.ts';
import { Sessions } from './simulated-postgres.ts';
import { CLOCK_KEY, loadOnSimulatedClock, rememberScript } from './simulated-redis.ts';
import { Switches } from './switches.ts';
import { BEGINNING_MS } from './virtual-time.ts';
import { WALLETS } from './wallets.ts';

export const ASSETS = ['AAA', 'BBB', 'QQQ'] as const;
export const MARKETS = ['AAA/QQQ', 'BBB/QQQ'] as const;
/** Tight, so that histories meet them. */
export const LIMITS = { maxMakers: 4, maxLiveOrders: 6 };
/** Mark of the first list of copies. */
const FIRST_MARK = 'first';
const FIRST_RUN_ID = 'a'.repeat(40);
/** Blocks of 64 bits: so few that ids which were never used look used now and then. */
const FILTER_BYTES = 16;
const EVENTS_KEY = KEYS.events;
/** Atoms of the first deposit of each wallet in each asset. */
export const FUNDS = 1_000n;
const HISTORIES_OF_A_DATABASE = 300;
/** All tables that a history writes. */
const OTHER_TABLES = ['engine_epochs', 'engine_copies', 'engine_lists', 'kept_balances', 'reconciliations'];
const WRITTEN = [...WRITTEN_TABLES, ...OTHER_TABLES];
/** Any offset: a history begins in the middle of a stream. */
const FIRST_OFFSET = 1_000;

export interface WorldOptions {
  readonly redisUrl: string;
  /** A maintenance database on the server. */
  readonly databaseUrl: string;
  /** Makes a migrated database without rows and returns its URL. */
  readonly freshDatabase: () => Promise<string>;
  /** Loads the scripts; a broken build gives altered ones. */
  readonly load?: ((name: string) => Script) | undefined;
  readonly rewrite?: Rewrite | undefined;
  /** Number of the engine's copies; without copies by default. */
  readonly copies?: number | undefined;
}

const SCRIPTS = readdirSync(new URL('../../../lua/', import.meta.url))
  .filter((name) => name.endsWith('.lua'))
  .map((name) => name.replace('.lua', ''));

/** Keys with their values as DUMP has them. */
type Contents = readonly { readonly key: Buffer; readonly value: Buffer }[];

/** Connects by the socket file of the server where it has one: a command costs a third less than over its port. */
async function connectTo(redisUrl: string, db = 0): Promise<Redis> {
  const redis = openRedis(redisUrl, undefined, { db });
  const [, file] = (await redis.config('GET', 'unixsocket')) as [string, string];
  if (file === '') return redis;
  const [, folder] = (await redis.config('GET', 'dir')) as [string, string];
  redis.disconnect();
  return openRedis(redisUrl, undefined, { db, path: resolve(folder, file) });
}

/** Makes all tables as they were at the beginning. A function has its statements planned once a connection. */
const RESTORE = `
  create function saved.restore() returns void language plpgsql set session_replication_role = replica as $$
  begin ${WRITTEN.map((table) => `delete from ${table}; insert into ${table} table saved.${table};`).join(' ')} end $$`;

const perTable = (statement: (table: string) => string): string => WRITTEN.map(statement).join(' ');

/** Keeps all tables as they are at a moment, and puts them back to it. */
const SNAPSHOTS = `create schema kept; ${perTable((table) => `create table kept.${table} as table ${table} with no data;`)}
  create function kept.take() returns void language plpgsql as $$
  begin ${perTable((table) => `truncate kept.${table}; insert into kept.${table} table ${table};`)} end $$;
  create function kept.put_back() returns void language plpgsql set session_replication_role = replica as $$
  begin ${perTable((table) => `delete from ${table}; insert into ${table} table kept.${table};`)} end $$`;

export class World {
  readonly redis: Redis;
  /** Absent where the engine is on one server. */
  readonly replication: Replication | undefined;
  readonly load: (name: string) => Script;
  runId = FIRST_RUN_ID;
  /** Unix milliseconds of the server's clock; written before the next command. */
  nowMs = BEGINNING_MS;
  hasSteppedClock = false;
  switches = new Switches();
  journal = new Journal([], this.switches);
  /** In the order of their numbers. */
  markets: readonly Market[] = [];
  /** Without scripts, a server that was started again asks for each of them. */
  hasScripts = false;
  sessions: Sessions;
  databaseUrl = '';
  readonly #options: WorldOptions;
  /** A snapshot of Postgres was taken in this history. */
  hasSnapshot = false;
  isPutBack = false;
  readonly #scripts = new Map<string, Script>();
  #template = '';
  #contents: Contents = [];
  /** Last event of the replica that became the server, in the epoch of Postgres' cursor at that time. */
  #tookOver: Cursor | undefined;
  #replica: { readonly contents: Contents; readonly sequence: number } | undefined;
  #entries: StreamEntry[] = [];
  #writtenMs = 0;
  #histories = 0;

  private constructor(options: WorldOptions, redises: readonly Redis[]) {
    this.#options = options;
    this.redis = redises[0]!;
    const restore = (pipeline: ChainableCommander): void => this.#restore(pipeline);
    const stores = redises.map((redis) => new ReplicatedData(redis, restore));
    this.replication = stores.length > 1 ? new Replication(this, stores) : undefined;
    this.sessions = new Sessions('', undefined);
    const load = options.load ?? loadOnSimulatedClock;
    this.load = (name) => {
      let script = this.#scripts.get(name);
      if (script === undefined) {
        script = load(name);
        this.#scripts.set(name, script);
        rememberScript(script);
      }
      return script;
    };
  }

  static async open(options: WorldOptions): Promise<World> {
    const numbers = Array.from({ length: options.copies ?? 1 }, (_none, number) => number);
    const redises = await Promise.all(numbers.map((number) => connectTo(options.redisUrl, number)));
    const world = new World(options, redises);
    await world.#setUp();
    await world.#remakeDatabase();
    return world;
  }

  async #setUp(): Promise<void> {
    this.#template = await this.#options.freshDatabase();
    const ledger = openLedger({ databaseUrl: this.#template });
    try {
      await this.redis.flushall();
      this.runId = this.#firstRunId;
      await this.#writeClock();
      await this.#begin(ledger);
      if (this.replication !== undefined) await this.#beginCopies();
    } finally {
      await ledger.close();
    }
    this.#contents = await this.#dump();
    const copies = WRITTEN.map((table) => `create table saved.${table} as table ${table};`).join(' ');
    await this.#onDatabase(this.#template, `create schema saved; ${copies} ${RESTORE}; ${SNAPSHOTS}`);
  }

  async #dump(): Promise<Contents> {
    const keys = (await this.redis.keysBuffer('*')) as Buffer[];
    const values = await Promise.all(keys.map((key) => this.redis.dumpBuffer(key)));
    return keys.map((key, at) => ({ key, value: values[at]! }));
  }

  /** Publishes the markets, funds the wallets, places a first order and settles all of it. */
  async #begin(ledger: ReturnType<typeof openLedger>): Promise<void> {
    const redis = Object.create(this.redis, {
      info: {
        value: async (part: string) =>
          (await this.redis.info(part)).replace(/run_id:\w+/, `run_id:${this.runId}`),
      },
    }) as typeof this.redis;
    const { epochs } = ledger;
    const engine = openEngine({ redis, ...LIMITS, load: this.load, claimFilterBytes: FILTER_BYTES, epochs });
    await engine.lifecycle.open(await epochs.position());
    for (const symbol of ASSETS) await engine.assets.set({ symbol, scale: 0 });
    await engine.markets.create(spec(MARKETS[0], { feeBps: 100, selfTrade: 'expire_maker' }));
    await engine.markets.create(spec(MARKETS[1], { feeBps: 0, selfTrade: 'expire_both' }));
    for (const wallet of WALLETS)
      for (const asset of ASSETS)
        await engine.funds.move(movement('credited', wallet, asset, FUNDS, `first ${wallet} ${asset}`));
    const request = limit(MARKETS[0], 'sell', 20, 3, { clientOrderId: 'first' });
    let placed = await engine.orders.place({ wallet: WALLETS[0], request });
    if (placed.outcome === 'unchecked')
      placed = await engine.orders.place({ wallet: WALLETS[0], request, checked: placed.moment });
    await ledger.settlement.settle(await engine.outbox.readEvents({ epoch: 0, sequence: 0 }, 1_000));
    this.markets = await engine.markets.all();
    this.#entries = await this.redis.xrangeBuffer(EVENTS_KEY, '-', '+');
  }

  /** All servers are members, and have everything. */
  async #beginCopies(): Promise<void> {
    const names = this.replication!.servers.map(({ name }) => name);
    await giveList(this.redis, { version: 1, mark: FIRST_MARK, names });
    await this.redis.hset(KEYS.rounds, 'verified', `${this.#firstRunId} 0`);
    await this.#onDatabase(
      this.#template,
      `insert into engine_copies (server, run_id, mark, epoch, begun_on, members)
       select '${names[0]}', '${this.#firstRunId}', '${FIRST_MARK}', max(epoch), '${names[0]}', '{${names.join()}}'
       from engine_epochs;
       insert into engine_lists (version, mark) select version, mark from engine_copies`,
    );
  }

  /** Brings both servers back to the beginning. */
  async reset(): Promise<void> {
    if (this.#histories > 0 && this.#histories % HISTORIES_OF_A_DATABASE === 0) await this.#remakeDatabase();
    this.#histories += 1;
    this.runId = this.#firstRunId;
    this.nowMs = BEGINNING_MS;
    this.hasSteppedClock = false;
    this.hasSnapshot = false;
    this.isPutBack = false;
    this.#tookOver = undefined;
    this.#replica = undefined;
    this.switches = new Switches();
    this.journal = new Journal(this.markets, this.switches);
    this.journal.append(this.#entries);
    const pipeline = this.redis.pipeline().flushdb();
    this.#restore(pipeline);
    if (!this.hasScripts) for (const name of SCRIPTS) pipeline.script('LOAD', this.load(name).source);
    this.hasScripts = true;
    this.#writtenMs = 0;
    await pipeline.exec();
    await (await this.sessions.monitor()).query({ name: 'restore', text: 'select saved.restore()' });
    if (this.replication === undefined) return;
    this.journal.mayLose = false;
    const { lastId: lastEventId } = this.journal;
    const beginning: Entry = { offset: FIRST_OFFSET, nowMs: BEGINNING_MS, lastEventId };
    this.replication.reset(beginning, this.journal.last!.epoch);
  }

  /** Patterns of the planted fault that no statement had. */
  get unmet(): readonly string[] {
    return this.#options.rewrite?.unmet() ?? [];
  }

  #restore(pipeline: ChainableCommander): void {
    for (const { key, value } of this.#contents) pipeline.restore(key, 0, value);
  }

  get #firstRunId(): string {
    return this.replication?.servers[0]?.runId ?? FIRST_RUN_ID;
  }

  /** A snapshot of Postgres has everything that is committed. */
  async takeSnapshot(): Promise<void> {
    await (await this.sessions.monitor()).query('select kept.take()');
    this.hasSnapshot = true;
  }

  /** Postgres is as it was when the snapshot was taken. Nobody is connected to it. */
  async putBack(): Promise<void> {
    await (await this.sessions.monitor()).query('select kept.put_back()');
    this.replication!.hasLost = true;
    this.isPutBack = true;
  }

  /** Returns what Postgres says of the copies. */
  async copiesRow(): Promise<{ readonly members: readonly string[]; readonly joining: readonly string[] }> {
    const { rows } = await (await this.sessions.monitor()).query({
      name: 'copies',
      text: 'select server, version, members, joining from engine_copies',
    });
    return rows[0] ?? { members: [], joining: [] };
  }

  /** Returns connections to the data of each server that must have everything. */
  async engines(): Promise<Redis[]> {
    if (this.replication === undefined) return [this.redis];
    const servers = this.replication.servers;
    for (const { store, data } of servers) await store.bring(data);
    return servers.map(({ store }) => store.redis);
  }

  /** Marks a share of the claim filter's blocks, whose ids all look used from now on. */
  async markFilter(share: number): Promise<void> {
    const marked = Buffer.alloc(Math.floor(FILTER_BYTES * share), 255);
    if (marked.length > 0) await this.redis.setrange(claimFilterKey(0, 0), 0, marked);
  }

  async #remakeDatabase(): Promise<void> {
    await this.sessions.close();
    const url = new URL(this.#template);
    const template = url.pathname.slice(1);
    const name = `${template}_history`;
    await this.#onDatabase(this.#options.databaseUrl, `drop database if exists ${name} with (force)`);
    await this.#onDatabase(this.#options.databaseUrl, `create database ${name} template ${template}`);
    url.pathname = `/${name}`;
    this.databaseUrl = url.href;
    this.sessions = new Sessions(url.href, this.#options.rewrite?.change);
  }

  async #onDatabase(connectionString: string, statement: string): Promise<void> {
    const client = new pg.Client({ connectionString });
    await client.connect();
    try {
      await client.query(statement);
    } finally {
      await client.end();
    }
  }

  /** Everything that the engine's Redis holds is gone, the scheduler's clock excepted. */
  async loseRedis(): Promise<void> {
    await this.redis.flushdb();
    this.switches.forget();
    this.journal.lose();
    this.#writtenMs = 0;
  }

  /** A replica has all that the server has now, and follows no further. */
  async copyReplica(): Promise<void> {
    this.#replica = { contents: await this.#dump(), sequence: this.journal.last!.sequence };
  }

  get hasReplica(): boolean {
    return this.#replica !== undefined && !this.journal.isLost;
  }

  /** The replica becomes the server. */
  async failOver(): Promise<void> {
    const { contents, sequence } = this.#replica!;
    this.#replica = undefined;
    const pipeline = this.redis.pipeline().flushdb();
    for (const { key, value } of contents) pipeline.restore(key, 0, value);
    await pipeline.exec();
    this.#writtenMs = 0;
    this.switches.forget();
    const settled = await this.cursor();
    if (settled.sequence <= sequence) {
      this.#tookOver = { epoch: this.journal.last!.epoch, sequence };
      this.journal.failOver(sequence);
    } else {
      this.journal.lose();
      this.journal.isBehind = true;
    }
  }

  /**
   * True after a failover when settlement has committed events, read before it, that the replica lacks. The engine was
   * asked before that, and opened: settlement then stops with an error, and only an operator can go on.
   */
  async isSettledBeyondReplica(): Promise<boolean> {
    const { epoch, sequence } = await this.cursor();
    return (
      this.#tookOver !== undefined && epoch <= this.#tookOver.epoch && sequence > this.#tookOver.sequence
    );
  }

  /** Returns the last event that Postgres has. */
  async cursor(): Promise<Cursor> {
    const { rows } = await (await this.sessions.monitor()).query<{ epoch: string; sequence: string }>({
      name: 'cursor',
      text: 'select epoch, sequence from engine_cursor',
    });
    const { epoch, sequence } = rows[0]!;
    return { epoch: Number(epoch), sequence: Number(sequence) };
  }

  async forgetScripts(): Promise<void> {
    this.hasScripts = false;
    await this.redis.script('FLUSH');
  }

  beforeCommand(): void {
    if (this.nowMs !== this.#writtenMs) void this.#writeClock();
  }

  async afterCommand(label: string, mayAppend: boolean): Promise<void> {
    if (mayAppend) await this.#observe();
    else if (label === 'take_due_cancels') await this.switches.look(this);
  }

  #writeClock(): Promise<unknown> {
    this.#writtenMs = this.nowMs;
    const seconds = Math.floor(this.nowMs / 1_000);
    return this.redis.hset(CLOCK_KEY, 'seconds', seconds, 'microseconds', (this.nowMs % 1_000) * 1_000);
  }

  /** Reads what was appended to the stream since the last look. */
  async #observe(): Promise<void> {
    this.journal.append(await this.redis.xrangeBuffer(EVENTS_KEY, `(${this.journal.lastId}`, '+'));
  }

  async close(): Promise<void> {
    await this.sessions.close();
    for (const { store } of this.replication?.servers ?? []) store.redis.disconnect();
    this.redis.disconnect();
    const name = new URL(this.databaseUrl || this.#template).pathname.slice(1);
    if (this.databaseUrl !== '')
      await this.#onDatabase(this.#options.databaseUrl, `drop database if exists ${name} with (force)`);
  }
}
