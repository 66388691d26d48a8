/**
 * Reads the contents of the engine in bounded pages, each with the event that it is as of. A reconcile uses the stream
 * to bring pages of different events to one event. No page blocks matching for longer than a large order does.
 */

import type { Side } from '../domain/order.ts';
import { BALANCE_FIELDS, keyBytesOfPrice, priceOfKeyBytes, walletBytes, walletText } from './codec.ts';
import type { EngineCore } from './core.ts';
import { ANY_KEY, balancesKey, bookKey, KEYS, levelsKey, takenField } from './keys.ts';
import { furtherGrants, isOfRelease } from './rights.ts';
import { FIND_INDEXED, READ_FIELDS, READ_HEAD, SCAN_FIELDS, SCAN_MEMBERS, SCAN_SWITCHES } from './scripts.ts';
import { readState, STATE, STATE_BYTES } from './state.ts';

/** The user of a connection that names none. */
const DEFAULT_USER = 'default';

interface StrangeUser {
  readonly name: string;
  /** Beyond what the release gives. */
  readonly grants: readonly string[];
  readonly isKnown: boolean;
}

/** Members of one page of a book or of the live orders. */
const MEMBERS_TOGETHER = 1_000;
/** Approximate number of fields in one page of a hash, and maximum of fields that are read by name at once. */
export const FIELDS_TOGETHER = 500;

export interface MemberPage {
  /** Sequence of the last event that is included. */
  readonly sequence: number;
  /** In the order of their bytes. */
  readonly members: readonly Buffer[];
  readonly isLast: boolean;
  /** A member that no page finds, because its score is not 0. */
  readonly misplaced: Buffer | null;
}

interface FieldPage {
  readonly sequence: number;
  /** Names as `EngineHash` gives them. */
  readonly fields: readonly (readonly [name: string, value: Buffer])[];
  /** Null after the last page. */
  readonly next: string | null;
}

interface FieldValues {
  readonly sequence: number;
  /** Values in the order requested; null for a missing field. */
  readonly values: readonly (Buffer | null)[];
}

/** A hash of the engine; its fields have readable names. */
export type EngineHash =
  /**
   * `hold of 0x…`, `terms of 0x…`, `taken withdrawal REFERENCE`, `rules of market 1`, `last price of market 1`, the parts of the state by name
   * (`epoch`, `sequence`, `time`, `trade`, `unsettled`, `claims`), and others.
   */
  | { readonly of: 'engine' }
  /** Market records by symbol. */
  | { readonly of: 'markets' }
  | { readonly of: 'assets' }
  /** `available to 0x…`, `reserved by 0x…`, `owed by 0x…`, `house`, `withdrawals`, `supply`. */
  | { readonly of: 'balances'; readonly asset: string }
  /** Prices in ticks. */
  | { readonly of: 'levels'; readonly market: string; readonly side: Side }
  /** Digests in hex. */
  | { readonly of: 'claims'; readonly generation: 0 | 1 };

interface FieldShape {
  readonly key: string;
  readonly nameOf: (field: Buffer) => string;
  readonly fieldOf: (name: string) => Buffer | string;
}

const sideName = (side: Side): 'bids' | 'asks' => (side === 'buy' ? 'bids' : 'asks');

/** Prefixes of fields, and the prefixes of their readable names. */
const OF_WALLETS = { 'hold:': 'hold of ', 'terms:': 'terms of ' };
const OF_MARKETS = {
  'rules:': 'rules of market ',
  'last:': 'last price of market ',
};
const TAKEN = { start: takenField(''), name: 'taken withdrawal ' };
const WALLET_BYTES = 20;

function engineName(field: Buffer): string {
  const text = field.toString('latin1');
  for (const [start, name] of Object.entries(OF_WALLETS)) {
    const subject = field.subarray(start.length);
    if (text.startsWith(start) && subject.length === WALLET_BYTES) return name + walletText(subject);
  }
  if (text.startsWith(TAKEN.start)) return TAKEN.name + field.toString('utf8', TAKEN.start.length);
  for (const [start, name] of Object.entries(OF_MARKETS))
    if (text.startsWith(start)) return name + text.slice(start.length);
  return text;
}

function engineField(name: string): Buffer | string {
  for (const [start, begin] of Object.entries(OF_WALLETS))
    if (name.startsWith(begin))
      return Buffer.concat([Buffer.from(start), walletBytes(name.slice(begin.length))]);
  if (name.startsWith(TAKEN.name)) return takenField(name.slice(TAKEN.name.length));
  for (const [start, begin] of Object.entries(OF_MARKETS))
    if (name.startsWith(begin)) return Buffer.from(start + name.slice(begin.length));
  return STATE.names.includes(name) ? 'state' : Buffer.from(name, 'latin1');
}

/** Splits the state into one field for each of its parts. */
function expand(field: string, value: Buffer): (readonly [name: string, value: Buffer])[] {
  if (field !== 'state' || value.length !== STATE_BYTES) return [[field, value]];
  return Object.entries(readState(value)).map(([name, part]) => [name, Buffer.from(`${part}`)]);
}

const BALANCE_NAMES = {
  [BALANCE_FIELDS.available]: 'available to ',
  [BALANCE_FIELDS.reserved]: 'reserved by ',
  [BALANCE_FIELDS.owed]: 'owed by ',
};

function balanceName(field: Buffer): string {
  const part = field.toString('latin1', WALLET_BYTES) as keyof typeof BALANCE_NAMES;
  return field.length === WALLET_BYTES + 1 && part in BALANCE_NAMES
    ? BALANCE_NAMES[part] + walletText(field.subarray(0, WALLET_BYTES))
    : field.toString('latin1');
}

function balanceField(name: string): Buffer {
  for (const [part, begin] of Object.entries(BALANCE_NAMES))
    if (name.startsWith(begin))
      return Buffer.concat([walletBytes(name.slice(begin.length)), Buffer.from(part)]);
  return Buffer.from(name, 'latin1');
}

const PRICE_BYTES = 7;
const asText = (field: Buffer): string => field.toString();

function shapeOf(hash: EngineHash): FieldShape {
  switch (hash.of) {
    case 'engine':
      return { key: KEYS.engine, nameOf: engineName, fieldOf: engineField };
    case 'markets':
    case 'assets':
      return { key: KEYS[hash.of], nameOf: asText, fieldOf: (name) => name };
    case 'balances':
      return { key: balancesKey(hash.asset), nameOf: balanceName, fieldOf: balanceField };
    case 'levels':
      return {
        key: levelsKey(hash.market, sideName(hash.side)),
        nameOf: (field) =>
          field.length === PRICE_BYTES
            ? String(priceOfKeyBytes(field, hash.side))
            : `field ${field.toString('hex')}`,
        fieldOf: (name) => keyBytesOfPrice(BigInt(name), hash.side),
      };
    case 'claims':
      return {
        key: KEYS.claims[hash.generation],
        nameOf: (field) => field.toString('hex'),
        fieldOf: (name) => Buffer.from(name, 'hex'),
      };
  }
}

/** Position of the engine, by its own count and by its stream. */
interface Head {
  readonly sequence: number;
  readonly timeMs: number;
  /** The newest event in the stream; null when the stream is empty. */
  readonly newest: { readonly epoch: number; readonly sequence: number; readonly timeMs: number } | null;
}

export class EnginePages {
  readonly #core: EngineCore;

  constructor(core: EngineCore) {
    this.#core = core;
  }

  /**
   * Returns a page of one side of a market; `readBookMember` reads each member.
   * @param after last member of the previous page; null: from the beginning
   */
  scanBook(symbol: string, side: Side, after: Buffer | null): Promise<MemberPage> {
    return this.#scanMembers(bookKey(symbol, sideName(side)), after);
  }

  /** Returns a page of the live orders of all wallets; `readLiveMember` reads each member. */
  scanLive(after: Buffer | null): Promise<MemberPage> {
    return this.#scanMembers(KEYS.live, after);
  }

  /**
   * Returns a page of a hash.
   * @param cursor `next` of the previous page; null: from the beginning
   */
  async scanFields(hash: EngineHash, cursor: string | null): Promise<FieldPage> {
    const { key, nameOf } = shapeOf(hash);
    const page = await this.#core.scripts.run(SCAN_FIELDS, {
      hash: key,
      cursor: cursor ?? '0',
      count: FIELDS_TOGETHER,
    });
    const fields = page.fields
      .map(([field, value]) => [nameOf(field), value] as const)
      .flatMap(([name, value]) => (hash.of === 'engine' ? expand(name, value) : [[name, value] as const]));
    return { sequence: page.sequence, fields, next: page.next === '0' ? null : page.next };
  }

  /**
   * Returns fields of a hash by name.
   * @param names at most `FIELDS_TOGETHER`, and at least one
   */
  async readFields(hash: EngineHash, names: readonly string[]): Promise<FieldValues> {
    const { key, fieldOf } = shapeOf(hash);
    const { sequence, values } = await this.#core.scripts.run(READ_FIELDS, {
      hash: key,
      fields: names.map(fieldOf),
    });
    if (hash.of !== 'engine') return { sequence, values };
    const partOf = (value: Buffer | null, index: number): Buffer | null =>
      value !== null && fieldOf(names[index]!) === 'state'
        ? (new Map(expand('state', value)).get(names[index]!) ?? value)
        : value;
    return { sequence, values: values.map(partOf) };
  }

  /** Returns a page of the unsettled index; each member is a wallet (20) and the stamp of an event (8). */
  scanUnsettled(generation: 0 | 1, after: Buffer | null): Promise<MemberPage> {
    return this.#scanMembers(KEYS.unsettled[generation], after);
  }

  /**
   * Tells which members the unsettled index has, at most `FIELDS_TOGETHER`.
   * @returns `turnedAt`: members of events up to this one may have been dropped
   */
  areIndexed(members: readonly Buffer[]): Promise<{ turnedAt: number; found: boolean[] }> {
    return this.#core.scripts.run(FIND_INDEXED, { members });
  }

  /**
   * Returns a page of the dead-man switches of wallets that a key names, each with all that is kept of it.
   * @param cursor `next` of the previous page; null: from the beginning
   */
  async scanSwitches(of: 'switches' | 'leases' | 'cut_offs', cursor: string | null) {
    const count = FIELDS_TOGETHER;
    const page = await this.#core.scripts.run(SCAN_SWITCHES, { of, cursor: cursor ?? '0', count });
    return { ...page, next: page.next === '0' ? null : page.next };
  }

  /** Yields the keys of Redbook's tag, also those of its queue and limits if they are in this Redis. */
  async *scanKeys(): AsyncGenerator<readonly string[]> {
    const { redis, scripts } = this.#core;
    let cursor = '0';
    do {
      const [next, keys] = await scripts.call(() =>
        redis.scan(cursor, 'MATCH', ANY_KEY, 'COUNT', MEMBERS_TOGETHER),
      );
      cursor = next;
      yield keys;
    } while (cursor !== '0');
  }

  /**
   * Returns the milliseconds after which Redis removes each key by itself; null for a key that stays or is gone.
   * @param keys of the engine: its users have no right to others
   */
  async livesMs(keys: readonly string[]): Promise<(number | null)[]> {
    const { redis, scripts } = this.#core;
    const found = await scripts.call(() => Promise.all(keys.map((key) => redis.pttl(key))));
    return found.map((livesMs) => (livesMs < 0 ? null : livesMs));
  }

  /**
   * Returns the users of Redis that may log in and are not of this release, with `isKnown` those of it that may do more
   * than it gives them. Returns none where the connection has a user of another name: whoever runs that server names its
   * users.
   */
  async strangeUsers(): Promise<readonly StrangeUser[]> {
    const { redis, scripts } = this.#core;
    const own = redis.options.username ?? DEFAULT_USER;
    if (own !== DEFAULT_USER && !isOfRelease(own)) return [];
    const users = (await scripts.call(() => redis.acl('LIST'))) as string[];
    return users.flatMap((line) => {
      const user = furtherGrants(line);
      if (user === undefined || (user.name === DEFAULT_USER && own === DEFAULT_USER)) return [];
      const isKnown = isOfRelease(user.name);
      return isKnown && user.grants.length === 0 ? [] : [{ ...user, isKnown }];
    });
  }

  /** Returns the position of the engine, by its own count and by its stream. */
  async readHead(): Promise<Head> {
    const { sequence, timeMs, newestId, newestTimeMs } = await this.#core.scripts.run(READ_HEAD, {});
    const [epoch, newest] = newestId.split('-').map(Number);
    return {
      sequence,
      timeMs,
      newest: newestId === '' ? null : { epoch: epoch!, sequence: newest!, timeMs: newestTimeMs },
    };
  }

  async #scanMembers(key: string, after: Buffer | null): Promise<MemberPage> {
    const from = after === null ? '-' : Buffer.concat([Buffer.from('('), after]);
    const page = await this.#core.scripts.run(SCAN_MEMBERS, { set: key, from, count: MEMBERS_TOGETHER });
    return { ...page, isLast: page.members.length < MEMBERS_TOGETHER };
  }
}
