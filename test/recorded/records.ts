/** Records of engines and ledgers that earlier releases left, and what writes them and loads them again. */

import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import pg from 'pg';

const path = (name: string): URL => new URL(name, import.meta.url);

export const RECORDS = {
  /** Postgres as plain SQL, as of the last event of `settled`. */
  postgres: path('postgres.sql'),
  /** The engine's Redis, wholly settled. */
  settled: path('settled.jsonl'),
  /** The same engine some events later, which are not settled. */
  unsettled: path('unsettled.jsonl'),
  /** By release, the scripts that write and a call of each. */
  scripts: path('scripts/'),
};

/** Bytes in a record: printable ASCII as it is, anything else in hex. */
export type Word = string | { readonly hex: string };

export const writeWord = (bytes: Buffer): Word =>
  bytes.every((byte) => byte >= 0x20 && byte < 0x7f)
    ? bytes.toString('latin1')
    : { hex: bytes.toString('hex') };

export const readWord = (word: Word): Buffer =>
  typeof word === 'string' ? Buffer.from(word, 'latin1') : Buffer.from(word.hex, 'hex');

/** A command of Redis: its name, its key and what follows. */
type RedisCommand = readonly [name: string, key: string, ...args: Word[]];

/** Everything in a Redis as the commands that make it, one a line, as JSON. */
export async function writeRedis(redis: Redis): Promise<string> {
  const commands: RedisCommand[] = [];
  for (const key of (await redis.keys('*')).sort()) commands.push(...(await commandsOf(redis, key)));
  return commands.map((command) => `${JSON.stringify(command)}\n`).join('');
}

const inPairs = (parts: readonly Buffer[]): [Buffer, Buffer][] =>
  parts.flatMap((part, at) => (at % 2 === 0 ? [[part, parts[at + 1]!] as [Buffer, Buffer]] : []));

async function commandsOf(redis: Redis, key: string): Promise<RedisCommand[]> {
  switch (await redis.type(key)) {
    case 'hash': {
      const pairs = inPairs((await redis.callBuffer('HGETALL', key)) as Buffer[]);
      pairs.sort(([one], [other]) => one.compare(other));
      return pairs.map((pair) => ['HSET', key, ...pair.map(writeWord)]);
    }
    case 'zset': {
      const pairs = inPairs(await redis.zrangeBuffer(key, '0', '-1', 'WITHSCORES'));
      return pairs.map(([member, score]) => ['ZADD', key, score.toString(), writeWord(member)]);
    }
    case 'string':
      return blocksOf(key, (await redis.getBuffer(key))!);
    case 'stream':
      return streamCommands(redis, key);
    default:
      throw new Error(`${key} is of a type that no command writes`);
  }
}

const BLOCK_BYTES = 8;

/** A claim filter is millions of zeros and some blocks. */
function blocksOf(key: string, bytes: Buffer): RedisCommand[] {
  const commands: RedisCommand[] = [];
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    const block = bytes.subarray(at, at + BLOCK_BYTES);
    const isLast = at + BLOCK_BYTES >= bytes.length;
    if (isLast || block.some((byte) => byte !== 0))
      commands.push(['SETRANGE', key, `${at}`, writeWord(block)]);
  }
  return commands;
}

async function streamCommands(redis: Redis, key: string): Promise<RedisCommand[]> {
  const entries = await redis.xrangeBuffer(key, '-', '+');
  const info = (await redis.xinfo('STREAM', key)) as (string | number)[];
  const of = (name: string): string => String(info[info.indexOf(name) + 1]);
  return [
    ...entries.map(([id, fields]): RedisCommand => ['XADD', key, id.toString(), ...fields.map(writeWord)]),
    ['XSETID', key, of('last-generated-id')],
  ];
}

/** Loads a record into an empty Redis. */
export async function loadRedis(redis: Redis, record: URL): Promise<void> {
  const lines = readFileSync(record, 'utf8').trimEnd().split('\n');
  const commands = lines.map((line) => JSON.parse(line) as RedisCommand);
  await Promise.all(commands.map(([name, key, ...words]) => redis.call(name, key, ...words.map(readWord))));
}

/** What a release sent to run a script. */
export interface ScriptCall {
  readonly name: string;
  readonly keys: readonly string[];
  readonly args: readonly Word[];
}

/** Loads a record into an empty database. */
export async function loadPostgres(databaseUrl: string, record: URL): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(readFileSync(record, 'utf8'));
  } finally {
    await client.end();
  }
}
