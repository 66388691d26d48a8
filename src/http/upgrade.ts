/**
 * Handles requests that a server hands over by its event `upgrade`, after which Node parses nothing on the connection.
 * Some offer an upgrade which this server does not support, such as `h2c` from Java's default client. RFC 9110 (7.8)
 * says that a server ignores such an offer. Others come before the reply to an earlier request of their connection.
 * Either is pushed back onto the socket without its offer when its turn comes, and the server handles the socket as a new
 * connection.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** First Node release that reads the body of a request with an upgrade offer itself. */
const READS_BODIES_FROM = 25;
export const readsBodies = Number(process.versions.node.split('.')[0]) >= READS_BODIES_FROM;

/** Headers that only concern the offer, which are also their tokens in `Connection`. */
const OF_THE_OFFER = new Set(['upgrade', 'http2-settings']);

const tokensOf = (value = ''): string[] => value.split(',').map((token) => token.trim());

/**
 * True if a request asks for a WebSocket. It must be an HTTP/1.1 GET that offers only `websocket`, or also other
 * protocols if it has the key that every handshake has.
 */
export function isHandshake({ method, httpVersion, headers }: IncomingMessage): boolean {
  if (method !== 'GET' || httpVersion !== '1.1') return false;
  const offers = tokensOf(headers.upgrade?.toLowerCase());
  if (!offers.includes('websocket')) return false;
  return offers.length === 1 || headers['sec-websocket-key'] !== undefined;
}

/** Returns the request with `websocket` as its only offer. */
export function asHandshake(request: IncomingMessage): IncomingMessage {
  request.headers.upgrade = 'websocket';
  return request;
}

/** True if a request can be pushed back, because Node has not read its body. */
export const canBePutBack = ({ headers }: IncomingMessage): boolean =>
  !readsBodies || ((headers['content-length'] ?? '0') === '0' && headers['transfer-encoding'] === undefined);

/**
 * Closes the connection after the reply to a request that cannot be pushed back. Node drops the bytes that follow it.
 * Clients resend requests that a closed connection left unanswered.
 */
export function closeBehind(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.upgrade !== undefined && !canBePutBack(request))
    response.setHeader('Connection', 'close');
}

/** Connections of which a later request begins in a turn of the event loop. A request takes some 100 µs. */
const BEGUN_IN_TURN = 8;
/** Requests that begin in later turns, in their order. */
const waiting: (() => void)[] = [];

function inLaterTurn(begin: () => void): void {
  if (waiting.length === 0) setImmediate(beginSome);
  waiting.push(begin);
}

function beginSome(): void {
  for (const begin of waiting.splice(0, BEGUN_IN_TURN)) begin();
  if (waiting.length > 0) setImmediate(beginSome);
}

/** Bytes that a connection had sent when its last request began. */
const begunAtBytes = new WeakMap<Socket, number>();

/**
 * Returns true if a connection has no request that waits for its reply, nor had one of the same packet. Node answers a
 * request with a body within its packet. To clear a list in each turn of the event loop cost a request 4 µs.
 */
export function takesTurn(socket: Socket): boolean {
  const { bytesRead } = socket;
  if (responseOf(socket) !== undefined || begunAtBytes.get(socket) === bytesRead) return false;
  begunAtBytes.set(socket, bytesRead);
  return true;
}

/** Lets `server` answer a request from its `upgrade` event as if the request came now, and had no offer. */
export function putBack(server: Server, request: IncomingMessage, head: Buffer): void {
  const { socket } = request;
  whenAnswered(socket, () => {
    if (head.length > 0) socket.unshift(head);
    socket.unshift(withoutOffer(request));
    begunAtBytes.delete(socket);
    // Clears the timer of the previous reply. The new request gets its own timeouts.
    socket.setTimeout(0);
    server.emit('connection', socket);
  });
}

/**
 * Returns the head of a request without its offer. It is never longer than the original, so it passes the same limits.
 */
function withoutOffer({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    const value = rawHeaders[at + 1]!;
    const kept = name.toLowerCase() === 'connection' ? withoutTokens(value) : value;
    if (kept !== undefined && !OF_THE_OFFER.has(name.toLowerCase())) lines.push(`${name}:${kept}`);
  }
  // Node decodes each byte as one character.
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

function withoutTokens(connection: string): string | undefined {
  const kept = tokensOf(connection).filter((token) => !OF_THE_OFFER.has(token.toLowerCase()));
  return kept.length === 0 ? undefined : kept.join(',');
}

/**
 * Calls `then` in a later turn of the event loop, once every earlier request on the connection has its reply, if the
 * connection is still open. A client that pipelines requests expects the replies in order.
 * @param socket without other listeners
 */
export function whenAnswered(socket: Socket, then: () => void): void {
  const end = (): void => void socket.destroy();
  socket.on('error', end);
  const next = (): void => {
    const response = responseOf(socket);
    if (response !== undefined) {
      response.once('close', () => inLaterTurn(next));
      return;
    }
    socket.off('error', end);
    if (!socket.destroyed && socket.writable) then();
  };
  inLaterTurn(next);
}

/** Returns the response that is being written to a socket. Node's servers keep it under this name. */
export const responseOf = (socket: Socket): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
