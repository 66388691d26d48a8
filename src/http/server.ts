/** Node's HTTP server around an application: its time limits, and replies to what is no HTTP at all. */

import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { requestIdOf } from '../domain/request-id.ts';
import { unexpectedAnswer } from './replies/error.ts';

/** A request of 16 KB takes no honest client longer. */
const REQUEST_MS = 30_000;
const HEADERS_MS = 10_000;
/** Longer than the idle time of the usual load balancers, so that they never send on a socket we are closing. */
const KEEP_ALIVE_MS = 75_000;

/** @param app answers requests; the caller listens, and closes. */
export function createHttpServer(app: RequestListener): Server {
  const server = createServer(
    { requestTimeout: REQUEST_MS, headersTimeout: HEADERS_MS, keepAliveTimeout: KEEP_ALIVE_MS },
    app,
  );
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else socket.end(malformedReply());
  });
  return server;
}

/** Node hands over what its parser refuses as a bare socket: the whole reply is ours to write. */
function malformedReply(): string {
  const { status, contentType, text } = unexpectedAnswer('BAD_REQUEST');
  return [
    `HTTP/1.1 ${status} Bad Request`,
    `Content-Type: ${contentType}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-Id: ${requestIdOf()}`,
    'Connection: close',
    '',
    text,
  ].join('\r\n');
}
