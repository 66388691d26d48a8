/** Connections that are held open: slow heads, slow bodies, readers that do not read, floods of handshakes. */

import { connect, type Socket } from 'node:net';
import type { Random } from '../../support/seed.ts';
import { frame } from './frames.ts';
import { readReplies, type WireReply } from './wire.ts';
import type { World } from './world.ts';

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
  const [port, stream] = [dice.pick(api), dice.pick(streams)];
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
