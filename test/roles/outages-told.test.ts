/** Proves that outages are logged every ten seconds, in one sentence without a password. */

import { createServer, type Server } from 'node:net';
import { expect } from 'chai';
import { readConfig } from '../../src/config.ts';
import { consoleOf } from '../../src/roles/console.ts';
import { type Outages, openOutages } from '../../src/roles/outages.ts';
import { scoutServers } from '../../src/roles/scout.ts';
import { passwordsOf } from '../../src/roles/server-names.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/ports.ts';
import { freshDatabase, loneRedis } from '../support/servers.ts';

const REDIS = 'Redis at redis.example:6379 (REDIS_URL)';
const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });

describe('an outage', () => {
  let nowMs: number;
  let told: string[];
  let outages: Outages;
  beforeEach(() => {
    nowMs = 0;
    told = [];
    const tell = (sentence: string): void => void told.push(sentence);
    const log = { error: tell, warn: tell, debug: () => undefined };
    outages = openOutages(log as never, ['hunter2', 'p%40ss'], () => nowMs);
  });
  afterEach(() => outages.close());

  it('is logged at once and every ten seconds, however often it is met', () => {
    for (; nowMs < 25_000; nowMs += 250) outages.report(REDIS, 'engine', refused);
    const sentence = `waiting for ${REDIS}: the connection is refused`;
    expect(told).to.deep.equal([sentence, sentence, sentence]);
  });

  it('of one server is logged once for all its connections, and ends with the last', () => {
    for (const user of ['engine', 'queue', 'frames']) outages.report(REDIS, user, refused);
    outages.report('Postgres (DATABASE_URL)', 'migrations', refused);
    expect(told).to.have.length(2);
    outages.clear(REDIS, 'engine');
    outages.clear(REDIS, 'queue');
    expect(told).to.have.length(2);
    outages.clear(REDIS, 'frames');
    outages.clear(REDIS, 'frames');
    expect(told.slice(2)).to.deep.equal([`${REDIS} is back`]);
    expect(outages.sentences()).to.deep.equal([
      'waiting for Postgres (DATABASE_URL): the connection is refused',
    ]);
  });

  it('never shows a password, wherever it stands in a message', () => {
    outages.report(REDIS, 'engine', new Error('redis://u:hunter2@h and p%40ss are wrong\n  at stack'));
    expect(told).to.deep.equal([`waiting for ${REDIS}: redis://u:***@h and *** are wrong`]);
  });
});

describe('the console of the all-in-one', () => {
  it('shows a sentence without a stack, and repeats it after ten seconds', () => {
    let nowMs = 0;
    const shown: string[] = [];
    const { write } = consoleOf(
      (line) => void shown.push(line),
      () => nowMs,
    );
    const err = { type: 'Error', message: 'no room\nat the inn', stack: 'Error: no room\n    at f' };
    for (; nowMs < 15_000; nowMs += 100) write(JSON.stringify({ level: 50, msg: 'it failed', err }));
    expect(shown).to.deep.equal(['It failed: no room.', 'It failed: no room.']);
  });
});

describe('a server that a setting names wrongly', () => {
  let silent: Server;
  const closing: (() => void)[] = [];
  before(async () => {
    silent = createServer((socket) => {
      socket.on('error', () => undefined);
      closing.push(() => socket.destroy());
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
  });
  after(() => {
    for (const close of closing) close();
    silent.close();
  });

  /** Waits for the sentence, because a slow machine may report a silent server before the reason is known. */
  async function expectTold(env: NodeJS.ProcessEnv, sentence: string): Promise<void> {
    const config = readConfig(env);
    const log = { error: () => undefined, warn: () => undefined, debug: () => undefined };
    const outages = openOutages(log as never, passwordsOf(config));
    const scout = scoutServers(config, outages);
    closing.push(() => {
      scout.close();
      outages.close();
    });
    await eventually(sentence, async () => outages.sentences().some((told) => told.startsWith(sentence)));
  }
  const placeOf = (url: string): string => new URL(url).host;

  it('is reported with the setting, its address and the reason', async () => {
    const [redis, postgres, free] = await Promise.all([loneRedis(), freshDatabase(), freePort()]);
    const silentAt = `127.0.0.1:${(silent.address() as { port: number }).port}`;
    const redisAt = placeOf(redis);
    const postgresAt = placeOf(postgres);
    const redisCases: [url: string, place: string, reason: string][] = [
      [`redis://:hunter2@127.0.0.1:${free}`, `127.0.0.1:${free}`, 'the connection is refused'],
      [`redis://:hunter2@${silentAt}`, silentAt, 'it does not answer'],
      [`redis://nobody:hunter2@${redisAt}/0`, redisAt, 'it refuses the user or the password of the URL'],
      [`redis://${redisAt}/0`, redisAt, 'it wants a password'],
      [redis.replace('redis:', 'rediss:'), `${redisAt} over TLS`, 'it does not answer'],
      ['redis://:hunter2@nowhere.invalid', 'nowhere.invalid:6379', 'no host has this name'],
      // Postgres closes the connection, possibly after an error reply or a delay.
      [`redis://:hunter2@${postgresAt}`, postgresAt, 'it '],
    ];
    const postgresCases: [url: string, place: string, reason: string][] = [
      [`postgres://u:hunter2@127.0.0.1:${free}/x`, `127.0.0.1:${free}`, 'the connection is refused'],
      [`postgres://u:hunter2@${silentAt}/x`, silentAt, 'it does not answer'],
      [
        postgres.replace(/:[^:@]+@/, ':hunter2@'),
        postgresAt,
        'it refuses the user or the password of the URL',
      ],
      [`${postgres}_none`, postgresAt, 'database "'],
      [`${postgres}?sslmode=verify-full`, postgresAt, 'it does not speak TLS as the URL says'],
    ];
    await Promise.all([
      ...redisCases.map(([url, place, reason]) =>
        expectTold({ REDIS_URL: url }, `waiting for Redis at ${place} (REDIS_URL): ${reason}`),
      ),
      ...postgresCases.map(([url, place, reason]) =>
        expectTold({ DATABASE_URL: url }, `waiting for Postgres at ${place} (DATABASE_URL): ${reason}`),
      ),
    ]);
  });
});
