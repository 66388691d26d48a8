/**
 * Proves that the scripts read packed arguments and write packed replies and events as the shared description defines
 * them.
 */

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
import { LOOK_COUNTS_MS } from '../../src/engine/claims.ts';
import { BALANCE_FIELDS } from '../../src/engine/codec.ts';
import { EVENT_KINDS } from '../../src/engine/event-codec.ts';
import {
  END_CODES,
  KINDS,
  MATCH,
  OUTCOMES,
  PLACED,
  PLACING_CALL,
  PLACING_ORDER,
  STATUS_CODES,
  TERMS,
  TIMES_IN_FORCE,
} from '../../src/engine/placing-call.ts';
import { STATE } from '../../src/engine/state.ts';
import { bytes16, bytesOf, layout, text8, text16, u8, u16, u32, u48, u56 } from '../../src/redis/layout.ts';
import { loadScript, runScript, scriptOf } from '../../src/redis/lua.ts';
import { openRedis } from '../support/redis-server.ts';
import { random, runSeed } from '../support/seed.ts';
import { sharedRedis } from '../support/servers.ts';

/** Names in the style of the scripts. An unused name begins with `_`. */
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const luaNames = (list: string): string[] => list.split(',').map((name) => name.trim().replace(/^_/, ''));

/** The constants that a file of `lua/` defines, by name. */
const definedIn = (file: string): Map<string, string> => {
  const text = readFileSync(new URL(`../../lua/${file}.lua`, import.meta.url), 'utf8');
  return new Map([...text.matchAll(/^--- define (\w+) (\S+)/gm)].map(([, name, value]) => [name!, value!]));
};

/** Returns names and format of a script's `local a, b = struct.unpack('>…', ARGV[…])`. */
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
    ['cancel_orders', 'ARGV[1]', CANCELLING_CALL],
    ['cancel_orders', 'ARGV[index]', CANCELLING_REQUEST],
  ] as const) {
    it(`${script} unpacks ${argument} by its description`, () => {
      const { names, format } = unpackedFrom(script, argument);
      expect(names).to.deep.equal(described.names.map(snake));
      expect(format).to.equal(described.format);
    });
  }

  it('place_orders unpacks a call as its description says, at each place', () => {
    const { source } = loadScript('place_orders');
    expect(definedIn('place_orders').get('CALL')).to.equal(`'>${PLACING_CALL.format}'`);
    const described = PLACING_CALL.names.map(snake);
    const lists = [...source.matchAll(/local ([\w,\s]+?)=\s*struct\.unpack\('>\w+', ARGV\[1\]\)/g)];
    expect(lists).to.have.length(2);
    for (const [, list] of lists) {
      const names = luaNames(list!);
      expect(names).to.deep.equal(described.slice(0, names.length).map((name, at) => names[at] && name));
    }
  });

  it('place_orders unpacks an order as its description says, at each place', () => {
    const { source } = loadScript('place_orders');
    expect(definedIn('place_orders').get('ORDER')).to.equal(`'>${PLACING_ORDER.format}'`);
    const described = PLACING_ORDER.names.map(snake);
    const lists = [...source.matchAll(/local ([\w,\s]+?)= struct\.unpack\('>\w+', bytes\)/g)];
    expect(lists).to.have.length(2);
    for (const [, list] of lists) {
      const names = luaNames(list!);
      // A field without a name is not used there.
      expect(names).to.deep.equal(described.slice(0, names.length).map((name, at) => names[at] && name));
    }
  });

  it('place_orders repeats the terms of an order, which come first', () => {
    const { source } = loadScript('place_orders');
    expect(PLACING_ORDER.names.slice(0, TERMS.names.length)).to.deep.equal(TERMS.names);
    const bytes = TERMS.sizeAt(Buffer.alloc(256), 0);
    expect(Number(definedIn('place_orders').get('TERMS_BYTES'))).to.equal(bytes);
    const [ahead] = [...source.matchAll(/struct\.unpack\('>(c20xxI1I1xxxI7)'/g)];
    expect(ahead?.[1]).to.equal('c20xxI1I1xxxI7');
    expect(TERMS.format).to.equal('c20I2I1I1I1I1I1I7I2c0');
  });

  it('place_orders packs a match by its description', () => {
    const { source } = loadScript('place_orders');
    const whole = [...source.matchAll(/struct\.pack\('>(\w+)', status_of/g)].map(([, format]) => format);
    expect(whole).to.deep.equal([MATCH.format]);
    const event = /struct\.pack\('>(\w+)', 1, time, status/.exec(source)?.[1];
    expect(event).to.equal(`I1I6${MATCH.format}I2`);
    const reply = /struct\.pack\('>(\w+)', 1, state\.sequence, status/.exec(source)?.[1];
    expect(reply).to.equal(PLACED.format);
  });

  it('every script keeps the engine state in the described layout', () => {
    const text = readFileSync(new URL('../../lua/include/engine_state.lua', import.meta.url), 'utf8');
    expect(definedIn('include/engine_state').get('STATE')).to.equal(`'>${STATE.format}'`);
    const names = /local ([\w, ]+) = struct\.unpack\(STATE/.exec(text)?.[1];
    expect(luaNames(names ?? '')).to.deep.equal(STATE.names);
    const packed = /struct\.pack\(STATE, ([\w., ]+)\)/.exec(text)?.[1];
    expect(luaNames((packed ?? '').replaceAll('state.', ''))).to.deep.equal(STATE.names);
  });

  it('outcome codes are the same in TypeScript and Lua', () => {
    const codes = new Map<string, number>();
    const add = (names: readonly (string | null)[]): void => {
      for (const [code, name] of names.entries()) if (name !== null) codes.set(name.toUpperCase(), code);
    };
    add(Object.keys(OUTCOMES));
    add(STATUS_CODES);
    add(END_CODES);
    add(TIMES_IN_FORCE);
    add(SELF_TRADE_POLICIES);
    add(['LIMIT_ORDER', 'MARKET_FOR_SIZE', 'MARKET_FOR_BUDGET']);
    const defined = [...definedIn('include/placing_codes')].map(([name, code]) => [name, Number(code)]);
    expect(new Map(defined as [string, number][])).to.deep.equal(codes);
    expect(Object.values(OUTCOMES)).to.deep.equal([0, 1, 2, 3, 4, 5, 6]);
    expect(KINDS).to.deep.equal({ limit: 0, marketForSize: 1, marketForBudget: 2 });
    const ends = definedIn('cancel_orders');
    for (const [name, code] of Object.entries(CLOSE_OUTCOMES))
      expect(ends.get(name.toUpperCase()), name).to.equal(`${code}`);
    const ofOperators = ['operator_voided', 'market_cleared', 'custody_hold'];
    expect(CAUSES).to.deep.equal([null, ...ofOperators, 'user_cancelled', 'cancel_after']);
  });

  it('balance fields and the time for which a lookup counts are the same in TypeScript and Lua', () => {
    const fields = [...definedIn('include/balance_fields')].map(([name, value]) => [
      name.toLowerCase(),
      value,
    ]);
    expect(fields).to.deep.equal(Object.entries(BALANCE_FIELDS).map(([name, text]) => [name, `'${text}'`]));
    expect(definedIn('include/claim').get('LOOK_COUNTS_MS')).to.equal(`${LOOK_COUNTS_MS}`);
  });

  it('event kinds are the same in TypeScript and Lua', () => {
    const kinds = [...definedIn('include/event_kinds')].map(([name, code]) => [
      Number(code),
      name.toLowerCase(),
    ]);
    expect(kinds).to.deep.equal(EVENT_KINDS.flatMap((kind, code) => (kind === null ? [] : [[code, kind]])));
  });
});

describe('layouts', () => {
  let redis: Redis;
  before(async () => {
    redis = openRedis(await sharedRedis());
  });
  after(() => redis.disconnect());

  it('pack values that Lua unpacks, and unpack values that they packed', async () => {
    const dice = random(runSeed());
    const shape = layout({
      one: u8,
      two: u16,
      four: u32,
      six: u48,
      seven: u56,
      word: text8,
      wallet: bytesOf(5),
      long: text16,
      blob: bytes16,
      last: u8,
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
        one: edge ? 255 : whole(256),
        two: edge ? 65_535 : whole(65_536),
        four: edge ? 2 ** 32 - 1 : whole(2 ** 32),
        six: edge ? 2 ** 48 - 1 : whole(2 ** 48),
        seven: edge ? 2 ** 53 : whole(2 ** 53),
        word: 'ä'.repeat(whole(100)),
        wallet: Buffer.from([whole(256), 0, 255, 13, 10]),
        long: '漢'.repeat(whole(edge ? 20_000 : 50)),
        blob: Buffer.alloc(whole(edge ? 60_000 : 70), whole(256)),
        last: whole(256),
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
