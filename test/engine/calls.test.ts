/**
 * Proves that the scripts read packed arguments and write packed replies and events as the shared description defines
 * them.
 */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { CLOSE_OUTCOMES } from '../../src/engine/cancelling-call.ts';
import { LOOK_COUNTS_MS } from '../../src/engine/claims.ts';
import { BALANCE_FIELDS } from '../../src/engine/codec.ts';
import { OUTCOMES, PLACING_ORDER, TERMS } from '../../src/engine/placing-call.ts';
import { bytes16, bytesOf, layout, text8, text16, u8, u16, u32, u48, u56 } from '../../src/redis/layout.ts';
import { runScript, scriptOf } from '../../src/redis/lua.ts';
import { openRedis } from '../support/redis-server.ts';
import { random, runSeed } from '../support/seed.ts';
import { sharedRedis } from '../support/servers.ts';
import { generatedSource } from './generated.ts';
import { orderFormats } from './order-formats.ts';

/** The constants that a file of `lua/` defines, by name. */
const definedIn = (file: string): Map<string, string> => {
  const text = readFileSync(new URL(`../../lua/${file}.lua`, import.meta.url), 'utf8');
  return new Map([...text.matchAll(/^--- define (\w+) (\S+)/gm)].map(([, name, value]) => [name!, value!]));
};

describe('formats of the scripts', () => {
  it('are those of the layouts', () => {
    const written = readFileSync(new URL('../../lua/include/order_formats.lua', import.meta.url), 'utf8');
    expect(written, 'npm run -s proofs -- order-formats writes them').to.equal(orderFormats());
  });

  it('have the generated code that their tables ask for', () => {
    const written = readFileSync(new URL('../../src/redis/generated.ts', import.meta.url), 'utf8');
    expect(written, 'npm run -s proofs -- order-formats writes it').to.equal(generatedSource());
  });

  it('begin an order with its terms, and the terms with the wallet', () => {
    expect(PLACING_ORDER.names.slice(0, TERMS.names.length)).to.deep.equal(TERMS.names);
    expect(TERMS.names[0]).to.equal('wallet');
    expect(TERMS.format.endsWith('c0'), 'the text comes last').to.equal(true);
  });

  it('have the codes of the outcomes', () => {
    const codesIn = (file: string) => [...definedIn(file)].filter(([, value]) => /^\d+$/.test(value));
    const upper = (codes: Readonly<Record<string, number>>) =>
      Object.entries(codes).map(([name, code]) => [name.toUpperCase(), `${code}`]);
    expect(codesIn('include/placing_codes')).to.deep.equal(upper(OUTCOMES));
    expect(codesIn('cancel_orders')).to.deep.equal(upper(CLOSE_OUTCOMES));
  });

  it('balance fields and the time for which a lookup counts are the same in TypeScript and Lua', () => {
    const fields = [...definedIn('include/balance_fields')].map(([name, value]) => [
      name.toLowerCase(),
      value,
    ]);
    expect(fields).to.deep.equal(Object.entries(BALANCE_FIELDS).map(([name, text]) => [name, `'${text}'`]));
    expect(definedIn('include/claim').get('LOOK_COUNTS_MS')).to.equal(`${LOOK_COUNTS_MS}`);
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
