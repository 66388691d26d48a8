/**
 * Counts what each outage of a server costs one process: commands and connections that reach the server, and lines of
 * the log. The processor time is shown and not asserted. `docs/hostile-input.md` has the table.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import pg from 'pg';
import { ethersSigner } from '../../auth/signers.ts';
import { eventually } from '../../support/eventually.ts';
import { type Link, openLink } from '../../support/link.ts';
import { freePort } from '../../support/ports.ts';
import { ownSeconds } from '../../support/proc.ts';
import {
  openRedis,
  type RedisServer,
  type ServerStart,
  startRedisServer,
} from '../../support/redis-server.ts';
import { freshDatabase, freshRedisServer } from '../../support/servers.ts';
import { type Call, operate, type Service, signIn, startService } from '../../support/service.ts';

const OUTAGE_MS = 30_000;
/** Pause between two orders of the one who trades during an outage. */
const ORDER_EVERY_MS = 1_000;
/** Maximum commands and connections in an outage. A process whose servers work sends 200 a second. */
const MAX_COMMANDS = 8_000;
/** Maximum lines in an outage: every ten seconds one for each server, and ten for each kind of refused request. */
const MAX_LINES = 100;
/** Keys that let a server load for as long as an outage lasts, one after the other. */
const SLOW_KEYS = 3_000;
const SLOW_KEY_MICROSECONDS = 15_000;

/** Fails each insert of an event as a full disk would. */
const FULL_DISK = `
  create function full_disk() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
  create trigger full_disk before insert on live_orders execute function full_disk();
  create trigger full_disk before insert on ended_orders execute function full_disk();`;
const EMPTIED_DISK = 'drop function full_disk cascade';

interface Outage {
  readonly name: string;
  /** True if the server cannot tell meanwhile how many commands reach it. */
  readonly isDeaf?: true;
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
}

describe('the cost of an outage', function () {
  this.timeout(300_000);
  const folder = mkdtempSync(join(tmpdir(), 'redbook-outage-'));
  const alice = ethersSigner();
  const rows: string[] = [];
  let redis: RedisServer;
  let admin: Redis;
  let database: string;
  let maintenance: pg.Client;
  let postgres: pg.Client;
  let postgresLink: Link;
  let collector: Server;
  let collectorStatus = 200;
  let exportsSoFar = 0;
  let service: Service;
  let call: Call;

  before(async () => {
    redis = await freshRedisServer({}, (path: string, asked?: ServerStart) =>
      startRedisServer(path, { ...asked, settings: ['enable-debug-command yes'] }),
    );
    admin = openRedis(redis.url, undefined, { enableReadyCheck: false });
    admin.on('error', () => undefined);
    const databaseUrl = await freshDatabase();
    postgres = new pg.Client({ connectionString: databaseUrl });
    await postgres.connect();
    const url = new URL(databaseUrl);
    database = url.pathname.slice(1);
    maintenance = new pg.Client({ connectionString: Object.assign(url, { pathname: '/postgres' }).href });
    await maintenance.connect();
    postgresLink = await openLink(databaseUrl);
    const collectorPort = await freePort();
    collector = createServer((request, response) => {
      exportsSoFar += 1;
      request.resume().on('end', () => response.writeHead(collectorStatus).end('{}'));
    });
    await new Promise<void>((resolve) => collector.listen(collectorPort, '127.0.0.1', resolve));
    service = await startService('all', {
      REDIS_URL: redis.url,
      DATABASE_URL: postgresLink.url,
      DATA_DIR: folder,
      PORT: String(await freePort()),
      OPERATOR_PORT: '0',
      JWT_SECRET: 'a secret of the tests, 32 bytes or more',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collectorPort}`,
    });
    const servers = { REDIS_URL: redis.url, DATABASE_URL: databaseUrl };
    const rules = ['--tick-size', '0.01', '--size-step', '0.001', '--fee-bps', '10'];
    const sizes = ['--min-order-size', 'null', '--max-order-size', 'null'];
    await operate(servers, 'market', 'create', 'ETH/USDC', ...rules, ...sizes);
    await operate(servers, 'account', 'credit', alice.address, 'USDC', '1000000', '--reference', 'a deposit');
    call = (await signIn(service.url, alice))(service.url);
  });
  after(async () => {
    await service?.end('SIGKILL');
    admin?.disconnect();
    await Promise.all([postgres?.end(), maintenance?.end()]);
    postgresLink?.close();
    collector?.close();
    rmSync(folder, { recursive: true, force: true });
    const head = ['| outage | processor | commands | lines |', '| --- | ---: | ---: | ---: |'];
    console.log(['', ...head, ...rows].join('\n'));
  });

  const trades = async (): Promise<boolean> => {
    const order = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: 10, size: 1, timeInForce: 'IOC' };
    const { status } = await call('POST', '/v1/orders', order);
    return status === 200;
  };
  const isWhole = async (): Promise<boolean> =>
    (await fetch(`${service.url}/readyz?deep`)).ok && (await trades());

  /** Commands that Redis ran or refused, its new connections, transactions of Postgres, and exports of spans. */
  const workSoFar = async (): Promise<number> => {
    const info = await admin.info('everything').catch(() => '');
    const figure = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
    const refused = [...info.matchAll(/rejected_calls=(\d+)/g)];
    const ofRedis = figure('total_commands_processed') + figure('total_connections_received');
    const { rows: figures } = await postgres.query(
      'select xact_commit + xact_rollback + sessions as n from pg_stat_database where datname = current_database()',
    );
    const ofPostgres = Number(figures[0].n);
    return refused.reduce((sum, [, calls]) => sum + Number(calls), ofRedis + ofPostgres + exportsSoFar);
  };
  const linesSoFar = (): number => readFileSync(join(folder, 'redbook.log'), 'latin1').split('\n').length;

  /** Trades slowly for as long as the outage lasts. */
  const outlast = async (): Promise<void> => {
    const endMs = Date.now() + OUTAGE_MS;
    while (Date.now() < endMs) {
      trades().catch(() => undefined);
      await sleep(ORDER_EVERY_MS);
    }
  };

  const asUsers = async (...rules: string[]): Promise<void> => {
    for (const user of ['engine-all', 'queue-all']) await admin.call('ACL', 'SETUSER', user, ...rules);
  };
  const asBefore = (): Promise<unknown> => admin.call('ACL', 'LOAD');
  const dropClients = async (): Promise<void> => {
    for (const user of ['engine-all', 'queue-all']) await admin.call('CLIENT', 'KILL', 'USER', user);
  };

  const ofRedis: Outage[] = [
    {
      name: 'Redis is full',
      begin: () => admin.config('SET', 'maxmemory', '1'),
      end: () => admin.config('SET', 'maxmemory', '0'),
    },
    {
      name: 'Redis is a replica',
      begin: async () => admin.replicaof('127.0.0.1', await freePort()),
      end: () => admin.replicaof('NO', 'ONE'),
    },
    {
      name: 'Redis refuses scripts to its users',
      begin: () => asUsers('-evalsha', '-eval', '-bzpopmin'),
      end: asBefore,
    },
    {
      name: 'Redis refuses the passwords',
      begin: () => asUsers('resetpass', '>another').then(dropClients),
      end: asBefore,
    },
    {
      name: 'Redis loads its data',
      begin: async () => {
        await admin.call('DEBUG', 'POPULATE', SLOW_KEYS, 'filler', 1_000);
        await admin.config('SET', 'loading-process-events-interval-bytes', '1024');
        await admin.config('SET', 'key-load-delay', SLOW_KEY_MICROSECONDS);
        const other = openRedis(redis.url);
        other.call('DEBUG', 'RELOAD').finally(() => other.disconnect());
      },
      end: () => admin.config('SET', 'key-load-delay', '0'),
    },
    { name: 'Redis is gone', isDeaf: true, begin: () => redis.kill(), end: () => redis.start() },
    {
      name: 'Redis hangs',
      isDeaf: true,
      begin: async () => process.kill(redis.pid(), 'SIGSTOP'),
      end: async () => process.kill(redis.pid(), 'SIGCONT'),
    },
  ];
  const ofPostgres: Outage[] = [
    {
      name: 'Postgres is full',
      begin: () => postgres.query(FULL_DISK),
      end: () => postgres.query(EMPTIED_DISK),
    },
    {
      name: 'Postgres has no connection left',
      begin: async () => {
        await maintenance.query(`alter database ${database} allow_connections false`);
        await postgres.query(`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = '${database}' and pid <> pg_backend_pid()`);
      },
      end: () => maintenance.query(`alter database ${database} allow_connections true`),
    },
    { name: 'Postgres is gone', begin: async () => postgresLink.cut(), end: () => postgresLink.mend() },
    { name: 'Postgres hangs', begin: async () => postgresLink.stall(), end: () => postgresLink.mend() },
  ];
  const setCollector = (status: number) => async () => {
    collectorStatus = status;
  };
  const ofCollector: Outage[] = [
    { name: 'nothing is away', begin: setCollector(200), end: setCollector(200) },
    { name: 'the collector of traces refuses spans', begin: setCollector(503), end: setCollector(200) },
    {
      name: 'the collector of traces is gone',
      begin: async () => {
        collector.close();
        collector.closeAllConnections();
      },
      end: async () => undefined,
    },
  ];

  for (const { name, isDeaf = false, begin, end } of [...ofRedis, ...ofPostgres, ...ofCollector]) {
    it(`is bounded while ${name}`, async () => {
      await eventually('the service works', isWhole);
      await begin();
      const secondsBefore = ownSeconds(service.child.pid!);
      const linesBefore = linesSoFar();
      const workBefore = isDeaf ? 0 : await workSoFar();
      await outlast();
      const work = isDeaf ? 0 : (await workSoFar()) - workBefore;
      const lines = linesSoFar() - linesBefore;
      const seconds = ownSeconds(service.child.pid!) - secondsBefore;
      rows.push(`| ${name} | ${seconds.toFixed(1)} s | ${isDeaf ? '' : work} | ${lines} |`);
      await end();
      expect(work, 'commands').to.be.below(MAX_COMMANDS);
      expect(lines, 'lines').to.be.below(MAX_LINES);
      await eventually('the service works again', isWhole, 120_000);
    });
  }
});
