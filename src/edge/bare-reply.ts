/** Writes an error as a complete HTTP reply, for sockets that have no response object. */

import { STATUS_CODES } from 'node:http';
import type { z } from 'zod';
import type { errorSchema, unexpectedErrorSchema } from '../contract/errors.ts';
import { ERRORS, type ErrorCode } from '../domain/errors.ts';

type ClientError = z.infer<typeof errorSchema>;
type UnexpectedError = z.infer<typeof unexpectedErrorSchema>;

interface BareReply {
  readonly code: ErrorCode;
  /** Value of the reply's `X-Request-Id`. */
  readonly requestId: string;
  /** Error message for people. When absent, the reply has the four fields of unknown routes and unexpected errors. */
  readonly error?: string;
  /** Further headers, as `Name: value`. */
  readonly headers?: readonly string[];
}

/** Returns the head and the body. The caller must close the connection after sending them. */
export function bareReply({ code, requestId, error, headers = [] }: BareReply): string {
  const { status, meaning } = ERRORS[code];
  const statusText = STATUS_CODES[status]!;
  const body =
    error === undefined
      ? ({ statusCode: status, code, error: statusText, message: meaning } satisfies UnexpectedError)
      : ({ error, code } satisfies ClientError);
  const text = JSON.stringify(body);
  return [
    `HTTP/1.1 ${status} ${statusText}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Cache-Control: no-store',
    `X-Request-Id: ${requestId}`,
    ...headers,
    '',
    text,
  ].join('\r\n');
}
