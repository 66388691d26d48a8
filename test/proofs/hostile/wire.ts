/** Sends bytes over kept connections and reads the replies as bytes, for requests that no HTTP client would send. */

import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';

export interface WireReply {
  readonly status: number;
  /** By lower-case name; the values of a repeated header with commas between. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decompressed. */
  readonly text: string;
}

export interface Exchange {
  /** In order of arrival, without interim replies. */
  readonly replies: readonly WireReply[];
  /** Received bytes that belong to no complete reply. */
  readonly rest: Buffer;
  /** True if the server ended the connection. */
  readonly isClosed: boolean;
}

/** Bytes to send; a number is a pause in milliseconds. */
export type Pieces = readonly (Buffer | number)[];

interface Expected {
  /** Number of replies to wait for. */
  readonly replies: number;
  /** True if the request is a HEAD, whose reply has no body. */
  readonly isHead?: boolean;
  /** True if the server must end the connection afterwards. */
  readonly closes?: boolean;
  /** True to end the client's side after the last byte, which leaves the connection half open. */
  readonly endsSending?: boolean;
  readonly patienceMs: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const STATUS_LINE = /^HTTP\/1\.1 (\d{3})/;
const SWITCHING_PROTOCOLS = 101;
/** Statuses whose replies have no body. */
const BODILESS: ReadonlySet<number> = new Set([SWITCHING_PROTOCOLS, 204, 304]);

interface Reading {
  readonly replies: WireReply[];
  readonly rest: Buffer;
}

/** Reads the complete replies at the beginning of what was received. */
export function readReplies(received: Buffer, isHead: boolean, isClosed: boolean): Reading {
  const replies: WireReply[] = [];
  let rest = received;
  for (;;) {
    const end = rest.indexOf(HEAD_END);
    const head = rest.subarray(0, Math.max(0, end)).toString('latin1');
    const status = Number(STATUS_LINE.exec(head)?.[1]);
    if (end < 0 || Number.isNaN(status)) return { replies, rest };
    const headers = headersOf(head);
    const after = rest.subarray(end + HEAD_END.length);
    const isInterim = status < 200 && status !== SWITCHING_PROTOCOLS;
    const isBare = isInterim || isHead || BODILESS.has(status);
    const body = isBare ? NOTHING : readBody(headers, after, isClosed);
    if (body === undefined) return { replies, rest };
    rest = after.subarray(body.length);
    if (!isInterim) replies.push({ status, headers, text: body.text() });
  }
}

interface Body {
  /** Bytes that the body takes on the wire. */
  readonly length: number;
  text(): string;
}

const NOTHING: Body = { length: 0, text: () => '' };

/** @returns undefined while the body is not complete */
function readBody(
  headers: Readonly<Record<string, string>>,
  bytes: Buffer,
  isClosed: boolean,
): Body | undefined {
  const decode = (body: Buffer): string =>
    (headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString();
  const announced = headers['content-length'];
  if (announced !== undefined) {
    const length = Number(announced);
    return bytes.length < length ? undefined : { length, text: () => decode(bytes.subarray(0, length)) };
  }
  if (headers['transfer-encoding'] === 'chunked') return readChunks(bytes, decode);
  return isClosed ? { length: bytes.length, text: () => decode(bytes) } : undefined;
}

function readChunks(bytes: Buffer, decode: (body: Buffer) => string): Body | undefined {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const size = Number.parseInt(bytes.subarray(at, end).toString('latin1'), 16);
    const next = end + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { length: next, text: () => decode(Buffer.concat(chunks)) };
    chunks.push(bytes.subarray(end + 2, end + 2 + size));
    at = next;
  }
}

function headersOf(head: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of head.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return headers;
}

/** One connection to a process, opened again after the server closed it. */
export class Line {
  readonly #port: number;
  #socket: Socket | undefined;
  #received: Buffer = Buffer.alloc(0);
  #isClosed = true;
  #wake: () => void = () => undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /**
   * Sends a request and waits for its replies. A connection that the server had closed while it was idle is opened once
   * more.
   */
  async exchange(pieces: Pieces, expected: Expected): Promise<Exchange> {
    const wasKept = !this.#isClosed;
    const first = await this.#exchange(pieces, expected);
    const isLost = first.isClosed && first.replies.length === 0 && first.rest.length === 0;
    return wasKept && isLost ? this.#exchange(pieces, expected) : first;
  }

  /** Ends the connection with a reset, as a client that vanished. */
  close(): void {
    this.#socket?.resetAndDestroy();
    this.#isClosed = true;
  }

  async #exchange(pieces: Pieces, expected: Expected): Promise<Exchange> {
    await this.send(pieces);
    if (expected.endsSending) this.#socket!.end();
    const read = (received: Buffer, isClosed: boolean) =>
      readReplies(received, expected.isHead === true, isClosed);
    const { received, isClosed } = await this.until(
      (bytes, ended) => ended || (!expected.closes && read(bytes, ended).replies.length >= expected.replies),
      expected.patienceMs,
    );
    const { replies, rest } = read(received, isClosed);
    if (replies.some(({ headers }) => headers.connection?.toLowerCase() === 'close'))
      await this.#untilClosed();
    return { replies, rest, isClosed: this.#isClosed };
  }

  /** Sends pieces and forgets what was received before. Opens the connection if it is closed. */
  async send(pieces: Pieces): Promise<void> {
    if (this.#isClosed) await this.#open();
    this.#received = Buffer.alloc(0);
    await this.write(pieces);
  }

  /** Sends pieces on a connection whose bytes are still read from the beginning. */
  async write(pieces: Pieces): Promise<void> {
    for (const piece of pieces) {
      if (this.#isClosed) return;
      if (typeof piece === 'number') await sleep(piece);
      else if (!this.#socket!.write(piece)) await this.#drained();
    }
  }

  /** Waits until what was received since the last sending satisfies `isDone`. */
  async until(
    isDone: (received: Buffer, isClosed: boolean) => boolean,
    patienceMs: number,
  ): Promise<{ received: Buffer; isClosed: boolean }> {
    const deadlineMs = performance.now() + patienceMs;
    for (;;) {
      const leftMs = deadlineMs - performance.now();
      if (isDone(this.#received, this.#isClosed) || this.#isClosed || leftMs <= 0)
        return { received: this.#received, isClosed: this.#isClosed };
      await this.#change(leftMs);
    }
  }

  /** Waits until the bytes are sent or an answer comes, which is all that a server owes to a body it does not read. */
  async #drained(): Promise<void> {
    const drained = new Promise<void>((resolve) => {
      this.#socket!.once('drain', resolve);
      this.#wake = resolve;
    });
    await drained;
    this.#wake = () => undefined;
  }

  /** The server announced that it closes the connection, so the next request must not use it. */
  async #untilClosed(): Promise<void> {
    await this.until((_received, isClosed) => isClosed, CLOSING_MS);
    if (!this.#isClosed) this.close();
  }

  #change(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(1, withinMs));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #open(): Promise<void> {
    const socket = connect({ port: this.#port, host: '127.0.0.1', allowHalfOpen: true });
    this.#socket = socket;
    this.#isClosed = false;
    socket.setNoDelay(true);
    const end = (): void => {
      if (this.#socket !== socket) return;
      this.#isClosed = true;
      this.#wake();
    };
    socket.on('data', (chunk: Buffer) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    socket.on('error', end);
    socket.on('close', end);
    // The server's end ends the exchange, also where the client could still send.
    socket.on('end', () => {
      socket.end();
      end();
    });
    return new Promise((resolve) => {
      socket.once('connect', resolve);
      socket.once('close', resolve);
    });
  }
}

const CLOSING_MS = 2_000;
