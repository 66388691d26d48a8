/** Proves that each Redis user may run exactly what its role runs. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { checkRights, namedRight } from '../../../src/engine/index.ts';
import { loadScript } from '../../../src/redis/lua.ts';
import { query } from '../../ledger/tables.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/ports.ts';
import { ADMIN, openRedis } from '../../support/redis-server.ts';
import { freshDatabase, loneRedis } from '../../support/servers.ts';
import { isReady, launchService, operate } from '../../support/service.ts';

const FILE = new URL('../../../k8s/shared/users.acl', import.meta.url);

interface User {
  readonly name: string;
  readonly rules: readonly string[];
}

const users: readonly User[] = readFileSync(FILE, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => {
    const [, name, ...rules] = line.replace(/[()]/g, '').split(' ');
    return { name: name!, rules };
  });
const rulesOf = (name: string): readonly string[] => users.find((user) => user.name === name)?.rules ?? [];
const grantsOf = (name: string): string[] =>
  rulesOf(name)
    .filter((rule) => rule.startsWith('+'))
    .map((rule) => rule.slice(1));

/** The work of a role: our scripts, BullMQ's scripts, and single commands. */
interface Work {
  readonly scripts?: readonly string[];
  readonly jobs?: readonly string[];
  readonly commands?: readonly string[];
}

/** Commands of each connection, and of finding the right node of a cluster. */
const CONNECT = ['info', 'client|setname', 'cluster|slots'];
const OPEN: Work = {
  scripts: ['open_epoch', 'set_copies'],
  // A Redis older than 7.2 rejects a file that names WAITAOF, so the file names its category, less all that use keys.
  commands: ['config|get', 'bgrewriteaof', 'role', 'wait', '@blocking', 'hmget'],
};
/** Commands of those that keep the copies of an engine. */
const KEEP: Work = {
  commands: [
    'replicaof',
    'watch',
    'unwatch',
    'multi',
    'exec',
    'client|kill',
    'time',
    'hget',
    'hset',
    'pubsub|numsub',
    'publish',
  ],
};
/** Scripts of operators, by commands and by HTTP. */
const OF_OPERATORS = [
  'set_asset',
  'set_market',
  'set_switch',
  'move_funds',
  'cancel_orders',
  'find_live_orders',
  'find_unsettled',
  'read_balances',
];
const MARKETS = ['hget', 'hvals'];
const ADD_JOBS = ['addStandardJob'];
const DO_JOBS = [
  'addJobScheduler',
  'updateJobScheduler',
  'addDelayedJob',
  'moveToActive',
  'moveToFinished',
  'extendLock',
  'extendLocks',
  'releaseLock',
  'moveStalledJobsToWait',
  'getCounts',
];

const WORK: Record<string, readonly Work[]> = {
  'engine-api': [
    OPEN,
    {
      scripts: [
        'place_orders',
        'admit_order',
        'cancel_orders',
        'find_claim',
        'find_live_orders',
        'find_unsettled',
        'read_balances',
        'read_book',
        'read_quotes',
        'set_switch',
        'set_cancel_after',
        'take_due_cancels',
        'lease_due_cancel',
      ],
      commands: [...MARKETS, 'hmget', 'hgetall', 'xrange', 'xread', 'zrange', 'time'],
    },
  ],
  'engine-stream': [{ commands: ['hget', 'role'] }],
  'engine-settlement': [
    OPEN,
    KEEP,
    {
      scripts: ['trim_settled', 'set_filter'],
      commands: ['hmget', 'hvals', 'xrange', 'getrange', 'bitfield'],
    },
  ],
  'engine-snapshot': [
    OPEN,
    { scripts: ['read_book', 'read_quotes'], commands: [...MARKETS, 'hmget', 'xrange', 'time'] },
  ],
  'engine-operator': [
    OPEN,
    {
      scripts: [
        ...OF_OPERATORS,
        'scan_fields',
        'scan_members',
        'scan_switches',
        'find_indexed',
        'read_fields',
        'read_head',
        'begin_rebuild',
        'fill_rebuild',
        'end_rebuild',
      ],
      commands: [
        ...MARKETS,
        'hmget',
        'hgetall',
        'xrange',
        'getrange',
        'client|list',
        'acl|list',
        'scan',
        'pttl',
      ],
    },
    { commands: ['exists', 'unlink'] },
  ],
  'engine-operator-api': [
    OPEN,
    {
      scripts: [...OF_OPERATORS, 'read_head'],
      commands: [...MARKETS, 'hmget', 'hgetall', 'xrange', 'zrange', 'client|list'],
    },
  ],
  'queue-api': [
    {
      scripts: ['consume_challenge', 'count_requests', 'count_orders'],
      jobs: ADD_JOBS,
      commands: ['get', 'set'],
    },
  ],
  'queue-stream': [{ commands: ['exists', 'subscribe', 'unsubscribe', 'publish'] }],
  'queue-settlement': [{ jobs: [...ADD_JOBS, ...DO_JOBS], commands: ['bzpopmin'] }],
  'queue-snapshot': [
    { jobs: DO_JOBS, commands: ['bzpopmin'] },
    { scripts: ['claim_beat'], commands: ['hget', 'hset', 'time', 'exists', 'pubsub|channels'] },
    { commands: ['subscribe', 'unsubscribe', 'publish'] },
  ],
  'queue-operator-api': [{ jobs: [...ADD_JOBS, 'getCounts'], commands: ['hset', 'hget', 'time'] }],
  'queue-operator': [{ jobs: ['getCounts'], commands: ['hset', 'hget', 'time'] }],
};
for (const server of ['engine', 'queue'])
  WORK[`${server}-all`] = Object.entries(WORK).flatMap(([name, work]) =>
    name.startsWith(server) ? work : [],
  );

const bullScripts: Record<string, { name: string; content: string }> = createRequire(import.meta.url)(
  'bullmq/dist/cjs/scripts/index.js',
);

describe('the users of Redis', () => {
  let url: string;
  let known: ReadonlySet<string>;
  const opened: Redis[] = [];
  const as = (user: string): Redis => {
    const redis = openRedis(url, user, { enableReadyCheck: false });
    opened.push(redis);
    return redis;
  };

  before(async () => {
    url = await loneRedis();
    known = new Set((await openAdmin().call('COMMAND', 'LIST')) as string[]);
  });
  after(() => {
    for (const redis of opened) redis.disconnect();
  });
  const openAdmin = (): Redis => {
    const redis = openRedis(url);
    opened.push(redis);
    return redis;
  };

  const commandsIn = (source: string): string[] =>
    [...source.matchAll(/call\('([A-Z]+)'/g)].map(([, name]) => name!.toLowerCase());
  /** Returns every command name in a script of BullMQ, because its scripts pass command names as values. */
  const commandsInJob = (name: string): string[] => {
    const found = Object.values(bullScripts).find((script) => script.name === name);
    if (found === undefined) throw new Error(`BullMQ has no script ${name}`);
    const words = [...found.content.matchAll(/["']([A-Z]+)["']/g)].map(([, word]) => word!.toLowerCase());
    return words.filter((word) => known.has(word));
  };
  const needsOf = ({ scripts = [], jobs = [], commands = [] }: Work): string[] => {
    const loaded = scripts.map(loadScript);
    return [
      ...commands,
      ...loaded.flatMap(({ source, readOnly }) => [
        ...commandsIn(source),
        ...(readOnly ? ['evalsha_ro', 'eval_ro'] : ['evalsha', 'eval']),
      ]),
      ...(jobs.length > 0 ? ['evalsha', 'eval'] : []),
      ...jobs.flatMap(commandsInJob),
    ];
  };

  for (const [name, work] of Object.entries(WORK))
    it(`allow ${name} exactly its own commands`, () => {
      const needed = new Set([...CONNECT, ...work.flatMap(needsOf)]);
      expect(grantsOf(name).sort()).to.deep.equal([...needed].sort());
    });

  it('are of every role and server, with one each for probes, the operator, backups and replication', () => {
    const others = ['default', 'probe', 'admin', 'backup', 'replica'];
    expect(users.map(({ name }) => name)).to.have.members([...Object.keys(WORK), ...others]);
    for (const { name, rules } of users.filter(({ name }) => name !== 'default'))
      expect(rules, name).to.include.members(['on', '-@all']);
    expect(users.filter(({ rules }) => rules.includes('nopass')).map(({ name }) => name)).to.deep.equal([
      'probe',
    ]);
  });

  it('do not restrict the user as which a server replays its own file', () => {
    // Before version 8.4, Redis replays the transactions in its append-only file as the user `default`, and scripts
    // write transactions. Redis silently skips commands that `default` may not run, which would leave the books empty.
    expect(rulesOf('default')).to.deep.equal(['off', 'resetpass', '~*', '&*', '+@all']);
  });

  const refused: readonly [user: string, ...command: string[]][] = [
    ['engine-api', 'FLUSHALL'],
    ['engine-api', 'CONFIG', 'SET', 'appendfsync', 'no'],
    ['engine-api', 'SET', 'other', '1'],
    ['engine-api', 'HSET', '{redbook}:assets', 'ETH', '2'],
    ['engine-api', 'EVAL', 'return 1', '1', '{redbook}:limit:x'],
    ['engine-api', 'DEL', '{redbook}:events'],
    ['engine-stream', 'HSET', '{redbook}:markets', 'ETH/USDC', '{}'],
    ['engine-stream', 'HGET', '{redbook}:engine', 'epoch'],
    ['engine-settlement', 'ZRANGE', '{redbook}:cancel-after:due', '0', '-1'],
    ['engine-stream', 'EVAL', 'return 1', '0'],
    ['engine-settlement', 'HINCRBY', '{redbook}:balances:ETH', 'house', '1'],
    ['engine-settlement', 'HGETALL', '{redbook}:balances:ETH'],
    ['engine-api', 'REPLICAOF', 'NO', 'ONE'],
    ['engine-snapshot', 'XTRIM', '{redbook}:events', 'MAXLEN', '0'],
    ['engine-snapshot', 'EVAL', 'return 1', '1', '{redbook}:book:ETH/USDC:bids'],
    ['engine-operator', 'FLUSHDB'],
    ['engine-operator', 'ACL', 'SETUSER', 'me', 'on', 'nopass', '+@all'],
    ['engine-all', 'SHUTDOWN', 'NOSAVE'],
    ['queue-api', 'GET', '{redbook}:snapshot:meta'],
    ['queue-api', 'PUBLISH', '{redbook}:feed:general', 'forged'],
    ['queue-stream', 'PUBLISH', '{redbook}:feed:general', 'forged'],
    ['queue-stream', 'SUBSCRIBE', 'other'],
    ['queue-stream', 'SET', '{redbook}:limit:x', '1'],
    ['queue-settlement', 'GET', '{redbook}:login:eip712:x'],
    ['queue-snapshot', 'SUBSCRIBE', '{redbook}:feed:general'],
    ['queue-snapshot', 'DEL', '{redbook}:settlement:meta'],
    ['queue-operator', 'HSET', '{redbook}:feed:beats', 'beat', '0'],
    ['queue-operator', 'HGET', '{redbook}:engine', 'epoch'],
    ['queue-all', 'FLUSHALL'],
    ['admin', 'FLUSHALL'],
    ['admin', 'ACL', 'SETUSER', 'me', 'on', 'nopass', '+@all'],
    ['admin', 'XREVRANGE', '{redbook}:engine', '+', '-'],
    ['probe', 'INFO'],
    ['backup', 'GET', '{redbook}:engine'],
    ['backup', 'PSYNC', '?', '-1'],
    ['replica', 'GET', '{redbook}:engine'],
    ['replica', 'SUBSCRIBE', '{redbook}:feed:general'],
    ['replica', 'PUBLISH', '{redbook}:leaving', 'go'],
    ['engine-settlement', 'PUBLISH', '{redbook}:feed:general', 'forged'],
  ];
  for (const [user, name, ...args] of refused)
    it(`refuse ${user} ${name} ${args.join(' ')}`, async () => {
      const outcome = await as(user)
        .call(name!, ...args)
        .catch((error: Error) => error.message);
      expect(outcome).to.match(/^NOPERM/);
    });

  it('let each process with rounds wait for disks where the server can, and run no other blocking command', async () => {
    const admin = openAdmin();
    const mayRun = async (user: string, ...command: string[]) =>
      (await admin.call('ACL', 'DRYRUN', user, ...command)) === 'OK';
    const ofRounds = Object.keys(WORK).filter((user) => rulesOf(user).includes('+wait'));
    expect(ofRounds).to.have.length(6);
    for (const user of ofRounds) {
      if (known.has('waitaof')) expect(await mayRun(user, 'waitaof', '1', '1', '1'), user).to.equal(true);
      for (const command of ['blpop', 'bzpopmin'])
        expect(await mayRun(user, command, '{redbook}:events', '1'), `${user} ${command}`).to.equal(false);
    }
  });

  describe('that lack a right of this release', () => {
    const XINFO =
      /^Redis refuses its user \(as engine-operator\) xinfo stream \{redbook\}:engine: load k8s\/shared\/users\.acl/;
    const refusalOf = (user: string): Promise<string> =>
      checkRights(as(user), user).then(
        () => 'allowed',
        ({ message }: Error) => message,
      );
    const change = (...rules: string[]) => openAdmin().call('ACL', 'SETUSER', ...rules);
    afterEach(() => openAdmin().call('ACL', 'LOAD'));

    it('are told which one, a command or a key', async () => {
      for (const name of Object.keys(WORK)) expect(await refusalOf(name), name).to.equal('allowed');
      expect(await refusalOf(ADMIN)).to.equal('allowed');
      await change('engine-operator', '-xinfo');
      expect(await refusalOf('engine-operator')).to.match(XINFO);
      // A user may be granted subcommands alone.
      await change('engine-operator', '+xinfo|stream');
      expect(await refusalOf('engine-operator')).to.equal('allowed');
      const keys = rulesOf('engine-api').filter((rule) => /^(%R)?~/.test(rule));
      const rest = keys.filter((key) => !/live|assets/.test(key));
      await change('engine-api', 'resetkeys', ...rest, '%R~{redbook}:live');
      expect(await refusalOf('engine-api')).to.match(/ hset \{redbook\}:live, hget \{redbook\}:assets: load/);
      await change('queue-snapshot', '-zadd', 'clearselectors');
      expect(await refusalOf('queue-snapshot')).to.match(
        / zadd \{redbook\}:feed:beats, subscribe \{redbook\}:feed:wanted, unsub/,
      );
      await change('engine-stream', 'resetkeys');
      expect(await refusalOf('engine-stream')).to.match(/^Redis refuses its user a right .* key/);
      await change('queue-stream', '-exists');
      expect(await refusalOf('queue-stream')).to.match(/^Redis refuses its user a right .*exists/);
      await change('engine-settlement', '-@all', '+info');
      expect(await refusalOf('engine-settlement')).to.match(/^Redis refuses its user a right .*evalsha/);
    });

    it('are named in an error of a script, and of a command', async () => {
      for (const said of [
        "NOPERM User engine-operator has no permissions to run the 'client|list' command",
        "ERR ACL failure in script: User engine-operator has no permissions to run the 'client|list' command " +
          'script: 8c8a95e865d360ecf79155ac7d72f628e20d42e3, on @user_script:22.',
      ])
        expect(namedRight(new Error(said)))
          .to.have.property('message')
          .that.matches(/^Redis refuses its user a right \(User .* 'client\|list' command\): load k8s/);
      const other = new Error('ERR wrong number of arguments');
      expect(namedRight(other)).to.equal(other);
    });

    it('do nothing: the operator is refused at once, and a process waits for the right', async () => {
      const settings = {
        REDIS_URL: url,
        DATABASE_URL: await freshDatabase(),
        PORT: String(await freePort()),
      };
      await change('engine-operator', '-xinfo');
      await change('engine-settlement', '-xtrim');
      const rebuilt = operate(settings, 'ledger', 'rebuild').then(
        () => 'rebuilt',
        ({ message }: Error) => message,
      );
      expect(await rebuilt).to.match(/^ledger rebuild ended with 1: .*xinfo stream.*"code":"MISSING_RIGHTS"/);
      expect(await openAdmin().dbsize()).to.equal(0);
      const tables = await query(settings.DATABASE_URL, `select from pg_tables where schemaname = 'public'`);
      expect(tables).to.have.length(0);
      await change('queue-settlement', '-bzpopmin');
      const process = await launchService('settlement', settings);
      await eventually('it says why', async () => /refuses its user .* xtrim/.test(process.output()));
      await eventually('and what the queue lacks', async () =>
        /refuses its user .* bzpopmin/.test(process.output()),
      );
      expect(await openAdmin().dbsize()).to.equal(0);
      await openAdmin().call('ACL', 'LOAD');
      await eventually('it is ready', () => isReady(process.url));
      await process.end('SIGKILL');
    });
  });

  it('let `admin` do all that the runbook asks of a user of Redis', async () => {
    const runbook = readFileSync(new URL('../../../docs/runbook.md', import.meta.url), 'utf8');
    const asked = [...runbook.matchAll(/(?:^|`)admin ([a-z].*?)(?: {2}|\n| \||`)/gm)].map(([, command]) =>
      command!.replaceAll("'", '').replace('<id>', '1-1').split(' '),
    );
    expect(asked.length).to.be.at.least(3);
    for (const [name, ...args] of [...asked, ['acl', 'load'], ['bgrewriteaof'], ['latency', 'latest']]) {
      const outcome = await openAdmin()
        .call('ACL', 'DRYRUN', 'admin', name!, ...args)
        .then(String);
      expect(outcome, [name, ...args].join(' ')).to.equal('OK');
    }
  });

  it('refuse unauthenticated connections', async () => {
    const anonymous = openRedis(url.replaceAll(/\/\/[^@]*@/g, '//'));
    opened.push(anonymous);
    anonymous.on('error', () => undefined);
    expect(await anonymous.call('PING').catch((error: Error) => error.message)).to.match(/^NOAUTH/);
  });
});
