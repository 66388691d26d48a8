/** Attacks on the streams: handshakes that are none, queries with hostile values, and frames that break RFC 6455. */

import type { Random } from '../../support/seed.ts';
import { words } from '../../support/words.ts';
import { HEADER_VALUES, NUMBERS, TEXTS } from './literals.ts';

/** A handshake with the bytes that follow it. */
export interface Handshake {
  readonly name: string;
  readonly path: string;
  readonly head: Buffer;
  /** True if the stream must be opened. */
  readonly mustOpen: boolean;
  /** Close codes of which one must come. Empty for a stream that stays open. */
  readonly closeCodes: readonly number[];
  /** Sent once the stream is open. */
  readonly frames: readonly Buffer[];
}

const KEY = 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==';
const VERSION = 'Sec-WebSocket-Version: 13';
const OFFER = ['Connection: Upgrade', 'Upgrade: websocket'];

const headOf = (path: string, ...lines: string[]): Buffer =>
  Buffer.from(
    `${[`GET ${path} HTTP/1.1`, 'Host: redbook.example', ...lines].join('\r\n')}\r\n\r\n`,
    'latin1',
  );

const GENERAL = '/ws';
const MARKET = '/ws/market?symbol=ETH%2FUSDC&tf=1m';
const PROTOCOL_ERROR = 1002;
const NOT_TEXT = 1007;
const TOO_LARGE = 1009;
const BAD_REQUEST = 4400;
const NOT_FOUND = 4404;

interface FrameOptions {
  readonly opcode?: number;
  readonly fin?: boolean;
  readonly rsv?: number;
  readonly masked?: boolean;
  /** Length that the frame announces, if it differs from that of the payload. */
  readonly announced?: bigint;
}

/** Writes one frame of a client. */
export function frame(payload: Buffer, options: FrameOptions = {}): Buffer {
  const { opcode = 1, fin = true, rsv = 0, masked = true } = options;
  const announced = options.announced ?? BigInt(payload.length);
  const maskBit = masked ? 0x80 : 0;
  const head = [(fin ? 0x80 : 0) | (rsv << 4) | opcode];
  const length = Buffer.alloc(announced > 65_535n ? 8 : announced > 125n ? 2 : 0);
  if (length.length === 8) length.writeBigUInt64BE(announced);
  if (length.length === 2) length.writeUInt16BE(Number(announced));
  head.push(maskBit | (length.length === 8 ? 127 : length.length === 2 ? 126 : Number(announced)));
  const mask = masked ? Buffer.from([1, 2, 3, 4]) : Buffer.alloc(0);
  const body = masked ? Buffer.from(payload.map((byte, at) => byte ^ mask[at % 4]!)) : payload;
  return Buffer.concat([Buffer.from(head), length, mask, body]);
}

const CLOSE = 8;
const PING = 9;
const PONG = 10;

const closing = (code: number, reason: Buffer = Buffer.alloc(0)): Buffer => {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return frame(Buffer.concat([payload, reason]), { opcode: CLOSE });
};

/** `ws` ends a stream that has more pings waiting for their pong; the last ping of an attack is one of them. */
const MAX_PINGS = 60;

type FrameAttack = readonly [name: string, closeCodes: readonly number[], frames: readonly Buffer[]];

const NOTHING = Buffer.alloc(0);
const SOME = Buffer.from('hello');

const FRAME_ATTACKS: readonly FrameAttack[] = [
  ['unmasked', [PROTOCOL_ERROR], [frame(SOME, { masked: false })]],
  ['reserved bits', [PROTOCOL_ERROR], [frame(SOME, { rsv: 4 })]],
  ...[3, 4, 5, 6, 7, 11, 12, 15].map(
    (opcode): FrameAttack => [`opcode ${opcode}`, [PROTOCOL_ERROR], [frame(SOME, { opcode })]],
  ),
  ['fragmented ping', [PROTOCOL_ERROR], [frame(SOME, { opcode: PING, fin: false })]],
  ['fragmented close', [PROTOCOL_ERROR], [frame(NOTHING, { opcode: CLOSE, fin: false })]],
  ['ping over 125 bytes', [PROTOCOL_ERROR], [frame(Buffer.alloc(126), { opcode: PING })]],
  ['continuation of nothing', [PROTOCOL_ERROR], [frame(SOME, { opcode: 0 })]],
  ['text inside a text', [PROTOCOL_ERROR], [frame(SOME, { fin: false }), frame(SOME)]],
  ['no UTF-8', [NOT_TEXT], [frame(Buffer.from([0xff, 0xfe]))]],
  ['lone surrogate', [NOT_TEXT], [frame(Buffer.from([0xed, 0xa0, 0x80]))]],
  ['text over 1 KB', [TOO_LARGE], [frame(Buffer.alloc(1_025, 'x'))]],
  ['binary of 1 MB', [TOO_LARGE], [frame(Buffer.alloc(1_000_000), { opcode: 2 })]],
  ['announced 2^63', [TOO_LARGE], [frame(SOME, { announced: 1n << 63n })]],
  ['announced 2^53', [TOO_LARGE], [frame(SOME, { announced: 1n << 53n })]],
  ['announced 1 GB', [TOO_LARGE], [frame(SOME, { announced: 1_000_000_000n })]],
  [
    'fragments over 1 KB together',
    [TOO_LARGE],
    [frame(Buffer.alloc(600, 'x'), { fin: false }), frame(Buffer.alloc(600, 'x'), { opcode: 0, fin: false })],
  ],
  ['close of one byte', [PROTOCOL_ERROR], [frame(Buffer.alloc(1), { opcode: CLOSE })]],
  ...[0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65_535].map(
    (code): FrameAttack => [`close code ${code}`, [PROTOCOL_ERROR], [closing(code)]],
  ),
  ['close reason that is no text', [NOT_TEXT], [closing(1000, Buffer.from([0xff]))]],
  ['close in order', [1000], [closing(1000, Buffer.from('bye'))]],
  ['close without code', [1005], [frame(NOTHING, { opcode: CLOSE })]],
  ['messages', [], [frame(SOME), frame(Buffer.alloc(1_024, 'x')), frame(SOME, { opcode: 2 })]],
  ['empty messages', [], Array<Buffer>(500).fill(frame(NOTHING))],
  ['empty fragments', [], [frame(NOTHING, { fin: false }), frame(NOTHING, { opcode: 0 })]],
  ['pings', [], Array<Buffer>(MAX_PINGS - 1).fill(frame(SOME, { opcode: PING }))],
  ['pongs', [], Array<Buffer>(200).fill(frame(SOME, { opcode: PONG }))],
  ['JSON', [], [frame(Buffer.from('{"type":"subscribe","__proto__":{}}'))]],
];

function frameAttack(dice: Random): Handshake {
  const [name, closeCodes, frames] = dice.pick(FRAME_ATTACKS);
  const path = dice.pick([GENERAL, MARKET]);
  const head = headOf(path, ...OFFER, VERSION, KEY);
  return { name: `frames: ${name}`, path, head, mustOpen: true, closeCodes, frames };
}

/** Handshakes that are refused before a stream opens. */
function badHandshake(dice: Random): Handshake {
  const path = dice.pick([GENERAL, MARKET]);
  const lines = dice.pick<readonly string[]>([
    [...OFFER, VERSION],
    [...OFFER, KEY],
    [...OFFER, VERSION, 'Sec-WebSocket-Key: x'],
    [...OFFER, VERSION, `Sec-WebSocket-Key: ${'A'.repeat(5_000)}`],
    [...OFFER, 'Sec-WebSocket-Version: 99', KEY],
    [...OFFER, `Sec-WebSocket-Version: ${dice.pick(NUMBERS)}`, KEY, KEY],
    [...OFFER, VERSION, KEY, 'Sec-WebSocket-Protocol: a,,b'],
    ['Connection: Upgrade', 'Upgrade: websocket2', VERSION, KEY],
    [...OFFER, VERSION, KEY, 'Host: other'],
  ]);
  return { name: 'bad handshake', path, head: headOf(path, ...lines), ...REFUSED };
}

const REFUSED = { mustOpen: false, closeCodes: [], frames: [] } as const;

/** Handshakes whose head has a hostile value in a header that does not matter. */
function oddHandshake(dice: Random): Handshake {
  const name = dice.pick(
    words(`
    Origin Cookie Authorization Sec-WebSocket-Extensions X-Forwarded-For X-Request-Id
  `),
  );
  const head = headOf(GENERAL, ...OFFER, VERSION, KEY, `${name}: ${dice.pick(HEADER_VALUES)}`);
  // A replica that offers no extension ignores those that it cannot read, or refuses the handshake.
  return { ...REFUSED, name: `odd header ${name}`, path: GENERAL, head };
}

const ODD_SYMBOLS = [...TEXTS, ...NUMBERS].filter((text) => text !== 'ETH/USDC');

/** A market's stream with hostile parameters: an error frame, then its close code. */
function oddQuery(dice: Random): Handshake {
  const value = (): string => {
    try {
      return encodeURIComponent(dice.pick(ODD_SYMBOLS).slice(0, 3_000));
    } catch {
      return '%ED%A0%80';
    }
  };
  const query = dice.pick([
    '',
    'symbol=',
    'symbol',
    'symbol=ETH%2FUSDC&symbol=ETH%2FUSDC',
    `symbol=${value()}`,
    `symbol=ETH%2FUSDC&tf=${value()}`,
    'symbol=ETH%2FUSDC&tf=1m&tf=1m',
    `symbol=%&tf=%`,
    `symbol[]=ETH%2FUSDC`,
    `symbol=NO%2FNE&tf=1h`,
    `__proto__=x&symbol=${value()}`,
  ]);
  const path = `/ws/market?${query}`;
  const head = headOf(path, ...OFFER, VERSION, KEY);
  return { name: 'odd query', path, head, mustOpen: true, closeCodes: [BAD_REQUEST, NOT_FOUND], frames: [] };
}

export const drawHandshake = (dice: Random): Handshake =>
  dice.pick([
    () => frameAttack(dice),
    () => frameAttack(dice),
    () => frameAttack(dice),
    () => badHandshake(dice),
    () => oddHandshake(dice),
    () => oddQuery(dice),
  ])();

/** A frame of the server. */
export interface ServerFrame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** Reads the complete frames of a server, which masks none. */
export function readFrames(bytes: Buffer): ServerFrame[] {
  const frames: ServerFrame[] = [];
  for (let at = 0; bytes.length >= at + 2; ) {
    const short = bytes[at + 1]! & 0x7f;
    const wide = short === 127 ? 8 : short === 126 ? 2 : 0;
    if (bytes.length < at + 2 + wide) break;
    const length =
      wide === 8 ? Number(bytes.readBigUInt64BE(at + 2)) : wide === 2 ? bytes.readUInt16BE(at + 2) : short;
    const from = at + 2 + wide;
    if (bytes.length < from + length) break;
    frames.push({ opcode: bytes[at]! & 0x0f, payload: bytes.subarray(from, from + length) });
    at = from + length;
  }
  return frames;
}

/** The code of a close frame among the frames, 1005 for one without a code. */
export function closeCodeOf(frames: readonly ServerFrame[]): number | undefined {
  const closingFrame = frames.find(({ opcode }) => opcode === CLOSE);
  if (closingFrame === undefined) return undefined;
  return closingFrame.payload.length >= 2 ? closingFrame.payload.readUInt16BE(0) : 1005;
}

/** Proves that a stream is open: a server answers each ping with a pong of the same payload. */
export const LAST_PING = frame(Buffer.from('still there'), { opcode: PING });

export const isAlive = (frames: readonly ServerFrame[]): boolean =>
  frames.some(({ opcode, payload }) => opcode === PONG && payload.toString() === 'still there');
