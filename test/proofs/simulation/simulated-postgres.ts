/** Pools of connections to Postgres whose statements wait for the scheduler. The statements themselves are real. */

import { EventEmitter } from 'node:events';
import pg from 'pg';
import type { Link, Outcome, Sent } from './link.ts';

/** A statement that has not answered by then is looked for among those that wait for a lock. */
const LOOK_MS = 50;
const MAX_LOOKS = 500;
/** Status of a connection without a transaction, as the server says it. */
const IDLE = 'I';
const TERMINATED = 'Connection terminated unexpectedly';

const setRealTimeout = globalThis.setTimeout;
const realSleep = (ms: number): Promise<undefined> =>
  new Promise((resolve) => setRealTimeout(() => resolve(undefined), ms));

export type RewriteSql = (text: string) => string;

/** A real connection. */
interface Session {
  readonly client: pg.Client;
  readonly kind: string;
  readonly pid: number;
  /** True while a transaction is open, which may hold locks. */
  isInTransaction: boolean;
  /** Receives the messages of a submitted query, and rewrites their texts. The driver keeps prepared statements on it. */
  readonly connection: object | undefined;
}

/** Real connections by kind of work, used again by history after history. */
export class Sessions {
  readonly #idle = new Map<string, Session[]>();
  readonly #all = new Set<Session>();
  /** A lock that a statement waits for becomes free only when this changes. */
  endedTransactions = 0;
  readonly #databaseUrl: string;
  readonly #rewrite: RewriteSql | undefined;
  #monitor: pg.Client | undefined;

  constructor(databaseUrl: string, rewrite: RewriteSql | undefined) {
    this.#databaseUrl = databaseUrl;
    this.#rewrite = rewrite;
  }

  rewritten(text: string): string {
    return this.#rewrite?.(text) ?? text;
  }

  async take(config: pg.PoolConfig): Promise<Session> {
    const kind = config.application_name ?? '';
    const known = this.#idle.get(kind)?.pop();
    if (known !== undefined) return known;
    const { types } = config;
    const client = await this.#connect({ application_name: kind, ...(types && { types }) });
    await config.onConnect?.(client);
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const connection = this.#rewrite && rewriting(client, this.#rewrite);
    const session: Session = { client, kind, pid: rows[0]!.pid, connection, isInTransaction: false };
    const { connection: wire } = client as unknown as { connection: EventEmitter };
    wire.on('readyForQuery', ({ status }: { status: string }) => {
      if (session.isInTransaction && status === IDLE) this.endedTransactions += 1;
      session.isInTransaction = status !== IDLE;
    });
    this.#all.add(session);
    client.on('end', () => {
      this.endedTransactions += 1;
      this.#all.delete(session);
    });
    return session;
  }

  /** Returns true when a statement of the session may have to wait for a lock of another one. */
  mayWait(session: Session): boolean {
    for (const other of this.#all) if (other !== session && other.isInTransaction) return true;
    return false;
  }

  giveBack(session: Session): void {
    const idle = this.#idle.get(session.kind) ?? [];
    this.#idle.set(session.kind, idle);
    idle.push(session);
  }

  async #connect(config: pg.ClientConfig): Promise<pg.Client> {
    const client = new pg.Client({ ...config, connectionString: this.#databaseUrl });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  /** A connection of the harness itself. */
  async monitor(): Promise<pg.Client> {
    this.#monitor ??= await this.#connect({ application_name: 'simulation' });
    return this.#monitor;
  }

  async isWaiting(pid: number): Promise<boolean> {
    const { rows } = await (await this.monitor()).query<{ waits: boolean }>({
      name: 'waits',
      text: 'select cardinality(pg_blocking_pids($1)) > 0 as waits',
      values: [pid],
    });
    return rows[0]!.waits;
  }

  async cancel(pid: number): Promise<void> {
    await (await this.monitor()).query('select pg_cancel_backend($1)', [pid]);
  }

  async close(): Promise<void> {
    const all = [...this.#idle.values()].flat().map(({ client }) => client);
    this.#idle.clear();
    await Promise.all(
      [...all, ...(this.#monitor === undefined ? [] : [this.#monitor])].map((one) => one.end()),
    );
    this.#monitor = undefined;
  }
}

/** The client's connection to the server; statements that are parsed on it have their texts rewritten. */
function rewriting(client: pg.Client, rewrite: RewriteSql): object {
  const { connection } = client as unknown as { connection: pg.Connection };
  return new Proxy(connection, {
    get(target, name) {
      if (name === 'parse')
        return (query: { text: string }, more: boolean) =>
          target.parse({ ...query, text: rewrite(query.text) } as never, more);
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

interface Submittable {
  submit(connection: unknown): unknown;
  callback?: (error: Error | null) => void;
}

type Query = string | pg.QueryConfig | Submittable;

const isSubmittable = (query: Query): query is Submittable =>
  typeof query === 'object' && 'submit' in query && typeof query.submit === 'function';

const textOf = (query: string | pg.QueryConfig): string => (typeof query === 'string' ? query : query.text);

const labelOf = (query: Query): string =>
  isSubmittable(query) ? 'round trip' : textOf(query).trim().replace(/\s+/g, ' ').slice(0, 48);

/** Plain reads wait for no lock of a row. */
const isPlainRead = (query: Query): boolean =>
  !isSubmittable(query) &&
  /^\s*(select|with)\b/i.test(textOf(query)) &&
  !/\bfor update\b/i.test(textOf(query));

/** Services of the history that its pools use. */
export interface PoolHost {
  readonly sessions: Sessions;
  readonly actor: string;
  /** Makes the link of one connection, under a free name that begins so. */
  register(name: string, lost: () => Error): Link;
  unregister(link: Link): void;
  onActivity(): void;
}

/** A connection that was taken out of a pool. */
class SimulatedClient {
  readonly link: Link;
  readonly #host: PoolHost;
  readonly #config: pg.PoolConfig;
  readonly #onRelease: () => void;
  #session: Session | undefined;
  #running: Promise<Outcome> | undefined;
  /** Transactions that had ended when the statement was looked after last. */
  #endedBefore = 0;
  #isEnded = false;

  constructor(host: PoolHost, config: pg.PoolConfig, onRelease: () => void) {
    this.#host = host;
    this.#config = config;
    this.#onRelease = onRelease;
    const work = (config.application_name ?? '').replace('redbook ', '');
    this.link = host.register(`${host.actor} ${work}`, () => new Error(TERMINATED));
  }

  on(): this {
    return this;
  }

  query(query: Query, values?: unknown[]): unknown {
    const run = (): Promise<Outcome | 'blocked'> => this.#run(query, values);
    const unblocked = (): Promise<Outcome | 'blocked'> => this.#lookAgain();
    if (!isSubmittable(query)) return this.link.ask(labelOf(query), run, unblocked);
    const tell = query.callback!;
    this.link.send({
      label: labelOf(query),
      run,
      unblocked,
      answer: (outcome) => tell('error' in outcome ? (outcome.error as Error) : null),
    });
    return query;
  }

  async #run(query: Query, values: unknown[] | undefined): Promise<Outcome | 'blocked'> {
    this.#session ??= await this.#host.sessions.take(this.#config);
    const ran: Promise<unknown> = isSubmittable(query)
      ? this.#submit(query, this.#session)
      : this.#session.client.query(this.#rewritten(query), values);
    this.#running = ran.then(
      (value): Outcome => ({ value }),
      (error: unknown): Outcome => ({ error }),
    );
    if (isPlainRead(query) || !this.#host.sessions.mayWait(this.#session)) return this.#running;
    return this.#look();
  }

  #rewritten(query: string | pg.QueryConfig): pg.QueryConfig {
    const { sessions } = this.#host;
    if (typeof query === 'string') return { text: sessions.rewritten(query) };
    return { ...query, text: sessions.rewritten(query.text) };
  }

  #submit(query: Submittable, { client, connection }: Session): Promise<void> {
    return new Promise((resolve, reject) => {
      query.callback = (error) => (error ? reject(error) : resolve());
      if (connection === undefined) return void client.query(query as pg.Submittable);
      const submitted = new Proxy(query, {
        get(target, name) {
          if (name === 'submit') return () => target.submit(connection);
          const value = Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      client.query(submitted as pg.Submittable);
    });
  }

  async #lookAgain(): Promise<Outcome | 'blocked'> {
    return this.#host.sessions.endedTransactions === this.#endedBefore ? 'blocked' : this.#look();
  }

  async #look(): Promise<Outcome | 'blocked'> {
    const session = this.#session!;
    this.#endedBefore = this.#host.sessions.endedTransactions;
    for (let look = 0; look < MAX_LOOKS; look += 1) {
      const outcome = await Promise.race([this.#running!, realSleep(LOOK_MS)]);
      if (outcome !== undefined) return outcome;
      if (await this.#host.sessions.isWaiting(session.pid)) return 'blocked';
    }
    throw new Error('a statement neither answers nor waits for a lock');
  }

  release(destroy?: boolean | Error): void {
    this.#onRelease();
    if (this.link.isDead) return;
    if (destroy || !this.link.isOpen) this.endSession();
    else {
      if (this.#session !== undefined) this.#host.sessions.giveBack(this.#session);
      this.#session = undefined;
      this.#isEnded = true;
      this.link.isOpen = false;
      this.#host.unregister(this.link);
    }
  }

  /** The server finds out later that the connection is closed. */
  endSession(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.link.isOpen = false;
    if (this.#session === undefined && this.link.late.length === 0) {
      this.#host.unregister(this.link);
      return;
    }
    const end: Sent = { label: 'closed', run: () => this.#close(), answer: () => undefined };
    this.link.late.push(end);
    this.#host.onActivity();
  }

  /** Rolls back what the connection had begun. */
  async #close(): Promise<Outcome> {
    const session = this.#session;
    this.#session = undefined;
    this.#host.unregister(this.link);
    if (session === undefined) return { value: undefined };
    if (this.link.blocked !== undefined) await this.#host.sessions.cancel(session.pid);
    const last = await this.#running;
    // After an error the client does not know which statements the server has parsed.
    if (last !== undefined && 'error' in last) await session.client.end();
    else {
      await session.client.query('rollback');
      this.#host.sessions.giveBack(session);
    }
    return { value: undefined };
  }
}

const clients = new WeakMap<Link, SimulatedClient>();

/** The connection of a link to Postgres breaks. */
export function breakOff(link: Link, kept: number, isCrash: boolean): void {
  link.cut(kept, isCrash);
  clients.get(link)?.endSession();
}

export class SimulatedPool extends EventEmitter {
  readonly options: { query_timeout?: number } = {};
  readonly #host: PoolHost;
  readonly #config: pg.PoolConfig;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(host: PoolHost, config: pg.PoolConfig) {
    super();
    this.#host = host;
    this.#config = config;
  }

  async connect(): Promise<SimulatedClient> {
    if (this.#taken >= (this.#config.max ?? 10))
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#taken += 1;
    const client = new SimulatedClient(this.#host, this.#config, () => {
      this.#taken -= 1;
      this.#waiting.shift()?.();
    });
    clients.set(client.link, client);
    return client;
  }

  async query(query: string | pg.QueryConfig, values?: unknown[]): Promise<unknown> {
    const client = await this.connect();
    let isSound = false;
    try {
      const result = await client.query(query, values);
      isSound = true;
      return result;
    } finally {
      client.release(!isSound);
    }
  }

  async end(): Promise<void> {}
}
