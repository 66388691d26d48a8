/** State of a reply while it is being built. */

import type { Response } from 'express';

export interface ReplyState {
  readonly requestId: string;
  /** Start of the request by `performance.now`, in milliseconds. */
  readonly begunMs: number;
  /** Path of the route as registered; `unknown` until a route is found. */
  route: string;
  /**
   * True for a probe. Its requests are logged at debug level: an orchestrator repeats them, and sees a failure in the
   * reply.
   */
  isProbe: boolean;
  /** Alternating names and values, appended by `head.ts`. */
  readonly head: string[];
}

/** Sets `locals` before Express does. Express keeps existing `locals`, and otherwise creates slower ones. */
export function beginReply(response: Response, requestId: string, headers: readonly string[]): ReplyState {
  const state: ReplyState = {
    requestId,
    begunMs: performance.now(),
    route: 'unknown',
    isProbe: false,
    head: headers.slice(),
  };
  response.locals = state as unknown as Response['locals'];
  return state;
}

export const stateOf = (response: Response): ReplyState => response.locals as unknown as ReplyState;
