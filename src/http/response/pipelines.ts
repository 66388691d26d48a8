/**
 * Serves requests that a client sends before it has the replies to earlier ones of its connection. Node hands on all of a
 * packet at once, which may be some hundred. Here connections take turns: in a turn of the event loop one of each begins,
 * and 8 of all. So a connection gets no more done than one that waits for its replies, and many do not hold the others.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ClientAddressOf } from '../../edge/client-address.ts';
import { unreadReplies } from './unread-replies.ts';

/** Requests in pipelines that begin in a turn. Each takes some 100 µs. */
const BEGUN_IN_TURN = 8;
/** Memory of a request and its reply without their bodies. Node makes both of some 30 bytes that arrive. */
export const BYTES_OF_REQUEST = 4_096;

const pipelines = new WeakMap<Socket, Pipeline>();
/** Those with requests that wait for their beginning, in the order of their turns. */
const waiting = new Set<Pipeline>();

function wait(pipeline: Pipeline): void {
  if (waiting.size === 0) setImmediate(beginSome);
  waiting.add(pipeline);
}

function beginSome(): void {
  const turn: Pipeline[] = [];
  for (const pipeline of waiting) if (turn.push(pipeline) === BEGUN_IN_TURN) break;
  for (const pipeline of turn) {
    waiting.delete(pipeline);
    if (pipeline.beginNext()) waiting.add(pipeline);
  }
  if (waiting.size > 0) setImmediate(beginSome);
}

/**
 * Passes requests on to `begin`: the first of a connection at once, and those behind it in turns. These count as unread
 * bytes of their address.
 */
export const inPipelines =
  (begin: RequestListener, addressOf: ClientAddressOf): RequestListener =>
  (request, response) => {
    // Only the reply that is being written has the socket.
    if (response.socket !== null) {
      begin(request, response);
      return;
    }
    pipelineOf(request.socket).add(request, response, begin);
    unreadReplies.add(addressOf(request), BYTES_OF_REQUEST, response);
  };

function pipelineOf(socket: Socket): Pipeline {
  let pipeline = pipelines.get(socket);
  if (pipeline === undefined) {
    pipeline = new Pipeline(socket);
    pipelines.set(socket, pipeline);
  }
  return pipeline;
}

class Pipeline {
  readonly #socket: Socket;
  readonly #waiting: (() => void)[] = [];
  /** Replies behind the one that is being written. */
  readonly #replies = new Set<ServerResponse>();

  constructor(socket: Socket) {
    this.#socket = socket;
    // Node emits `close` only on the reply that is being written. The others would keep what they hold.
    socket.once('close', () => {
      this.#waiting.length = 0;
      for (const reply of this.#replies) end(reply);
    });
  }

  add(request: IncomingMessage, response: ServerResponse, begin: RequestListener): void {
    this.#replies.add(response);
    const leave = (): void => void this.#replies.delete(response);
    response.once('socket', leave);
    response.once('close', leave);
    this.#waiting.push(() => begin(request, response));
    if (this.#waiting.length > 1) return;
    // Later bytes of the client wait in the system.
    this.#socket.pause();
    wait(this);
  }

  /** Begins the next request. Returns true while others wait. */
  beginNext(): boolean {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) return true;
    if (isRead(this.#socket)) this.#socket.resume();
    return false;
  }
}

/** False for a connection that has offered an upgrade: nothing reads it then. Node's servers keep the parser here. */
const isRead = (socket: Socket): boolean => Boolean((socket as { parser?: unknown }).parser);

function end(response: ServerResponse): void {
  // Node sets this too before it emits `close`. Bytes that are written to the reply afterwards are dropped.
  response.destroyed = true;
  response.emit('close');
}
