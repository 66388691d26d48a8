/** Commands of processes of earlier releases, by the scripts and the arguments that they really sent. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { Cursor } from '../../src/domain/event.ts';
import { dump } from '../engine/fixture.ts';
import { RECORDS, readWord, type ScriptCall } from './records.ts';

interface OlderCall {
  readonly release: string;
  readonly name: string;
  readonly source: string;
  readonly keys: readonly string[];
  readonly args: readonly Buffer[];
}

/** Every script of earlier releases that writes, with a call of it. */
const OLDER_CALLS: readonly OlderCall[] = readdirSync(RECORDS.scripts).flatMap((release) => {
  const folder = new URL(`${release}/`, RECORDS.scripts);
  const lines = readFileSync(new URL('calls.jsonl', folder), 'utf8').trimEnd().split('\n');
  return lines.map((line): OlderCall => {
    const { name, keys, args } = JSON.parse(line) as ScriptCall;
    const source = readFileSync(new URL(`${name}.lua`, folder), 'utf8');
    return { release, name, source, keys, args: args.map(readWord) };
  });
});

/** A call as recorded, and as a process would send it that has heard of the present server and of Postgres. */
function variantsOf({ name, args }: OlderCall, server: string, cursor: Cursor): Buffer[][] {
  const having = (...first: (string | number)[]): Buffer[] => [
    ...first.map((word) => Buffer.from(String(word))),
    ...args.slice(first.length),
  ];
  const places: [string | number, string | number][] = [
    [cursor.epoch, cursor.sequence],
    [0, 0],
  ];
  if (name === 'trim_settled') return [having(), ...places.map((place) => having(...place))];
  if (name !== 'open_epoch') return [having(), having(cursor.epoch), having(cursor.epoch + 1)];
  const known = [...places, ['', ''] as [string, string]];
  return [having(), ...known.map((place) => having(server, ...place))];
}

const REFUSED = /^(stale,epoch$|behind,|unknown$|AHEAD )/;

/**
 * Runs them all on a server. Each must be refused, and no key may change.
 * @param cursor of Postgres
 * @returns number of calls by release
 */
export async function expectOlderProcessesRefused(
  redis: Redis,
  cursor: Cursor,
): Promise<Record<string, number>> {
  const before = await dump(redis);
  const server = /^run_id:(\w+)/m.exec(await redis.info('server'))![1]!;
  const counts: Record<string, number> = {};
  for (const call of OLDER_CALLS)
    for (const args of variantsOf(call, server, cursor)) {
      const reply = await redis
        .call('EVAL', call.source, call.keys.length, ...call.keys, ...args)
        .catch((error: Error) => error.message);
      expect(String(reply), `${call.name} of ${call.release}`).to.match(REFUSED);
      counts[call.release] = (counts[call.release] ?? 0) + 1;
    }
  expect(await dump(redis), 'an older process wrote').to.deep.equal(before);
  return counts;
}
