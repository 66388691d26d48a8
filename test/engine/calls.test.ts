/** The scripts read their packed arguments, and write their packed replies and events, as their one description says. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { SELF_TRADE_POLICIES } from '../../src/domain/market.ts';
import {
  CANCELLING_CALL,
  CANCELLING_REQUEST,
  CAUSES,
  CLOSE_OUTCOMES,
} from '../../src/engine/cancelling-call.ts';
import { EVENT_KINDS } from '../../src/engine/event-codec.ts';
import {
  KINDS,
  MATCH,
  OUTCOMES,
  PLACING_CALL,
  PLACING_ORDER,
  REJECT_CODES,
  STATUS_CODES,
  TERMS,
  TIMES_IN_FORCE,
} from '../../src/engine/placing-call.ts';
import { STATE } from '../../src/engine/state.ts';
import { loadScript, runScript, scriptOf } from '../../src/scripts/index.ts';
import { bytes16, bytesOf, layout, text8, text16, u8, u16, u32, u48, u56 } from '../../src/scripts/layout.ts';
import { openRedis } from '../support/redis-server.ts';
import { random, runSeed } from '../support/seed.ts';
import { sharedRedis } from '../support/servers.ts';

/** Names as the scripts write them: an unused one begins with `_`. */
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const luaNames = (list: string): string[] => list.split(',').map((name) => name.trim().replace(/^_/, ''));

/** What a script's `local a, b = struct.unpack('>…', ARGV[…])` names, and its format. */
function unpackedFrom(script: string, argument: string): { names: string[]; format: string } {
  const { source } = loadScript(script);
  const pattern = new RegExp(
    `local ([\\w,\\s]+?)=\\s*struct\\.unpack\\('>(\\w+)', ${argument.replace(/[[\]]/g, '\\$&')}\\)`,
  );
  const found = pattern.exec(source);
  if (found === null) throw new Error(`${script} does not unpack ${argument}`);
  return { names: luaNames(found[1]!), format: found[2]! };
}

describe('calls of the placing and cancelling scripts', () => {
  for (const [script, argument, described] of [
    ['place_orders', 'ARGV[1]', PLACING_CALL],
    ['place_orders', 'ARGV[index]', PLACING_ORDER],
    ['cancel_orders', 'ARGV[1]', CANCELLING_CALL],
    ['cancel_orders', 'ARGV[index]', CANCELLING_REQUEST],
  ] as const) {
    it(`${script} unpacks ${argument} by its description`, () => {
      const { names, format } = unpackedFrom(script, argument);
      expect(names).to.deep.equal(described.names.map(snake));
      expect(format).to.equal(described.format);
    });
  }

  it('place_orders repeats the terms of an order from where they begin', () => {
    const termsAt = /local TERMS_AT = (\d+)/.exec(loadScript('place_orders').source);
    const claimBytes = PLACING_ORDER.sizeAt(Buffer.alloc(256), 0) - TERMS.sizeAt(Buffer.alloc(256), 0);
    expect(Number(termsAt?.[1])).to.equal(claimBytes + 1);
  });

  it('place_orders packs a match by its description', () => {
    const formats = [...loadScript('place_orders').source.matchAll(/struct\.pack\('>(\w+)', status_of/g)];
    expect(formats.map(([, format]) => format)).to.deep.equal([MATCH.format]);
  });

  it('every script keeps the state of the engine by its description', () => {
    const text = readFileSync(new URL('../../lua/include/engine_state.lua', import.meta.url), 'utf8');
    expect(/local STATE = '>(\w+)'/.exec(text)?.[1]).to.equal(STATE.format);
    const names = /local ([\w, ]+) = struct\.unpack\(STATE/.exec(text)?.[1];
    expect(luaNames(names ?? '')).to.deep.equal(STATE.names);
    const packed = /struct\.pack\(STATE, ([\w., ]+)\)/.exec(text)?.[1];
    expect(luaNames((packed ?? '').replaceAll('state.', ''))).to.deep.equal(STATE.names);
  });

  it('the codes are the same on both sides', () => {
    const placing = loadScript('place_orders').source;
    const cancelling = loadScript('cancel_orders').source;
    const codesIn = (source: string, names: string): number[] => {
      const found = new RegExp(`local ${names} = ([\\d, ]+)\\n`).exec(source);
      if (found === null) throw new Error(`no codes ${names}`);
      return found[1]!.split(',').map(Number);
    };
    const upTo = (list: readonly unknown[]): number[] =>
      list.flatMap((one, code) => (one === null ? [] : [code]));
    expect(codesIn(placing, 'LIMIT, MARKET_FOR_SIZE, MARKET_FOR_BUDGET')).to.deep.equal(Object.values(KINDS));
    expect(codesIn(placing, 'GTC, IOC, FOK')).to.deep.equal(upTo(TIMES_IN_FORCE));
    expect(
      codesIn(placing, 'REST, PART, FILLED, CANCELLED, PART_CANCELLED, REJECTED, EXPIRED'),
    ).to.deep.equal(upTo(STATUS_CODES));
    expect(codesIn(placing, 'POST_ONLY_WOULD_CROSS, FOK_NOT_FILLED, SETTLEMENT_FAILED')).to.deep.equal(
      upTo(REJECT_CODES),
    );
    expect(codesIn(placing, 'EXPIRE_TAKER, EXPIRE_MAKER, EXPIRE_BOTH')).to.deep.equal(
      upTo(SELF_TRADE_POLICIES),
    );
    const outcomes = Object.keys(OUTCOMES).map((name) => name.toUpperCase());
    expect(codesIn(placing, outcomes.join(', '))).to.deep.equal(Object.values(OUTCOMES));
    const ends = Object.keys(CLOSE_OUTCOMES).map((name) => name.toUpperCase());
    expect(codesIn(cancelling, ends.join(', '))).to.deep.equal(Object.values(CLOSE_OUTCOMES));
    expect(CAUSES).to.deep.equal(['cancel', 'void', 'clear', 'hold']);
  });

  it('the kinds of events are the same on both sides', () => {
    const text = readFileSync(new URL('../../lua/include/event_kinds.lua', import.meta.url), 'utf8');
    const kinds = [...text.matchAll(/(\w+) = (\d+)/g)].map(([, kind, code]) => [Number(code), kind]);
    expect(kinds).to.deep.equal(EVENT_KINDS.flatMap((kind, code) => (kind === null ? [] : [[code, kind]])));
  });
});

describe('layouts', () => {
  let redis: Redis;
  before(async () => {
    redis = openRedis(await sharedRedis());
  });
  after(() => redis.disconnect());

  it('pack what Lua unpacks, and unpack what they packed', async () => {
    const dice = random(runSeed());
    const shape = layout({
      ...{ one: u8, two: u16, four: u32, six: u48, seven: u56, word: text8, wallet: bytesOf(5) },
      ...{ long: text16, blob: bytes16, last: u8 },
    });
    const script = scriptOf(
      'unpack',
      `local found = { struct.unpack('>${shape.format}', ARGV[1]) }
       for index = 1, 5 do found[index] = string.format('%d', found[index]) end
       return found`,
    );
    const whole = (limit: number): number => dice.below(limit);
    for (let rounds = 0; rounds < 200; rounds += 1) {
      const edge = rounds % 3 === 0;
      const record = {
        ...{ one: edge ? 255 : whole(256), two: edge ? 65_535 : whole(65_536) },
        ...{ four: edge ? 2 ** 32 - 1 : whole(2 ** 32), six: edge ? 2 ** 48 - 1 : whole(2 ** 48) },
        ...{ seven: edge ? 2 ** 53 : whole(2 ** 53), word: 'ä'.repeat(whole(100)) },
        ...{
          wallet: Buffer.from([whole(256), 0, 255, 13, 10]),
          long: '漢'.repeat(whole(edge ? 20_000 : 50)),
        },
        ...{ blob: Buffer.alloc(whole(edge ? 60_000 : 70), whole(256)), last: whole(256) },
      };
      const packed = shape.pack(record);
      expect(shape.unpack(packed)).to.deep.equal(record);
      expect(shape.sizeAt(packed, 0)).to.equal(packed.length);
      const read = (await runScript(redis, script, [], [packed])) as (Buffer | number)[];
      expect(read.slice(0, 5).map(Number)).to.deep.equal(Object.values(record).slice(0, 5));
      expect(
        read.slice(5).map((part) => (part instanceof Buffer ? part.toString('hex') : part)),
      ).to.deep.equal([
        ...[Buffer.from(record.word), record.wallet, Buffer.from(record.long), record.blob].map((part) =>
          part.toString('hex'),
        ),
        record.last,
        packed.length + 1,
      ]);
    }
  });
});
