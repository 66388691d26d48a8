/**
 * Serves requests that a client sends before it has the replies to earlier ones of its connection. Node hands on all of a
 * packet at once, which may be some hundred. Here each begins in a turn of the event loop of its own, so that a connection
 * gets no more done in a turn than one that waits for its replies.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const pipelines = new WeakMap<Socket, Pipeline>();

/** Passes requests on to `begin`: the first of a connection at once, and those behind it in turns. */
export const inPipelines =
  (begin: RequestListener): RequestListener =>
  (request, response) => {
    // Only the reply that is being written has the socket.
    if (response.socket !== null) begin(request, response);
    else pipelineOf(request.socket).add(request, response, begin);
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
    // What the client sends next waits in the system.
    this.#socket.pause();
    setImmediate(this.#beginNext);
  }

  readonly #beginNext = (): void => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#beginNext);
    else if (isRead(this.#socket)) this.#socket.resume();
  };
}

/** False for a connection that has offered an upgrade: nothing reads it then. Node's servers keep the parser here. */
const isRead = (socket: Socket): boolean => Boolean((socket as { parser?: unknown }).parser);

function end(response: ServerResponse): void {
  // Node sets this too before it emits `close`. What is written to the reply afterwards is dropped.
  response.destroyed = true;
  response.emit('close');
}
