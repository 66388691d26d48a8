/** Connections that are held open, floods of handshakes, and frames that clients of the streams must not send. */

import { connect, type Socket } from 'node:net';
import type { Random } from '../../support/seed.ts';
import { HEADER_VALUES, NUMBERS, TEXTS } from './literals.ts';
import { readReplies, type WireReply } from './wire.ts';
import type { World } from './world.ts';

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
function frame(payload: Buffer, options: FrameOptions = {}): Buffer {
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
  const name = dice.pick([
    'Origin',
    'Cookie',
    'Authorization',
    'Sec-WebSocket-Extensions',
    'X-Forwarded-For',
    'X-Request-Id',
  ]);
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

interface Ports {
  readonly api: readonly number[];
  readonly streams: readonly number[];
}

/** A connection that asks for more of the server than it gives. */
interface Held {
  readonly name: string;
  readonly port: number;
  readonly first: Buffer;
  /** Sent byte by byte, one at each beat. */
  readonly drip?: Buffer;
  /** True if the client never reads. */
  readonly isDeaf?: boolean;
  /** True if the client ends its side at once, and keeps the connection. */
  readonly isHalfOpen?: boolean;
}

const BEAT_MS = 400;
const HANDSHAKE =
  'Host: redbook.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const opening = (path: string, from: string): Buffer =>
  bytes(`GET ${path} HTTP/1.1\r\n${HANDSHAKE}X-Forwarded-For: ${from}\r\n\r\n`);

function drawHeld({ api, streams }: Ports, { wallets }: World, dice: Random): Held {
  const port = dice.pick(api);
  const stream = dice.pick(streams);
  const address = `10.8.${dice.below(256)}.${dice.below(256)}`;
  const post =
    `POST /v1/orders HTTP/1.1\r\nHost: redbook.example\r\nAuthorization: Bearer ${dice.pick(wallets).token}\r\n` +
    'Content-Type: application/json\r\n';
  const book = `GET /v1/openapi.json HTTP/1.1\r\nHost: redbook.example\r\nX-Forwarded-For: ${address}\r\n\r\n`;
  return dice.pick<Held>([
    { name: 'silent', port, first: bytes('') },
    { name: 'silent', port: stream, first: bytes('') },
    { name: 'slow head', port, first: bytes('GET /v1/'), drip: bytes('orders'.repeat(50)) },
    { name: 'slow header', port, first: bytes(`${post}X: `), drip: bytes('x'.repeat(500)) },
    {
      name: 'slow body',
      port,
      first: bytes(`${post}Content-Length: 900\r\n\r\n{`),
      drip: bytes(' '.repeat(800)),
    },
    {
      name: 'slow chunks',
      port,
      first: bytes(`${post}Transfer-Encoding: chunked\r\n\r\n`),
      drip: bytes('1\r\n \r\n'.repeat(200)),
    },
    { name: 'half open', port, first: bytes(`${post}Content-Length: 900\r\n\r\n{`), isHalfOpen: true },
    { name: 'deaf reader', port, first: bytes(book.repeat(60)), isDeaf: true },
    {
      name: 'deaf screen',
      port: stream,
      first: opening('/ws/market?symbol=ETH%2FUSDC', address),
      isDeaf: true,
    },
    { name: 'silent screen', port: stream, first: opening('/ws', address) },
    {
      name: 'half a frame',
      port: stream,
      first: Buffer.concat([opening('/ws', address), frame(Buffer.alloc(1_000)).subarray(0, 20)]),
    },
    {
      name: 'slow frame',
      port: stream,
      first: Buffer.concat([opening('/ws', address), frame(Buffer.alloc(900)).subarray(0, 10)]),
      drip: Buffer.alloc(800),
    },
  ]);
}

export interface HeldSockets {
  readonly count: number;
  /**
   * Resets the connections.
   * @returns the whole replies that came, with the names of their attacks
   */
  end(): { readonly name: string; readonly reply: WireReply }[];
}

/** Opens the connections. They stay until the end, or until the server has had enough. */
export function holdSockets(ports: Ports, world: World, dice: Random, count: number): HeldSockets {
  const open = Array.from({ length: count }, () => hold(drawHeld(ports, world, dice)));
  return {
    count,
    end: () =>
      open.flatMap(({ name, end }) =>
        readReplies(end(), false, false).replies.map((reply) => ({ name, reply })),
      ),
  };
}

function hold({ name, port, first, drip, isDeaf, isHalfOpen }: Held): {
  readonly name: string;
  end(): Buffer;
} {
  const received: Buffer[] = [];
  const socket = socketTo(port, received);
  let at = 0;
  const timer = setInterval(() => {
    if (drip === undefined || at >= drip.length || !socket.writable) return;
    socket.write(drip.subarray(at, at + 1));
    at += 1;
  }, BEAT_MS);
  socket.once('connect', () => {
    socket.write(first);
    if (isHalfOpen) socket.end();
    if (isDeaf) socket.pause();
  });
  return {
    name,
    end() {
      clearInterval(timer);
      socket.resetAndDestroy();
      return Buffer.concat(received);
    },
  };
}

function socketTo(port: number, received: Buffer[]): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => received.push(chunk));
  return socket;
}

export interface Flood {
  /** Handshakes that were accepted at the same time. */
  readonly opened: number;
  readonly replies: readonly WireReply[];
}

/** Sends handshakes from one address to one replica, all at once. */
export async function floodHandshakes(
  port: number,
  from: string,
  count: number,
  patienceMs: number,
): Promise<Flood> {
  const attempts = Array.from({ length: count }, () => {
    const received: Buffer[] = [];
    const socket = socketTo(port, received);
    socket.once('connect', () => socket.write(opening('/ws', from)));
    const first = new Promise<void>((resolve) => {
      socket.once('data', () => resolve());
      socket.once('close', () => resolve());
      setTimeout(resolve, patienceMs).unref();
    });
    return { socket, received, first };
  });
  await Promise.all(attempts.map(({ first }) => first));
  const replies = attempts.flatMap(({ received }) =>
    readReplies(Buffer.concat(received), false, false).replies.slice(0, 1),
  );
  for (const { socket } of attempts) socket.resetAndDestroy();
  return { opened: replies.filter(({ status }) => status === 101).length, replies };
}
