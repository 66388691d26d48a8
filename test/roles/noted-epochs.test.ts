/** Tests that no epoch begins twice: Postgres remembers epochs that the engine's Redis has forgotten. */

import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import pg from 'pg';
import { Refusal } from '../../src/domain/errors.ts';
import {
  type Engine,
  EngineExhausted,
  EngineMisconfigured,
  type EpochNotes,
  giveList,
  openEngine,
} from '../../src/engine/index.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import { type EngineGate, keepEngineOpen } from '../../src/roles/engine-gate.ts';
import { ALICE, changeState, codeOf, eventsOf, fund, limit, place, publishPlain } from '../engine/fixture.ts';
import { query } from '../ledger/tables.ts';
import { eventually } from '../support/eventually.ts';
import { LIMITS } from '../support/limits.ts';
import { openRedis, type RedisServer, startRedisServer } from '../support/redis-server.ts';
import { freshLedgerDatabase, freshRedisServer } from '../support/servers.ts';

const M = 'ETH/USD';

describe('epochs that Postgres has noted', () => {
  let server: RedisServer;
  let redis: Redis;
  let databaseUrl: string;
  let ledger: Ledger;
  let engine: Engine;
  let told: string[];
  let gate: EngineGate | undefined;

  beforeEach(async () => {
    server = await freshRedisServer({}, startRedisServer);
    redis = openRedis(server.url, undefined, { enableOfflineQueue: false, retryStrategy: () => 20 });
    redis.on('error', () => undefined); // it is killed on purpose
    databaseUrl = await freshLedgerDatabase();
    ledger = openLedger({ databaseUrl });
    engine = openEngine({ redis, ...LIMITS, epochs: ledger.epochs });
    told = [];
    gate = undefined;
    await ready();
  });
  afterEach(async () => {
    gate?.stop();
    redis.disconnect();
    await ledger.close();
    await server.stop();
  });

  const ready = async (): Promise<void> => {
    if (redis.status !== 'ready') await new Promise((resolve) => redis.once('ready', resolve));
  };
  const kill = async (): Promise<void> => {
    await server.kill();
    await eventually('the connection is broken', async () => redis.status !== 'ready');
  };
  const startAgain = async (): Promise<void> => {
    await server.start();
    await ready();
    await isOpen();
  };
  const guard = async (): Promise<void> => {
    const tell = (...words: unknown[]): void => void told.push(`${words.at(-1)}`);
    const logger = { info: () => undefined, warn: tell, error: tell, debug: () => undefined } as never;
    gate = keepEngineOpen({ redis, engine, ledger, logger, retryRefusedMs: 20 });
    await isOpen();
  };
  const isOpen = (): Promise<void> => eventually('the engine is open', async () => engine.lifecycle.isOpen());
  const noted = (): Promise<{ epoch: number; server: string }[]> =>
    query(databaseUrl, 'select epoch, server from engine_epochs order by epoch');
  const epochNow = async (): Promise<number> => (await engine.reads.state()).epoch;
  const sell = async (): Promise<string> => (await place(engine, ALICE, limit(M, 'sell', 10, 1))).order.id;

  it('go into the row of an engine whose copies have left, and begin on no server alone while it has copies', async () => {
    const rowNow = async () => (await ledger.copies.read())!;
    await ledger.copies.begin('one:6379', 0);
    const before = await rowNow();
    await guard();
    await kill();
    await startAgain();
    const after = await rowNow();
    expect([after.epoch, after.begunOn]).to.deep.equal([await epochNow(), 'one:6379']);
    expect(after.version).to.be.above(before.version);
    await ledger.copies.startJoining(after, 'two:6379');
    const refused = await codeOf(ledger.epochs.note({ epoch: after.epoch + 1, server: 'another run' }));
    expect(refused).to.equal('SERVICE_UNAVAILABLE');
    expect((await noted()).map(({ epoch }) => epoch)).not.to.include(after.epoch + 1);
  });

  it('never begin again on a server that has forgotten them, and their lost orders are reported once', async () => {
    await guard();
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 100n });
    await ledger.settlement.settle(await eventsOf(engine));
    const [, folder] = (await redis.config('GET', 'dir')) as [string, string];
    const data = join(folder, 'appendonlydir');
    const kept = join(folder, 'kept');
    await kill();
    cpSync(data, kept, { recursive: true });
    await startAgain();
    const lost = [await sell(), await sell()];
    expect(await epochNow()).to.equal(2);

    // A copy of the data that lacks the last epoch, as that of a replica which lags.
    await kill();
    rmSync(data, { recursive: true });
    cpSync(kept, data, { recursive: true });
    await startAgain();
    const placed = [await sell(), await sell()];
    expect(placed.filter((id) => lost.includes(id))).to.deep.equal([]);
    expect(await epochNow()).to.equal(3);
    const sentences = told.filter((sentence) => sentence.includes('lacks it'));
    expect(sentences).to.have.length(1);
    expect(sentences[0]).to.include('epoch 2 began on another Redis');
    expect((await noted()).map(({ epoch }) => epoch)).to.deep.equal([1, 2, 3]);
  });

  it('are shared by all processes of a server, and noted before the engine opens', async () => {
    const others = [1, 2, 3].map(() => openEngine({ redis, ...LIMITS, epochs: ledger.epochs }));
    const known = await ledger.epochs.position();
    await Promise.all([engine, ...others].map((one) => one.lifecycle.open(known)));
    expect(await noted()).to.deep.equal([{ epoch: 1, server: await engine.lifecycle.serverRunId() }]);
  });

  /** Sets whether Postgres takes notes. Sessions of the ledger set by themselves that their transactions write. */
  const setReadOnly = (isReadOnly: boolean): Promise<unknown> =>
    query(
      databaseUrl,
      isReadOnly
        ? `create function refuse() returns trigger language plpgsql as
             $$ begin raise read_only_sql_transaction using message = 'cannot execute INSERT in a read-only transaction'; end $$;
           create trigger refused before insert on engine_epochs execute function refuse()`
        : 'drop function refuse cascade',
    );

  it('open only when Postgres has their note, so that an older copy begins none of them again', async () => {
    await guard();
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 100n });
    await ledger.settlement.settle(await eventsOf(engine));
    await setReadOnly(true);
    // Each of these servers would begin the same epoch.
    for (let restarts = 0; restarts < 3; restarts += 1) {
      await kill();
      await server.start();
      await ready();
      const begins = async () => `${await redis.hget(KEYS.engine, 'begins')}`;
      const runId = await engine.lifecycle.serverRunId();
      await eventually('it asks for a note', async () => (await begins()) === `2 ${runId}`);
    }
    await eventually('it is reported', async () => told.some((sentence) => sentence.includes('read-only')));
    expect(await codeOf(sell())).to.equal('SERVICE_UNAVAILABLE');
    expect(told.some((sentence) => sentence.startsWith('waiting for Postgres'))).to.equal(true);
    expect(await noted()).to.have.length(1);
    await setReadOnly(false);
    await isOpen();
    await sell();
    expect((await noted()).map(({ epoch }) => epoch)).to.deep.equal([1, 2]);
  });

  it('stay open while Postgres takes no writes, also in a process that starts then', async () => {
    await guard();
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 100n });
    await setReadOnly(true);
    await sell();
    for (const known of [undefined, await ledger.epochs.position()]) {
      const other = openEngine({ redis, ...LIMITS, epochs: ledger.epochs });
      await other.lifecycle.open(known);
      await place(other, ALICE, limit(M, 'sell', 10, 1));
    }
    await setReadOnly(false);
  });

  it('do not open without Postgres while their note is missing', async () => {
    const epochs: EpochNotes = { note: () => Promise.reject(new Refusal('SERVICE_UNAVAILABLE')) };
    const other = openEngine({ redis, ...LIMITS, epochs });
    expect(await codeOf(other.lifecycle.open(await ledger.epochs.position()))).to.equal(
      'SERVICE_UNAVAILABLE',
    );
    expect(await codeOf(engine.lifecycle.open(undefined))).to.equal('SERVICE_UNAVAILABLE');
    await engine.lifecycle.open(await ledger.epochs.position());
    expect([await epochNow(), (await noted()).length]).to.deep.equal([1, 1]);
  });

  it('are on the disk of Postgres before they open, when other commits do not wait for the disk', async () => {
    const waited: string[] = [];
    await query(
      databaseUrl,
      `create function told() returns trigger language plpgsql as
         $$ begin perform pg_notify('told', current_setting('synchronous_commit')); return null; end $$;
       create constraint trigger told after insert on engine_epochs deferrable initially deferred
         for each row execute function told();
       alter database ${new URL(databaseUrl).pathname.slice(1)} set synchronous_commit = off`,
    );
    const client = new pg.Client(databaseUrl);
    client.on('error', () => undefined);
    await client.connect();
    client.on('notification', ({ payload }) => waited.push(payload!));
    await client.query('listen told');
    const fresh = openLedger({ databaseUrl });
    await fresh.epochs.note({ epoch: 7, server: 'a' });
    await eventually('the commit is told', async () => waited.length > 0);
    expect(waited).to.deep.equal(['on']);
    await Promise.all([fresh.close(), client.end()]);
  });

  it('are noted again in a Postgres that was restored to an earlier moment', async () => {
    await guard();
    await query(databaseUrl, 'delete from engine_epochs');
    await eventually('the epoch is noted', async () => (await noted()).length === 1);
  });

  it('are noted by a process that finds them without a note', async () => {
    await openEngine({ redis, ...LIMITS }).lifecycle.open(await ledger.epochs.position());
    expect(await noted()).to.deep.equal([]);
    await guard();
    expect((await noted()).map(({ epoch }) => epoch)).to.deep.equal([1]);
  });

  it('are noted by a process whose connection stays open while another process begins them', async () => {
    await guard();
    // Another process opens an engine that was rebuilt on the same server.
    await redis.hdel(KEYS.engine, 'server');
    await openEngine({ redis, ...LIMITS }).lifecycle.open(await ledger.epochs.position());
    await publishPlain(engine, M);
    await eventually('both are noted', async () => (await noted()).length === 2);
  });

  it('take the next number when another server begins one at the same time', async () => {
    const known = await ledger.epochs.position();
    await ledger.epochs.note({ epoch: 1, server: 'another' });
    expect(await codeOf(engine.lifecycle.open(known))).to.equal('SERVICE_UNAVAILABLE');
    expect(engine.lifecycle.isOpen()).to.equal(false);
    await guard();
    expect(await epochNow()).to.equal(2);
  });

  it('close an engine that opened without Postgres under a number of another server', async () => {
    await openEngine({ redis, ...LIMITS }).lifecycle.open(await ledger.epochs.position());
    await ledger.epochs.note({ epoch: 1, server: 'another' });
    await engine.lifecycle.open(undefined);
    await engine.lifecycle.noteEpoch((await ledger.epochs.position()).begun);
    expect(engine.lifecycle.isOpen()).to.equal(false);
    await guard();
    expect(await epochNow()).to.equal(2);
  });

  it('close an engine as soon as another server has a later one', async () => {
    await guard();
    await ledger.epochs.note({ epoch: 2, server: 'another' });
    await engine.lifecycle.noteEpoch((await ledger.epochs.position()).begun);
    expect(engine.lifecycle.isOpen()).to.equal(false);
  });

  it('begin on a service that keeps each write by itself, and shows neither settings nor its file', async () => {
    const start: typeof startRedisServer = (path, asked) => startRedisServer(path, { ...asked, settings });
    const settings = ['rename-command CONFIG ""', 'rename-command BGREWRITEAOF ""'];
    const service = await freshRedisServer({}, start);
    const own = openRedis(service.url.replace('redis://', 'redis+durable://'), undefined, {
      enableOfflineQueue: false,
      retryStrategy: () => 20,
    });
    own.on('error', () => undefined);
    const warned: string[] = [];
    const warn = (message: string): void => void warned.push(message);
    const open = openEngine({ redis: own, ...LIMITS, epochs: ledger.epochs, isDurable: true, warn });
    const begins = (): Promise<void> =>
      eventually('it is open', async () => {
        await open.lifecycle.open(await ledger.epochs.position());
        await open.lifecycle.inspect();
        return true;
      });
    await begins();
    await publishPlain(open, M);
    await service.kill();
    await service.start();
    await begins();
    expect((await noted()).map(({ epoch }) => epoch)).to.deep.equal([1, 2]);
    expect(warned).to.deep.equal([]);
    own.disconnect();
  });

  it('begin on no engine with copies that the process would not wait for', async () => {
    await giveList(redis, { version: 1, mark: 'first', names: ['one:6379', 'two:6379'] });
    const opening = engine.lifecycle.open(await ledger.epochs.position());
    expect(await opening.catch((error: unknown) => error))
      .to.be.instanceOf(EngineMisconfigured)
      .with.property('message')
      .that.includes('the engine has copies (one:6379, two:6379)');
  });

  it('end before the prefix bytes that are reserved', async () => {
    await changeState(redis, { epoch: 65_278 });
    await engine.lifecycle.open({ epoch: 1, sequence: 0 });
    expect(await epochNow()).to.equal(65_279);
    await redis.hset(KEYS.engine, 'server', 'of another run');
    const opening = engine.lifecycle.open({ epoch: 1, sequence: 0 });
    expect(await opening.catch((error: unknown) => error)).to.be.instanceOf(EngineExhausted);
    expect((await engine.reads.state().catch(() => ({ epoch: 65_279 }))).epoch).to.equal(65_279);
  });
});
