/** Refuses upgrades with an HTTP reply, written to the socket. */

import type { Duplex } from 'node:stream';
import type { ErrorCode } from '../domain/errors.ts';
import { bareReply } from '../edge/bare-reply.ts';

/** Retry-After of a refused client, long enough for a crowd to thin out. */
const RETRY_AFTER_SECONDS = 5;
/** Refusals that may be temporary. */
const PASSING: readonly ErrorCode[] = ['RATE_LIMITED', 'SERVICE_UNAVAILABLE'];

interface UpgradeRefusal {
  readonly code: ErrorCode;
  readonly error: string;
  /** Further headers, as `Name: value`. */
  readonly headers?: readonly string[];
}

/** Replies with `{error, code}` and the code's status. An unknown route gets the body of unknown routes. */
export function refuseUpgrade(
  socket: Duplex,
  requestId: string,
  { code, error, headers = [] }: UpgradeRefusal,
): void {
  const retry = PASSING.includes(code) ? [`Retry-After: ${RETRY_AFTER_SECONDS}`] : [];
  socket.once('finish', () => socket.destroy());
  socket.end(
    bareReply({
      code,
      requestId,
      ...(code === 'NOT_FOUND' ? {} : { error }),
      headers: [...headers, ...retry],
    }),
  );
}
