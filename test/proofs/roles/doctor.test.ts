/** Tests `redbook doctor` on real servers: each setting, right, clock, disk and address is broken, and it must find it. */

import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { tellDoctor } from '../../../src/roles/doctor.ts';
import type { Finding } from '../../../src/roles/doctor-checks.ts';
import { type Copies, startCopies } from '../../support/copies.ts';
import { eventually } from '../../support/eventually.ts';
import { type FakedClock, fakedClock } from '../../support/faked-clock.ts';
import { obtainPgBouncer, startPgBouncer } from '../../support/pgbouncer.ts';
import {
  asUser,
  openRedis,
  PASSWORD,
  type RedisServer,
  startRedisServer,
} from '../../support/redis-server.ts';
import { freshDatabase, freshLedgerDatabase, postgresOf } from '../../support/servers.ts';

type Env = Record<string, string>;
interface Answer {
  readonly status: number;
  readonly findings: readonly Finding[];
}

const ROOT = new URL('../../../', import.meta.url);
const HOUR = 3_600;

async function ask(env: Env, ...argv: string[]): Promise<Answer> {
  const lines: string[] = [];
  const status = await tellDoctor(env, [...argv, '--json'], (line) => lines.push(line));
  return { status, findings: JSON.parse(lines.join('\n')).findings };
}
const wrongOf = ({ findings }: Answer): Finding[] => findings.filter(({ verdict }) => verdict !== 'right');
/** Failed checks, as `part: check verdict`. */
const shown = (answer: Answer): string[] =>
  wrongOf(answer).map(({ part, what, verdict }) => `${part.replace(/ .*/, '')}: ${what} ${verdict}`);

describe('redbook doctor', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-doctor-'));
  let clock: FakedClock | undefined;
  let engine: RedisServer;
  let queue: RedisServer;
  let admin: Redis;
  let queueAdmin: Redis;
  let right: Env;

  before(async () => {
    clock = await fakedClock();
    const settings = ['maxmemory 100mb'];
    const environment = clock?.environment ?? {};
    engine = await startRedisServer(join(folder, 'engine'), { settings, environment });
    queue = await startRedisServer(join(folder, 'queue'), { settings });
    admin = openRedis(engine.url);
    queueAdmin = openRedis(queue.url);
    right = {
      REDIS_URL: asUser('engine-operator', engine.url),
      QUEUE_REDIS_URL: asUser('queue-operator', queue.url),
      DATABASE_URL: await freshLedgerDatabase(),
      // The Postgres of the tests waits for no disk.
      ENGINE_DURABILITY: 'trusted',
    };
  });
  after(async () => {
    admin?.disconnect();
    queueAdmin?.disconnect();
    await Promise.all([engine?.stop(), queue?.stop()]);
    clock?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it('finds nothing where all is right', async () => {
    const answer = await ask(right);
    expect(wrongOf(answer)).to.deep.equal([]);
    expect(answer.status).to.equal(0);
    expect(answer.findings.length).to.be.above(15);
  });

  /** Sets a parameter of a server, and returns what sets it back. */
  const set = async (redis: Redis, name: string, value: string): Promise<() => Promise<unknown>> => {
    const [, before] = (await redis.config('GET', name)) as string[];
    await redis.config('SET', name, value);
    return () => redis.config('SET', name, before!);
  };
  const without = async (redis: Redis, user: string, right: string): Promise<() => Promise<unknown>> => {
    await redis.call('ACL', 'SETUSER', user, `-${right}`);
    return () => redis.call('ACL', 'LOAD');
  };
  const BROKEN: readonly (readonly [
    what: string,
    make: () => Promise<() => Promise<unknown>>,
    ...found: readonly string[],
  ])[] = [
    [
      'an engine that does not wait for its disk',
      () => set(admin, 'appendfsync', 'everysec'),
      'Redis: settings that keep answered orders must',
    ],
    [
      'an engine that evicts keys',
      () => set(admin, 'maxmemory-policy', 'allkeys-lru'),
      'Redis: settings that keep answered orders must',
    ],
    [
      'an engine that keeps hashes as lists',
      () => set(admin, 'hash-max-listpack-entries', '128'),
      'Redis: hashes without lists should',
    ],
    ['an engine without a bound of memory', () => set(admin, 'maxmemory', '0'), 'Redis: memory should'],
    ['too few connections', () => set(admin, 'maxclients', '8'), 'Redis: connections must'],
    [
      'a right of the engine',
      () => without(admin, 'engine-operator', 'xinfo'),
      'Redis: rights of its user must',
    ],
    [
      'a right of the queue',
      () => without(queueAdmin, 'queue-operator', 'zcount'),
      'Redis: rights of its user must',
    ],
    [
      'a queue that evicts keys',
      () => set(queueAdmin, 'maxmemory-policy', 'allkeys-lru'),
      'Redis: forgets nothing should',
    ],
    [
      'an engine of another format',
      async () => {
        await admin.hset('{redbook}:engine', 'format', '1');
        return () => admin.del('{redbook}:engine');
      },
      'Redis: format of the engine must',
    ],
    [
      'one of several copies',
      async () => {
        await admin.hset('{redbook}:copies', 'names', 'one:1 two:1');
        return () => admin.del('{redbook}:copies');
      },
      'Redis: is no copy must',
    ],
    [
      'a disk on which the engine cannot write its file anew',
      async () => {
        const [from, to] = ['appendonlydir', 'away'].map((name) => join(folder, 'engine', name)) as [
          string,
          string,
        ];
        const failed = async (): Promise<boolean> =>
          (await admin.info('persistence')).includes('aof_last_bgrewrite_status:err');
        renameSync(from, to);
        writeFileSync(from, '');
        await admin.bgrewriteaof().catch(() => undefined);
        await eventually('the rewrite has failed', failed);
        return async () => {
          rmSync(from);
          renameSync(to, from);
          await admin.bgrewriteaof();
          await eventually('it is written', async () => !(await failed()));
        };
      },
      'Redis: disk must',
    ],
  ];
  for (const [what, make, ...found] of BROKEN)
    it(`finds ${what}`, async () => {
      const mend = await make();
      try {
        const answer = await ask(right);
        expect(shown(answer)).to.deep.equal(found);
        expect(answer.status).to.equal(found.some((one) => one.endsWith('must')) ? 1 : 0);
      } finally {
        await mend();
      }
      expect(wrongOf(await ask(right))).to.deep.equal([]);
    });

  it('finds a clock that is ahead', async function () {
    if (clock === undefined) this.skip();
    clock.setAhead(HOUR);
    const answer = await ask(right);
    clock.setAhead(0);
    expect(shown(answer)).to.deep.equal(['Redis: clock must']);
    expect(wrongOf(answer)[0]!.found).to.match(/^it is 3\d{6} ms ahead of this machine, and sessions would/);
  });

  const OTHERWISE: readonly (readonly [
    what: string,
    env: () => Promise<Env>,
    ...found: readonly string[],
  ])[] = [
    [
      'a wrong password of Redis, and does not show it',
      async () => ({ REDIS_URL: right.REDIS_URL!.replace(`:${PASSWORD}@`, ':secret@') }),
      'Redis: answers must',
    ],
    [
      'a server that is away',
      async () => ({ QUEUE_REDIS_URL: 'redis://127.0.0.1:1' }),
      'Redis: answers must',
    ],
    [
      'a Postgres that is away',
      async () => ({ DATABASE_URL: 'postgres://127.0.0.1:1/x' }),
      'Postgres: answers must',
    ],
    [
      'a Postgres that may lose commits',
      async () => ({ ENGINE_DURABILITY: 'checked' }),
      'Postgres: settings that keep commits must',
    ],
    [
      'a database without tables',
      async () => ({ DATABASE_URL: await freshDatabase() }),
      'Postgres: tables should',
    ],
    [
      'a user of Postgres without the rights of the role',
      async () => ({ DATABASE_URL: postgresOf('api', right).DATABASE_URL! }),
      'Postgres: rights of its user must',
    ],
    [
      'a collector that is away',
      async () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }),
      'http://127.0.0.1:1: answers should',
    ],
    ['a setting that is wrong', async () => ({ MAX_MAKERS: 'many' }), 'settings: complete and valid must'],
  ];
  for (const [what, env, ...found] of OTHERWISE)
    it(`finds ${what}`, async () => {
      const answer = await ask({ ...right, ...(await env()) });
      expect(shown(answer)).to.deep.equal(found);
      expect(answer.status).to.equal(found.some((one) => one.endsWith('must')) ? 1 : 0);
      expect(JSON.stringify(answer)).not.to.include('secret');
    });

  it('finds a pooler that shares sessions (where PgBouncer can be had)', async function () {
    const program = await obtainPgBouncer().catch(() => this.skip());
    const pooler = await startPgBouncer(program, right.DATABASE_URL!, 'transaction');
    try {
      const answer = await ask({ ...right, DATABASE_URL: pooler.databaseUrl });
      expect(shown(answer)).to.include('Postgres: sessions of its own must');
    } finally {
      pooler.stop();
    }
  });

  it('asks as each role that has a folder of files, and finds a setting that a role lacks', async () => {
    const keys = join(folder, 'keys');
    for (const role of ['api', 'stream', 'settlement', 'migrate']) {
      mkdirSync(join(keys, role), { recursive: true });
      const write = (name: string, text: string): void => writeFileSync(join(keys, role, name), `${text}\n`);
      if (role !== 'stream') write('database-url', right.DATABASE_URL!);
      if (role === 'migrate') continue;
      write('redis-url', asUser(`engine-${role}`, engine.url));
      write('queue-redis-url', asUser(`queue-${role}`, queue.url));
    }
    const answer = await ask({ ENGINE_DURABILITY: 'trusted' }, '--keys', keys);
    expect([...new Set(answer.findings.map(({ role }) => role))]).to.have.members([
      'api',
      'stream',
      'settlement',
      'migrate',
    ]);
    expect(answer.status).to.equal(1);
    expect(wrongOf(answer).map(({ role, found }) => [role, found])).to.deep.equal([
      ['api', 'JWT_SECRET and WEB_HOSTS are required by the role api.'],
    ]);
  });

  describe('on an engine with copies', () => {
    let copies: Copies;
    before(async () => {
      copies = await startCopies();
    });
    after(() => copies?.stop());

    it('asks each of them, and finds the one that is set wrongly', async () => {
      const env = { ...right, REDIS_URL: asUser('engine-operator', copies.url) };
      expect(shown(await ask(env)).filter((one) => one.endsWith('must'))).to.deep.equal([]);
      const [name, server] = [...copies.servers][1]!;
      const one = openRedis(server.url);
      await one.config('SET', 'replica-read-only', 'no');
      const answer = await ask(env);
      await one.config('SET', 'replica-read-only', 'yes');
      one.disconnect();
      const must = answer.findings.filter(({ verdict }) => verdict === 'must');
      expect(must.map(({ part }) => part)).to.deep.equal([`copy ${name} (REDIS_URL)`]);
      expect(must[0]!.found).to.include('replica-read-only is no, must be yes');
    });
  });

  it('names a heading of a document with each finding', async () => {
    const { findings } = await ask({ ...right, REDIS_URL: asUser('engine-operator', engine.url) });
    for (const { see } of findings) {
      const [, file, heading] = /^(docs\/\S+\.md), "(.+)"$/.exec(see) ?? [];
      const text = readFileSync(new URL(file!, ROOT), 'utf8');
      expect(text, see).to.match(new RegExp(`^##+ ${heading}$`, 'm'));
    }
  });
});
