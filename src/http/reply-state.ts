/** What is known of a request, and collected for its reply, while the reply is made. */

import type { Response } from 'express';

export interface ReplyState {
  readonly requestId: string;
  /** Path of the route as it is registered; `unknown` until one is found. */
  route: string;
  /** Names and values in turn; `head.ts` adds to it. */
  readonly head: string[];
}

/** Express keeps the `locals` that it finds, and makes slower ones where there are none. */
export function beginReply(response: Response, requestId: string, headers: readonly string[]): ReplyState {
  const state: ReplyState = { requestId, route: 'unknown', head: [...headers] };
  response.locals = state as unknown as Response['locals'];
  return state;
}

export const stateOf = (response: Response): ReplyState => response.locals as unknown as ReplyState;
