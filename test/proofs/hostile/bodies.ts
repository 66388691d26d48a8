/** Bodies of hostile requests: members with hostile values, broken JSON, and bytes that are no text. */

import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Random } from '../../support/seed.ts';
import { BYTES, KEYS, NOT_NUMBERS, NUMBERS, OTHERS, TEXTS } from './literals.ts';
import type { Operation } from './operations.ts';
import { drawObject } from './values.ts';
import type { SignedIn, World } from './world.ts';

export interface Body {
  readonly bytes: Buffer;
  /** Headers that describe the body, undefined to send none. */
  readonly contentType: string | undefined;
  readonly contentEncoding?: string;
}

const MAX_BYTES = 16 * 1_024;
const BOMB = gzipSync(Buffer.alloc(10_000_000));

const CONTENT_TYPES: readonly (string | undefined)[] = [
  undefined,
  '',
  'application/json; charset=utf-16',
  'application/json; charset=utf-8; charset=utf-16',
  'application/json; charset="UTF-8"',
  'APPLICATION/JSON',
  'application/json;;;',
  'application/jsonp',
  'application/json, text/plain',
  'application/vnd.api+json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/plain',
  'text/xml',
  'application/octet-stream',
  `application/json; ${'x'.repeat(2_000)}`,
];

/** A member of an object as JSON text. */
type Member = readonly [key: string, value: string];

/** Returns the members of a body that should be accepted, as far as the document tells. */
function validMembers(
  operation: Operation,
  world: World,
  wallet: SignedIn,
  dice: Random,
  turn: number,
): Member[] {
  const { examples, members, body = {} } = operation;
  const example = examples.length > 0 ? examples[turn % examples.length] : undefined;
  return Object.entries(example ?? drawObject(body, { world, wallet, dice })).map(([name, shown]) => {
    const choices: readonly unknown[] = members.get(name)?.enum ?? [];
    const isChoice = choices.length > 1 && dice.chance(0.3);
    const known = example && (isChoice ? dice.pick(choices) : world.valueOf(name, wallet, dice));
    return [name, JSON.stringify(known ?? shown)];
  });
}

/** Returns a hostile value as JSON text, or as text that is no JSON. */
function hostileValue(dice: Random): string {
  const roll = dice.below(100);
  if (roll < 40) return dice.pick(NUMBERS);
  if (roll < 47) return JSON.stringify(dice.pick(NUMBERS));
  if (roll < 52) return dice.pick(NOT_NUMBERS);
  if (roll < 82) return JSON.stringify(dice.pick(TEXTS));
  if (roll < 95) return dice.pick(OTHERS);
  return nested(dice.pick([10, 100, 1_000, 5_000]), dice);
}

function nested(depth: number, dice: Random): string {
  const [open, close] = dice.pick([
    ['[', ']'],
    ['{"a":', '}'],
    ['[{"__proto__":', '}]'],
  ]);
  return open.repeat(depth) + (dice.chance(0.8) ? `1${close.repeat(depth)}` : '');
}

function mutateMembers(members: Member[], operation: Operation, dice: Random): Member[] {
  const names = [...operation.members.keys(), ...KEYS];
  const changed = [...members];
  const at = (): number => dice.below(Math.max(1, changed.length));
  for (let left = 1 + dice.below(3); left > 0; left -= 1) {
    const roll = dice.below(100);
    if (roll < 55 && changed.length > 0) {
      const place = at();
      changed[place] = [changed[place]![0], hostileValue(dice)];
    } else if (roll < 65) changed.splice(at(), 1);
    else if (roll < 75 && changed.length > 0) changed.push([changed[at()]![0], hostileValue(dice)]);
    else if (roll < 80 && changed.length > 0) changed.push(changed[at()]!);
    else changed.push([dice.pick(names), hostileValue(dice)]);
  }
  return changed;
}

const write = (members: readonly Member[]): string =>
  `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;

/** Damages a text: cuts it off, inserts bytes, or replaces the whole. */
function damage(text: string, dice: Random): Buffer {
  const bytes = Buffer.from(text);
  const at = dice.below(bytes.length + 1);
  const pick = dice.below(12);
  if (pick < 3) return bytes.subarray(0, at);
  if (pick < 7) return Buffer.concat([bytes.subarray(0, at), dice.pick(BYTES), bytes.subarray(at)]);
  if (pick < 8) return Buffer.concat([bytes, bytes]);
  if (pick < 9) return Buffer.from(dice.pick([...OTHERS, ...NUMBERS, ...NOT_NUMBERS]));
  if (pick < 10) return Buffer.from(bytes.toString('utf8'), 'utf16le');
  if (pick < 11) return Buffer.from(` ${'\n'.repeat(dice.below(1_000))}`);
  return Buffer.from(nested(8_000, dice));
}

/** A body of about 16 KB, at and past the limit, or far larger. */
function large(text: string, dice: Random): Buffer {
  const size = dice.pick([MAX_BYTES - 1, MAX_BYTES, MAX_BYTES + 1, 100_000, 1_000_000]);
  const filler = size - Buffer.byteLength(text) - '"x":"",'.length;
  return Buffer.from(filler < 0 ? text : text.replace('{', `{"x":"${'x'.repeat(filler)}",`));
}

function compressed(text: string, dice: Random): Body {
  const contentType = 'application/json';
  return dice.pick<() => Body>([
    () => ({ contentType, contentEncoding: 'gzip', bytes: BOMB }),
    () => ({ contentType, contentEncoding: 'gzip', bytes: gzipSync(text) }),
    () => ({ contentType, contentEncoding: 'deflate', bytes: deflateSync(text) }),
    () => ({ contentType, contentEncoding: 'br', bytes: brotliCompressSync(text) }),
    () => ({ contentType, contentEncoding: 'identity', bytes: Buffer.from(text) }),
    () => ({ contentType, contentEncoding: 'gzip, gzip', bytes: gzipSync(gzipSync(text)) }),
    () => ({ contentType, contentEncoding: 'x'.repeat(500), bytes: Buffer.from(text) }),
  ])();
}

/**
 * @param isHostile false for a body that should be accepted
 * @param turn decides the documented example that the body begins with
 */
export function drawBody(
  operation: Operation,
  world: World,
  wallet: SignedIn,
  dice: Random,
  isHostile: boolean,
  turn: number,
): Body {
  const contentType = 'application/json';
  const members = validMembers(operation, world, wallet, dice, turn);
  if (!isHostile) return { contentType, bytes: Buffer.from(write(members)) };
  const roll = dice.below(100);
  if (roll < 62) return { contentType, bytes: Buffer.from(write(mutateMembers(members, operation, dice))) };
  if (roll < 82) return { contentType, bytes: damage(write(members), dice) };
  if (roll < 86) return { contentType, bytes: large(write(members), dice) };
  if (roll < 91) return compressed(write(members), dice);
  return { contentType: dice.pick(CONTENT_TYPES), bytes: Buffer.from(write(members)) };
}
