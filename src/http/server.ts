/**
 * Creates Node's HTTP server for an application, with its timeouts. It also answers malformed requests, which never
 * reach the application.
 */

import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorCode } from '../domain/errors.ts';
import { bareReply } from '../edge/bare-reply.ts';
import { requestIdOf } from '../edge/request-id.ts';
import { hasOneHost, ONE_HOST } from './middleware/request-head.ts';
import { createMessageClasses, type MessageClasses, unreadReplies } from './response/index.ts';
import { endStalledReplies } from './stalled-replies.ts';
import {
  asHandshake,
  canBePutBack,
  closeBehind,
  isHandshake,
  putBack,
  readsBodies,
  responseOf,
  whenAnswered,
} from './upgrade.ts';

const TIME_LIMITS = {
  /** No honest client needs longer to send a request of 16 KB. */
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
};
const REPLY_STALL_MS = 10_000;
const KEEP_ALIVE_MS = 75_000;
/** Maximum number of headers that Node keeps per request. Node silently drops further ones. */
const MAX_HEADERS = 1_000;

/** Takes over the socket of a WebSocket handshake. */
type TakeWebSocket = (request: IncomingMessage, socket: Socket, head: Buffer) => void;

export interface HttpServer extends Server {
  /** Passes WebSocket handshakes to `take`. Before this call, they are handled as ordinary requests. */
  takeWebSockets(take: TakeWebSocket): void;
}

interface HttpServerOptions {
  /** Timeouts in milliseconds, named as in Node. */
  readonly timeLimits?: typeof TIME_LIMITS;
  /** Time within which a client must take a part of its reply, in milliseconds. */
  readonly replyStallMs?: number;
  /** Time for which an idle connection stays open, in milliseconds. */
  readonly keepAliveMs?: number;
  /** Message classes that the application was made with. */
  readonly classes?: MessageClasses;
}

/** @param app answers requests; the caller must listen and close. */
export function createHttpServer(
  app: RequestListener,
  {
    timeLimits = TIME_LIMITS,
    replyStallMs = REPLY_STALL_MS,
    keepAliveMs = KEEP_ALIVE_MS,
    classes = createMessageClasses(),
  }: HttpServerOptions = {},
): HttpServer {
  let take: TakeWebSocket | undefined;
  const isTaken = (request: IncomingMessage): boolean => take !== undefined && isHandshake(request);
  const options = {
    ...timeLimits,
    keepAliveTimeout: keepAliveMs,
    ...classes,
    // The application rejects a request without Host itself, so that the reply has a body.
    requireHostHeader: false,
    shouldUpgradeCallback: (request: IncomingMessage) => isTaken(request) || canBePutBack(request),
  };
  const server = createServer(options, app);
  server.maxHeadersCount = MAX_HEADERS;
  const leaveAlone = endStalledReplies(server, replyStallMs);
  if (readsBodies) server.prependListener('request', closeBehind);
  const takeOver = (request: IncomingMessage, socket: Socket, head: Buffer): void => {
    // Streams have a time limit of their own.
    leaveAlone(socket);
    take!(asHandshake(request), socket, head);
  };
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    countBehind(socket, head);
    if (request.rawHeaders.length >= 2 * MAX_HEADERS) refuse(socket, 'EXPRESS_ERR_HEADERS_TOO_LARGE');
    else if (!hasOneHost(request)) refuse(socket, 'BAD_REQUEST', ONE_HOST);
    else if (isTaken(request)) whenAnswered(socket, () => takeOver(request, socket, head));
    else putBack(server, request, head);
  });
  server.on('connect', (_request: IncomingMessage, socket: Socket) => refuse(socket, 'NOT_FOUND'));
  server.on('checkExpectation', app);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else refuseMalformed(socket, CODES[error.code ?? ''] ?? 'BAD_REQUEST');
  });
  return Object.assign(server, {
    takeWebSockets(taker: TakeWebSocket): void {
      take = taker;
    },
  });
}

/** Memory of a request that waits for its turn, without what follows its head. */
const BYTES_OF_REQUEST = 4_096;

/** Counts what waits behind a reply as unread bytes of its sender. Proxies send nothing that has to wait. */
function countBehind(socket: Socket, head: Buffer): void {
  const response = responseOf(socket);
  if (response !== undefined)
    unreadReplies.add(socket.remoteAddress ?? '', BYTES_OF_REQUEST + head.length, response);
}

/** Maps Node's names of malformed requests to error codes. All other names map to `BAD_REQUEST`. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'EXPRESS_ERR_HEADERS_TOO_LARGE',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'EXPRESS_ERR_BODY_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'EXPRESS_ERR_REQUEST_TIMEOUT',
};

/**
 * Answers after the replies to earlier pipelined requests. A request whose own body is cut off is answered at once. It
 * gets no second reply if it was answered before its body: a proxy would take that for the reply to the next request.
 */
function refuseMalformed(socket: Socket, code: ErrorCode): void {
  const response = responseOf(socket);
  if (response === undefined && isReadingBody(socket)) socket.destroySoon();
  else if (response === undefined || response.req.complete) refuse(socket, code);
  else if (response.headersSent) socket.destroy();
  else endWith(socket, code);
}

/** True while the body of the last request has not arrived. Node's servers keep parser and request under these names. */
const isReadingBody = (socket: Socket): boolean =>
  (socket as { parser?: { incoming?: IncomingMessage | null } | null }).parser?.incoming?.complete === false;

function refuse(socket: Socket, code: ErrorCode, error?: string): void {
  const end = (): void => endWith(socket, code, error);
  if (responseOf(socket) === undefined) end();
  else whenAnswered(socket, end);
}

function endWith(socket: Socket, code: ErrorCode, error?: string): void {
  socket.on('error', () => socket.destroy());
  socket.once('finish', () => socket.destroy());
  socket.end(bareReply({ code, requestId: requestIdOf(), ...(error === undefined ? {} : { error }) }));
}
