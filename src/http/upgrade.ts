/**
 * Requests that offer an upgrade which this server does not take, such as `h2c` by Java's default client. RFC 9110
 * (7.8) has a server ignore the offer. Node, once it listens for upgrades at all, ends HTTP on the connection of each
 * request that offers one; and while it does not, it drops what was sent behind such a request. So the request is put
 * back before the connection without its offer, and the connection begins anew.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** From this release on Node itself reads the body of a request that offers an upgrade. */
const READS_BODIES_FROM = 25;
export const readsBodies = Number(process.versions.node.split('.')[0]) >= READS_BODIES_FROM;

/** Headers that say something of the offer alone, and the tokens that name them in `Connection`. */
const OF_THE_OFFER = new Set(['upgrade', 'http2-settings']);

const tokensOf = (value = ''): string[] => value.split(',').map((token) => token.trim());

/**
 * True when a request asks for a WebSocket: GET of HTTP/1.1, `websocket` alone among its offers, or among others with the
 * key that only a handshake has.
 */
export function isHandshake({ method, httpVersion, headers }: IncomingMessage): boolean {
  if (method !== 'GET' || httpVersion !== '1.1') return false;
  const offers = tokensOf(headers.upgrade?.toLowerCase());
  if (!offers.includes('websocket')) return false;
  return offers.length === 1 || headers['sec-websocket-key'] !== undefined;
}

/** The same request with the one offer that is taken. */
export function asHandshake(request: IncomingMessage): IncomingMessage {
  request.headers.upgrade = 'websocket';
  return request;
}

/** True when a request can be put back: Node has not read its body. */
export const canBePutBack = ({ headers }: IncomingMessage): boolean =>
  !readsBodies || ((headers['content-length'] ?? '0') === '0' && headers['transfer-encoding'] === undefined);

/**
 * Closes the connection after the reply to a request that cannot be put back. Node drops what was sent behind it, and
 * a client sends again what a closed connection left unanswered.
 */
export function closeBehind(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.upgrade !== undefined && !canBePutBack(request))
    response.setHeader('Connection', 'close');
}

/** Lets `server` answer a request of its `upgrade` event as if it had offered nothing. */
export function withdrawOffer(server: Server, request: IncomingMessage, head: Buffer): void {
  const { socket } = request;
  whenAnswered(socket, () => {
    if (head.length > 0) socket.unshift(head);
    socket.unshift(withoutOffer(request));
    // The last reply left its timer behind; the new request has time limits of its own.
    socket.setTimeout(0);
    server.emit('connection', socket);
  });
}

/** The head of a request as it came but for its offer: never longer, so that it passes the limits it has passed. */
function withoutOffer({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at]!, rawHeaders[at + 1]!];
    const kept = name.toLowerCase() === 'connection' ? withoutTokens(value) : value;
    if (kept !== undefined && !OF_THE_OFFER.has(name.toLowerCase())) lines.push(`${name}:${kept}`);
  }
  // Node reads each byte as one character.
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

function withoutTokens(connection: string): string | undefined {
  const kept = tokensOf(connection).filter((token) => !OF_THE_OFFER.has(token.toLowerCase()));
  return kept.length === 0 ? undefined : kept.join(',');
}

/**
 * Calls `then` when every earlier request of the connection has its reply, if the connection is still open: a client
 * that sends ahead takes replies for those of its requests in their order.
 * @param socket which nobody else listens to any more
 */
export function whenAnswered(socket: Socket, then: () => void): void {
  const end = (): void => void socket.destroy();
  socket.on('error', end);
  const next = (): void => {
    const response = responseOf(socket);
    if (response !== undefined) {
      response.once('close', next);
      return;
    }
    socket.off('error', end);
    if (!socket.destroyed && socket.writable) then();
  };
  next();
}

/** The response that is written to a socket now. Node's own servers keep it there, under this name. */
export const responseOf = (socket: Socket): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
