/** Sends raw HTTP over one connection, for requests that no library would send. */

import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface RawReply {
  readonly status: number;
  /** By lower-case name; the last value of repeated headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface Talk {
  /** In order of arrival, without those of status 100. */
  readonly replies: readonly RawReply[];
  /** Received bytes that are not a complete reply. */
  readonly rest: string;
  /** True if the server ended the connection. */
  readonly isClosed: boolean;
}

/** Far above the time that a busy machine takes. */
const PATIENCE_MS = 60_000;
/** Time to wait for unexpected bytes after the expected replies. */
const AFTERWARDS_MS = 30;

/**
 * Sends pieces, where a number is a pause in milliseconds, and reads until `count` replies have arrived or the server
 * ends the connection.
 */
export async function talk(
  port: number,
  pieces: readonly (string | Buffer | number)[],
  count = 1,
): Promise<Talk> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let isClosed = false;
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  socket.on('close', () => {
    isClosed = true;
  });
  try {
    for (const piece of pieces) await (typeof piece === 'number' ? sleep(piece) : write(socket, piece));
    const deadlineMs = performance.now() + PATIENCE_MS;
    while (!isClosed && read(text).replies.length < count && performance.now() < deadlineMs) await sleep(2);
    await sleep(AFTERWARDS_MS);
    return { ...read(text), isClosed };
  } finally {
    socket.destroy();
  }
}

const write = (socket: Socket, bytes: string | Buffer): Promise<void> =>
  new Promise((resolve) => {
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, () => resolve());
  });

function read(text: string): { replies: RawReply[]; rest: string } {
  const replies: RawReply[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(rest) ?? [];
    if (end < 0 || status === undefined) return { replies, rest };
    const lines = rest.slice(0, end).split('\r\n').slice(1);
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 2),
      ]),
    );
    const length = Number(headers['content-length'] ?? 0);
    if (rest.length < end + 4 + length) return { replies, rest };
    if (status !== '100')
      replies.push({ status: Number(status), headers, text: rest.slice(end + 4, end + 4 + length) });
    rest = rest.slice(end + 4 + length);
  }
}
