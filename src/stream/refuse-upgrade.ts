/** Replies to upgrades that are refused, as HTTP: the socket is all there is. */

import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ERRORS, type ErrorCode } from '../domain/errors.ts';

/** Long enough for a crowd to thin out. */
const RETRY_AFTER_SECONDS = 5;

/** `{error, code}` with the code's status; an unknown route in the shape that unknown routes have. */
export function refuseUpgrade(socket: Duplex, requestId: string, code: ErrorCode, error: string): void {
  const { status, meaning } = ERRORS[code];
  const text = STATUS_CODES[status]!;
  const body = JSON.stringify(
    code === 'NOT_FOUND' ? { statusCode: status, code, error: text, message: meaning } : { error, code },
  );
  const head = [
    `HTTP/1.1 ${status} ${text}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    ...(code === 'NOT_FOUND' ? [] : [`Retry-After: ${RETRY_AFTER_SECONDS}`]),
  ];
  socket.once('finish', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
