/**
 * Emits `close` on each reply of a connection that ends. Node emits it only on the reply that is being written. Replies
 * to pipelined requests, which are queued behind that one, would keep what they hold.
 */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const queues = new WeakMap<Socket, Set<ServerResponse>>();

/** Must be called once for each request, before anything listens to the `close` of its reply. */
export function followConnection(socket: Socket, response: ServerResponse): void {
  // Only the reply that is being written has the socket.
  if (response.socket !== null) return;
  let queue = queues.get(socket);
  if (queue === undefined) {
    const queued = new Set<ServerResponse>();
    queue = queued;
    queues.set(socket, queued);
    socket.once('close', () => {
      for (const reply of queued) end(reply);
    });
  }
  queue.add(response);
  response.once('socket', leave);
  response.once('close', leave);
}

function leave(this: ServerResponse): void {
  queues.get(this.req.socket)?.delete(this);
}

function end(response: ServerResponse): void {
  // Node sets this too before it emits `close`. What is written to the reply afterwards is dropped.
  response.destroyed = true;
  response.emit('close');
}
