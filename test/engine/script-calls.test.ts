/** Proves that each script's header, its code and its callers name the same keys and arguments. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { CONSUME_CHALLENGE } from '../../src/auth/challenges.ts';
import * as engineScripts from '../../src/engine/scripts.ts';
import { CLAIM_BEAT } from '../../src/feed/beats.ts';
import { COUNT_ORDERS } from '../../src/http/limits/order-limit.ts';
import { COUNT_REQUESTS } from '../../src/http/limits/request-log.ts';
import { loadScript, scriptOf } from '../../src/redis/lua.ts';
import { describeScript, type InputOf, LoadedCall, type ScriptCall } from '../../src/redis/script-call.ts';

const LUA = new URL('../../lua/', import.meta.url);
const { FIXED_KEYS, ...described } = engineScripts;
const CALLS: readonly ScriptCall<string, string, unknown>[] = [
  ...Object.values(described),
  CLAIM_BEAT,
  CONSUME_CHALLENGE,
  COUNT_ORDERS,
  COUNT_REQUESTS,
];
/** Every engine script shares these keys; other scripts have their own keys. */
const fixedOf = ({ name }: { readonly name: string }): Record<string, string> =>
  Object.values(described).some((call) => call.name === name) ? FIXED_KEYS : {};

/** The second key of a pair, which scripts address by the position of the first. */
const READ_BY_PLACE = new Set(['asks', 'claims_1', 'unsettled_1', 'ask_levels']);

/** Returns the text of a script and of everything that it includes. */
function textOf(path: string, seen = new Set<string>()): string {
  if (seen.has(path)) return '';
  seen.add(path);
  const text = readFileSync(new URL(`${path}.lua`, LUA), 'utf8');
  const includes = [...text.matchAll(/^ *--- include (\w+)$/gm)].map(([, name]) =>
    textOf(`include/${name}`, seen),
  );
  return [text, ...includes].join('\n');
}

const camel = (name: string): string =>
  name.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());

describe('calls of scripts by names', () => {
  it('describe every script once', () => {
    const files = readdirSync(LUA).filter((file) => file.endsWith('.lua'));
    expect(CALLS.map(({ name }) => `${name}.lua`).sort()).to.deep.equal(files.sort());
  });

  for (const call of CALLS)
    it(`${call.name} has the arguments that its header and its callers name`, () => {
      const script = loadScript(call.name);
      const loaded = new LoadedCall(call, script, fixedOf(call));
      const nameOf = (name: string): string => camel(name.replace('...', ''));
      const fixed: Record<string, string> = fixedOf(call);
      const names = [...call.keys, ...call.args];
      // Each input is its own name, so the values show where each name goes.
      const input = Object.fromEntries(
        names.map((name) =>
          name.endsWith('...') ? [name.slice(0, -3), [`${name}1`, `${name}2`]] : [name, name],
        ),
      ) as InputOf<typeof call>;
      const expected = (list: readonly string[], keys: Record<string, string>): string[] =>
        list.flatMap((name) => {
          const one = nameOf(name);
          return name.endsWith('...') ? [`${one}...1`, `${one}...2`] : [keys[one] ?? one];
        });
      expect(loaded.keysOf(input)).to.deep.equal(expected(script.keys, fixed));
      expect(loaded.argsOf(input)).to.deep.equal(expected(script.args, {}));
      // The script uses each name, and no position by its number.
      const text = textOf(call.name);
      const uses = (section: string, name: string): boolean =>
        name.endsWith('...') || new RegExp(`\\b${section}\\.${name}\\b`).test(text);
      for (const name of script.args) expect(uses('ARGV', name), `ARGV.${name}`).to.equal(true);
      for (const name of script.keys.filter((one) => !READ_BY_PLACE.has(one)))
        expect(uses('KEYS', name), `KEYS.${name}`).to.equal(true);
      expect(text).to.not.match(/\b(KEYS|ARGV)\[\d/);
    });

  it('reject a script whose header names other arguments than its callers', () => {
    const call = describeScript({ name: 'some', keys: ['one'], args: ['two'], read: (reply) => reply });
    const script = (header: string) => scriptOf('some', `#!lua\n--[[\nDoes.\n\n${header}\n]]\n`);
    expect(() => new LoadedCall(call, script('KEYS  one\nARGV  two   the second'))).to.not.throw();
    expect(() => new LoadedCall(call, script('KEYS  one, more\nARGV  two'))).to.throw(
      /some: its header names the keys/,
    );
    expect(() => new LoadedCall(call, script('KEYS  one\nARGV  three'))).to.throw(
      /names the arguments three/,
    );
  });
});
