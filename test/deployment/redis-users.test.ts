/** Proves that each Redis user may run exactly what its role runs. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { loadScript } from '../../src/redis/lua.ts';
import { openRedis } from '../support/redis-server.ts';
import { loneRedis } from '../support/servers.ts';

const FILE = new URL('../../k8s/shared/users.acl', import.meta.url);

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
const OPEN: Work = { scripts: ['open_epoch'], commands: ['config|get', 'bgrewriteaof'] };
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
      commands: [...MARKETS, 'hmget', 'hgetall', 'xrange', 'zrange', 'time'],
    },
  ],
  'engine-stream': [{ commands: ['hget'] }],
  'engine-settlement': [
    OPEN,
    { scripts: ['trim_settled'], commands: ['hmget', 'hvals', 'xrange', 'getrange'] },
  ],
  'engine-snapshot': [
    OPEN,
    { scripts: ['read_book', 'read_quotes'], commands: [...MARKETS, 'hmget', 'xrange', 'time'] },
  ],
  'engine-operator': [
    OPEN,
    {
      scripts: [
        'set_asset',
        'set_market',
        'set_switch',
        'move_funds',
        'cancel_orders',
        'find_live_orders',
        'find_unsettled',
        'read_balances',
        'scan_fields',
        'scan_members',
        'read_fields',
        'read_head',
        'number_filter',
        'set_filter',
        'merge_filter',
        'retire_engine',
        'begin_rebuild',
        'fill_rebuild',
        'end_rebuild',
      ],
      commands: [...MARKETS, 'hmget', 'hgetall', 'xrange', 'getrange', 'client|list'],
    },
    { commands: ['exists', 'unlink'] },
  ],
  'queue-api': [
    { scripts: ['consume_challenge', 'count_requests'], jobs: ADD_JOBS, commands: ['get', 'set'] },
  ],
  'queue-stream': [{ commands: ['exists', 'subscribe', 'unsubscribe', 'publish'] }],
  'queue-settlement': [{ jobs: [...ADD_JOBS, ...DO_JOBS], commands: ['bzpopmin'] }],
  'queue-snapshot': [
    { jobs: DO_JOBS, commands: ['bzpopmin'] },
    { scripts: ['claim_tick'], commands: ['hget', 'hset', 'time', 'exists', 'pubsub|channels'] },
    { commands: ['subscribe', 'unsubscribe', 'publish'] },
  ],
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

  it('are of every role and server, with one that lets probes PING and two for replication', () => {
    const others = ['default', 'probe', 'replica', 'sentinel'];
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
    ['queue-operator', 'HSET', '{redbook}:feed:ticks', 'tick', '0'],
    ['queue-operator', 'HGET', '{redbook}:engine', 'epoch'],
    ['queue-all', 'FLUSHALL'],
    ['probe', 'INFO'],
    ['replica', 'GET', '{redbook}:engine'],
    ['sentinel', 'SET', '{redbook}:engine', '1'],
  ];
  for (const [user, name, ...args] of refused)
    it(`refuse ${user} ${name} ${args.join(' ')}`, async () => {
      const outcome = await as(user)
        .call(name!, ...args)
        .catch((error: Error) => error.message);
      expect(outcome).to.match(/^NOPERM/);
    });

  it('refuse unauthenticated connections', async () => {
    const anonymous = openRedis(url.replaceAll(/\/\/[^@]*@/g, '//'));
    opened.push(anonymous);
    anonymous.on('error', () => undefined);
    expect(await anonymous.call('PING').catch((error: Error) => error.message)).to.match(/^NOAUTH/);
  });
});
