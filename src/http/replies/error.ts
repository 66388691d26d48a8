/** Writes the two shapes of an error: docs/api.md 2.9. */

import { STATUS_CODES } from 'node:http';
import type { errorSchema, unexpectedErrorSchema } from '../../contract/errors.ts';
import { ERRORS, type ErrorCode, type Refusal } from '../../domain/errors.ts';
import { json, type Reply } from './reply.ts';

/** Writes an error whose message the client may read. The code is stable. */
export const refusalReply = ({ code, message, status }: Refusal): Reply =>
  json<typeof errorSchema>({ error: message, code }, status);

/** Writes the error of unknown routes and unexpected failures. */
export function unexpectedReply(code: ErrorCode): Reply {
  const { status, meaning } = ERRORS[code];
  return json<typeof unexpectedErrorSchema>(
    { statusCode: status, code, error: STATUS_CODES[status]!, message: meaning },
    status,
  );
}
