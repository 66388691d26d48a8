/** Proves that JSON is read and written without converting numbers to doubles. */

import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { LosslessNumber, parse } from 'lossless-json';
import { NumberLiteral } from '../../src/contract/decimals.ts';
import { Refusal } from '../../src/domain/errors.ts';
import { JsonText, writeJson } from '../../src/domain/json.ts';
import { compareWith, parseDecimal } from '../../src/domain/units.ts';
import { readJson } from '../../src/http/json.ts';
import { type Random, random, runSeed } from '../support/seed.ts';

const SAMPLES = [
  '{"market":"ETH/USDC","price":2000.05,"size":1e-3,"postOnly":false,"tags":["a",null,true]}',
  '{"a":{"b":[1,2,{"c":"\\u00e9\\n\\ud83d\\ude00"}]},"":-0.0e+10}',
  '[[],{},"",0,-1,1.5E5]',
  ' \t\r\n"text" ',
];
/** Objects of plain members, which have their own parser. */
const FLAT_SAMPLES = [
  '{"market":"ETH/USDC","side":"buy","type":"limit","price":2000.05,"size":1,"clientOrderId":"an id"}',
  ' { "a" : -0.0e+10 , "b" : true , "c" : false , "d" : null , "e" : "\u00e9\ud83d\ude00" } ',
  '{"a":1,"b":2}',
];
const PIECES = [
  ...'{}[],:"\\0123456789.eE+- \t\nu',
  'true',
  'null',
  '\u0000',
  '\u2028',
  '\ud800',
  '1e400',
  '__proto__',
];

/** Converts numbers to doubles, for comparison with JSON.parse. */
const asDoubles = (value: unknown): unknown => {
  if (value instanceof NumberLiteral) return Number(value.text);
  if (Array.isArray(value)) return value.map(asDoubles);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, asDoubles(inner)]));
};

const attempt = <Result>(run: () => Result): { result: Result } | { error: unknown } => {
  try {
    return { result: run() };
  } catch (error) {
    return { error };
  }
};

/** True if the reader accepted or rejected the same as JSON.parse. The reader also rejects ambiguous duplicate keys. */
function agree(own: ReturnType<typeof attempt>, reference: ReturnType<typeof attempt>): boolean {
  if ('result' in own)
    return 'result' in reference && isDeepStrictEqual(asDoubles(own.result), reference.result);
  const { error } = own;
  if (!(error instanceof Refusal) || error.code !== 'EXPRESS_ERR_INVALID_JSON') return false;
  return 'error' in reference || /Duplicate key/.test(error.message);
}

const mutated = (dice: Random, text: string): string => {
  const at = dice.below(text.length + 1);
  return text.slice(0, at) + dice.pick(PIECES) + text.slice(at + dice.below(3));
};

describe('JSON without doubles', () => {
  it('keeps every number as it is written', () => {
    const numbers = [
      '0.1000000000000000000000000000000000000001',
      '1e400',
      '-0',
      '12345678901234567890',
      '1E-7',
    ];
    const read = readJson(`[${numbers.join(',')}]`) as NumberLiteral[];
    expect(read.map(({ text }) => text)).to.deep.equal(numbers);
  });

  it('accepts and rejects the same texts as JSON.parse, except duplicate keys', () => {
    const dice = random(runSeed());
    let taken = 0;
    for (let round = 0; round < 20_000; round += 1) {
      const text = mutated(dice, mutated(dice, dice.pick(dice.chance(0.5) ? SAMPLES : FLAT_SAMPLES)));
      const own = attempt(() => readJson(text));
      const reference = attempt(() => JSON.parse(text));
      if ('result' in own) taken += 1;
      // Plain comparisons, because chai's take ten seconds for all rounds.
      if (!agree(own, reference)) expect(own, text).to.deep.equal(reference);
    }
    expect(taken).to.be.above(500);
  });

  it('reads a flat object like the library', () => {
    for (const text of FLAT_SAMPLES) {
      expect(readJson(text), text).to.deep.equal(parse(text, null, (digits) => new NumberLiteral(digits)));
    }
  });

  it('keeps the value of every number of a flat object', () => {
    const dice = random(runSeed());
    const digits = (max: number): string =>
      `${1 + dice.below(9)}${String(dice.below(10 ** dice.below(max)))}`;
    for (let round = 0; round < 3_000; round += 1) {
      const whole = dice.pick(['0', digits(9), digits(9) + digits(9)]);
      const fraction = dice.chance(0.5) ? `.${'0'.repeat(dice.below(8))}${digits(9)}` : '';
      const exponent = dice.chance(0.2) ? dice.pick(['e3', 'E-5', 'e-400', 'e+20']) : '';
      const text = `${dice.chance(0.1) ? '-' : ''}${whole}${fraction}${exponent}`;
      const { size } = readJson(`{"size":${text}}`) as { size: NumberLiteral };
      expect(compareWith(parseDecimal(size.text)!, text), `${size.text} for ${text}`).to.equal(0);
    }
  });

  it('pollutes no prototype', () => {
    const read = readJson(
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    ) as object;
    expect(({} as { polluted?: unknown }).polluted).to.equal(undefined);
    expect(Object.getPrototypeOf(read)).to.equal(Object.prototype);
    expect(Object.keys(read)).to.deep.equal(['__proto__', 'constructor']);
  });

  const codeOf = (text: string): unknown => {
    const read = attempt(() => readJson(text));
    return 'error' in read && read.error instanceof Refusal ? read.error.code : read;
  };
  const items = (count: number): string => Array(count).fill('1').join(',');
  const members = (count: number): string =>
    Array.from({ length: count }, (_, at) => `"k${at}":"v"`).join(',');

  it('rejects more than four levels or 128 members before it reads them', () => {
    const large = {
      levels: '[[[[[]]]]]',
      'levels in an object': '{"a":{"b":{"c":{"d":{}}}}}',
      'many levels': `${'['.repeat(8_000)}${']'.repeat(8_000)}`,
      items: `[${items(129)}]`,
      'members of a flat object': `{${members(129)}}`,
      'members in all': `{"a":[${items(64)}],"b":[${items(63)}]}`,
      'empty lists': `[${Array(129).fill('[]').join(', ')}]`,
      'a text that ends in a backslash before the lists': `{"a":"\\\\","b":[${items(127)}]}`,
    };
    for (const [name, text] of Object.entries(large)) expect(codeOf(text), name).to.equal('VALIDATION_ERROR');
    for (const [name, text] of Object.entries({
      brackets: '['.repeat(16_384),
      objects: '{"a":'.repeat(3_000),
      'a list without end': `[${items(8_000)}`,
      'brackets that do not match': `${'[{'.repeat(40)}${'}]'.repeat(39)}}}`,
    }))
      expect(codeOf(text), name).to.equal('EXPRESS_ERR_INVALID_JSON');
  });

  it('ignores brackets and commas in strings, and counts no member in an empty list', () => {
    const texts = [
      '[[[[]]]]',
      `{${members(128)}}`,
      `[${items(128)}]`,
      `{"a":[${items(63)}],"b":[${items(63)}]}`,
      `[${Array(128).fill('{ }').join()}]`,
      JSON.stringify({ a: '[{,'.repeat(999), '[[[[[[': '\\"[,'.repeat(99), c: '\u0022[[[[['.repeat(9) }),
      '{"a":"\\u0022[[[[[[","b":"\\\\","c":"\\\\\\"[[[[[["}',
    ];
    for (const text of texts) expect(asDoubles(readJson(text)), text).to.deep.equal(JSON.parse(text));
  });

  it('writes text that another reader reads alike', () => {
    const value = {
      price: new JsonText('0.1000000000000000000000000000000000000001'),
      count: 3,
      text: 'quote " backslash \\ line\nlone \ud800 null \u0000',
      list: [true, false, null, [], {}],
      'a "key"': { nested: new JsonText('[1,2]') },
    };
    expect(parse(writeJson(value), null, (digits) => new LosslessNumber(digits))).to.deep.equal({
      ...value,
      price: new LosslessNumber('0.1000000000000000000000000000000000000001'),
      count: new LosslessNumber('3'),
      'a "key"': { nested: [new LosslessNumber('1'), new LosslessNumber('2')] },
    });
  });
});
