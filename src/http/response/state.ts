/** State of a reply while it is being built. */

import type { Response } from 'express';
import type { ClientAddressOf } from '../../edge/client-address.ts';

/** Times a request. It stands still while the request waits for something to happen, which no objective limits. */
export interface RequestClock {
  /** Start of the request by `performance.now`, in milliseconds, later by the time of its waits. */
  begunMs: number;
  /** Start of the present wait; undefined while the request does not wait. */
  waitsSinceMs: number | undefined;
}

export interface ReplyState extends RequestClock {
  readonly requestId: string;
  /** Path of the route as registered; `unknown` until a route is found. */
  route: string;
  /**
   * True for a probe. Its requests are logged at debug level: an orchestrator repeats them, and sees a failure in the
   * reply.
   */
  isProbe: boolean;
  /** Wallet or key that asks; undefined for a request without one, and until it is known. */
  holder: string | undefined;
  readonly addressOf: ClientAddressOf;
  /** First headers, while they stand as they are: `head` has them as soon as one is replaced. */
  fixed: FixedHeaders | undefined;
  /** Alternating names and values, appended by `head.ts`. */
  readonly head: string[];
}

/** Headers that all replies begin with. */
export interface FixedHeaders {
  /** Alternating names and values. */
  readonly headers: readonly string[];
  /** The same as lines, which are written at once. */
  readonly lines: string;
}

/** Sets `locals` before Express does. Express keeps existing `locals`, and otherwise creates slower ones. */
export function beginReply(
  response: Response,
  requestId: string,
  addressOf: ClientAddressOf,
  fixed: FixedHeaders,
): ReplyState {
  const state: ReplyState = {
    requestId,
    begunMs: performance.now(),
    waitsSinceMs: undefined,
    route: 'unknown',
    isProbe: false,
    holder: undefined,
    addressOf,
    fixed,
    head: [],
  };
  response.locals = state as unknown as Response['locals'];
  return state;
}

export const stateOf = (response: Response): ReplyState => response.locals as unknown as ReplyState;

/** Awaits what the time of a request leaves out. */
export async function waitOut<Result>(clock: RequestClock, waiting: Promise<Result>): Promise<Result> {
  const sinceMs = performance.now();
  clock.waitsSinceMs = sinceMs;
  try {
    return await waiting;
  } finally {
    clock.waitsSinceMs = undefined;
    clock.begunMs += performance.now() - sinceMs;
  }
}

export const secondsOf = ({ begunMs, waitsSinceMs }: RequestClock): number =>
  ((waitsSinceMs ?? performance.now()) - begunMs) / 1000;
