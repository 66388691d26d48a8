/** Errors as whole HTTP replies, for sockets that no response object stands before. */

import { STATUS_CODES } from 'node:http';
import { ERRORS, type ErrorCode } from '../domain/errors.ts';

export interface BareReply {
  readonly code: ErrorCode;
  /** Value of the reply's `X-Request-Id`. */
  readonly requestId: string;
  /** For people. Absent: the reply has the four fields of unknown routes and unexpected errors. */
  readonly error?: string;
  /** Further headers, as `Name: value`. */
  readonly headers?: readonly string[];
}

/** The head and the body; the connection is to be closed after it. */
export function bareReply({ code, requestId, error, headers = [] }: BareReply): string {
  const { status, meaning } = ERRORS[code];
  const statusText = STATUS_CODES[status]!;
  const body = JSON.stringify(
    error === undefined ? { statusCode: status, code, error: statusText, message: meaning } : { error, code },
  );
  return [
    `HTTP/1.1 ${status} ${statusText}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    `X-Request-Id: ${requestId}`,
    ...headers,
    '',
    body,
  ].join('\r\n');
}
