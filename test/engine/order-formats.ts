/**
 * Writes `lua/include/order_formats.lua`: the formats, the names of fields and the codes that the scripts share with the
 * engine's code.
 */

import { SELF_TRADE_POLICIES } from '../../src/domain/market.ts';
import { CANCELLING_CALL, CANCELLING_REQUEST, CAUSES } from '../../src/engine/cancelling-call.ts';
import { EVENT_KINDS } from '../../src/engine/event-codec.ts';
import {
  END_CODES,
  MATCH,
  PLACED,
  PLACING_CALL,
  PLACING_ORDER,
  PLACING_REPLY,
  SKIPPED_MAKERS,
  STATUS_CODES,
  TERMS,
} from '../../src/engine/placing-call.ts';
import { STATE } from '../../src/engine/state.ts';
import { SENT } from '../../src/order/bytes.ts';
import { TIMES_IN_FORCE } from '../../src/order/fields.ts';
import { bytesOf, type Field, layout, u8, u16, u48, u56 } from '../../src/redis/layout.ts';

/** Bytes in which every text is empty. */
const NOTHING = Buffer.alloc(256);

interface Described {
  readonly names: readonly string[];
  readonly fields: Readonly<Record<string, Field<never>>>;
}

/** Returns the format of a record for `struct`. It skips the fields that are not among `read`. */
function formatOf(described: object, read: readonly string[] = (described as Described).names): string {
  const { names, fields } = described as Described;
  const parts = names.map((name) => {
    const { format, sizeAt } = fields[name]!;
    return read.includes(name) ? format : 'x'.repeat(sizeAt(NOTHING, 0));
  });
  return `>${parts.join('').replace(/x+$/, '')}`;
}

/** Names that the scripts have for fields, in place of those of the layouts. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  type: 'kind',
  priceTicks: 'price',
  clientOrderId: 'client_id',
};

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns the locals that a script unpacks a record into. */
const localsOf = (names: readonly string[]): string =>
  names.map((name) => snake(OTHER_NAMES[name] ?? name)).join();

const key = u56;
const EVENT = layout({ kind: u8, time: u48 });
const STAMP = layout({ epoch: u16, sequence: u48 });
const BOOK_MEMBER = layout({ key, stamp: bytesOf(8), wallet: bytesOf(20), left: u56 });

/** Terms that the scripts decide by. They pass the others on to the event. */
const TERMS_READ = ['wallet', 'side', 'type', 'timeInForce', 'postOnly', 'priceTicks', 'clientOrderId'];
const ORDER_READ = PLACING_ORDER.names.filter((name) => TERMS_READ.includes(name) || !(name in SENT));

const ORDER_AHEAD_READ = ['wallet', 'side', 'type', 'priceTicks'];

/** Lists of locals by name, for formats of so many fields that a list by hand would go wrong unseen. */
const LOCALS: readonly (readonly [name: string, fields: readonly string[]])[] = [
  ['PLACING_CALL_FIELDS', PLACING_CALL.names],
  ['ORDER_FIELDS', ORDER_READ],
  ['ORDER_AHEAD_FIELDS', ORDER_AHEAD_READ],
  ['CANCELLING_CALL_FIELDS', CANCELLING_CALL.names],
  ['CANCELLING_REQUEST_FIELDS', CANCELLING_REQUEST.names],
  ['STATE_FIELDS', STATE.names],
];

/** Formats by name, with what they stand for. */
const FORMATS: readonly (readonly [name: string, format: string])[] = [
  ['PLACING_CALL_FORMAT', formatOf(PLACING_CALL)],
  ['PLACING_REPLY_FORMAT', formatOf(PLACING_REPLY)],
  ['SKIPPED_MAKERS_FORMAT', formatOf(SKIPPED_MAKERS)],
  ['ORDER_FORMAT', formatOf(PLACING_ORDER, ORDER_READ)],
  ['ORDER_AHEAD_FORMAT', formatOf(PLACING_ORDER, ORDER_AHEAD_READ)],
  ['MATCH_FORMAT', formatOf(MATCH)],
  ['PLACED_FORMAT', formatOf(PLACED)],
  ['PLACED_EVENT_FORMAT', formatOf(layout({ ...EVENT.fields, ...MATCH.fields, fills: u16 }))],
  ['CANCELLING_CALL_FORMAT', formatOf(CANCELLING_CALL)],
  ['CANCELLING_REQUEST_FORMAT', formatOf(CANCELLING_REQUEST)],
  ['CLOSED_EVENT_FORMAT', formatOf(layout({ ...EVENT.fields, cause: u8 }))],
  ['CLOSED_END_FORMAT', formatOf(layout({ hadFills: u8, idBytes: u16 }))],
  ['CODE_FORMAT', formatOf(layout({ code: u8 }))],
  ['CODE_AND_SEQUENCE_FORMAT', formatOf(layout({ code: u8, sequence: u48 }))],
  ['EVENT_FORMAT', formatOf(EVENT)],
  ['COUNT_FORMAT', formatOf(layout({ fills: u16 }))],
  ['FILL_END_FORMAT', formatOf(layout({ steps: u56, fee: u56 }))],
  ['STATE_FORMAT', formatOf(STATE)],
  ['STAMP_FORMAT', formatOf(STAMP)],
  ['KEY_FORMAT', formatOf(layout({ key }))],
  ['BOOK_FORMAT', formatOf(layout({ book: u16 }))],
  ['BOOK_AND_KEY_FORMAT', formatOf(layout({ book: u16, key }))],
  ['MEMBER_FORMAT', formatOf(BOOK_MEMBER, ['key', 'wallet', 'left'])],
  ['STEPS_FORMAT', formatOf(layout({ steps: u56 }))],
];

/** Codes, each the place of its name in a list. */
const CODES: readonly (readonly (string | null)[])[] = [
  ['limit_order', 'market_for_size', 'market_for_budget'],
  TIMES_IN_FORCE,
  SELF_TRADE_POLICIES,
  STATUS_CODES,
  END_CODES,
  EVENT_KINDS,
];

export const orderFormats = (): string =>
  [
    '-- Formats of orders, events and calls, the locals that scripts unpack them into, and codes in them. A format skips',
    '-- the fields that its script does not read. Written by `npm run -s proofs -- order-formats` from the layouts of',
    '-- `src/order` and `src/engine`; a test compares them.',
    ...LOCALS.map(([name, fields]) => `--- define ${name} ${localsOf(fields)}`),
    ...FORMATS.map(([name, format]) => `--- define ${name} '${format}'`),
    `--- define CAUSE_REPLACED ${CAUSES.indexOf('replaced')}`,
    `--- define TERMS_BYTES ${TERMS.sizeAt(NOTHING, 0)} (without the client id)`,
    ...CODES.flatMap((names) =>
      names.flatMap((name, code) => (name === null ? [] : [`--- define ${name.toUpperCase()} ${code}`])),
    ),
    '',
  ].join('\n');
