/** The state of a reply while it is made. */

import type { Response } from 'express';

export interface ReplyState {
  readonly requestId: string;
  /** By the clock of `performance.now`. */
  readonly begunMs: number;
  /** Path of the route as it is registered; `unknown` until one is found. */
  route: string;
  /** An orchestrator asks again and again, and hears of a process that is not ready by the answer. */
  isProbe: boolean;
  /** Names and values in turn; `head.ts` adds to it. */
  readonly head: string[];
}

/** Express keeps the `locals` that it finds, and makes slower ones where there are none. */
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
