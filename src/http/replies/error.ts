/** Writes the two shapes of an error: docs/api.md 2.9. */

import { STATUS_CODES } from 'node:http';
import type { unexpectedErrorSchema } from '../../contract/errors.ts';
import type { operatorErrorSchema } from '../../contract/operator.ts';
import type { Written } from '../../contract/written.ts';
import { ERRORS, type ErrorCode, type OperatorCode, type Reported } from '../../domain/errors.ts';
import { json, type Reply } from './reply.ts';

/** Writes the error of unknown routes and unexpected failures. */
export function unexpectedReply(code: ErrorCode): Reply {
  const { status, meaning } = ERRORS[code];
  const body: Written<typeof unexpectedErrorSchema> = {
    statusCode: status,
    code,
    error: STATUS_CODES[status]!,
    message: meaning,
  };
  return json(body, status);
}

/** Returns an error as a member of a reply has it. */
const errorMember = ({ code, message }: Reported) => ({ error: message, code: code as OperatorCode });

/** Writes an error whose message the client may read. The code is stable. */
export function refusalReply(error: Reported): Reply {
  const body: Written<typeof operatorErrorSchema> = errorMember(error);
  return json(body, error.status);
}
