/** The one error that this client throws. */

import type { ErrorCode } from '../domain/errors.ts';

export type { ErrorCode };

/**
 * Codes of failures that the service did not answer:
 *
 * - `NETWORK_ERROR`: the connection failed or was cut.
 * - `TIMEOUT`: no answer came in time.
 * - `ABORTED`: the caller's signal was aborted.
 * - `UNREADABLE_ANSWER`: an answer came that is not one of the service, or only a part of it.
 * - `SIGNING_FAILED`: the signer threw; `cause` is what it threw.
 * - `NO_SIGNER`: the session was restored from a token and cannot be renewed.
 * - `DUPLICATE_ORDER_ID`: the client order id stands for another order; nothing was placed.
 * - `DEADLINE_PASSED`: the order was not found after its deadline; it was not placed, and will not be.
 * - `INVALID_ARGUMENT`: the client cannot use an argument of the call; nothing was sent.
 * - `SIGNED_OUT`: the session was ended by `signOut`.
 */
export type ClientErrorCode =
  | 'NETWORK_ERROR'
  | 'TIMEOUT'
  | 'ABORTED'
  | 'UNREADABLE_ANSWER'
  | 'SIGNING_FAILED'
  | 'NO_SIGNER'
  | 'DUPLICATE_ORDER_ID'
  | 'DEADLINE_PASSED'
  | 'INVALID_ARGUMENT'
  | 'SIGNED_OUT';

interface RedbookErrorDetails {
  readonly code: RedbookError['code'];
  readonly message: string;
  readonly outcome: RedbookError['outcome'];
  readonly status?: number;
  readonly requestId?: string | null;
  readonly retryAfterMs?: number | null;
  readonly cause?: unknown;
}

/** Every failure of a call. Branch on `code`; `message` is for people and may change. */
export class RedbookError extends Error {
  override readonly name: string = 'RedbookError';
  /** A code of the service's error table, which may grow, or of this client. */
  readonly code: ErrorCode | ClientErrorCode | (string & {});
  /** HTTP status of the answer; 0 when there was none. */
  readonly status: number;
  /** Id of the request in the service's log. */
  readonly requestId: string | null;
  /** Milliseconds that the service asks callers to wait; null when it does not say. */
  readonly retryAfterMs: number | null;
  /** `refused`: the request had no effect. `unknown`: it may have had its effect, now or later. */
  readonly outcome: 'refused' | 'unknown';

  constructor(details: RedbookErrorDetails) {
    super(details.message, 'cause' in details ? { cause: details.cause } : undefined);
    this.code = details.code;
    this.status = details.status ?? 0;
    this.requestId = details.requestId ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.outcome = details.outcome;
  }
}

export const invalid = (message: string, cause?: unknown): RedbookError =>
  new RedbookError({ code: 'INVALID_ARGUMENT', message, cause, outcome: 'refused' });
