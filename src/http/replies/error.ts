/** The two shapes of an error: contract 2.9. */

import { STATUS_CODES } from 'node:http';
import { ERRORS, type ErrorCode, type Refusal } from '../../domain/errors.ts';
import { type Answer, json } from '../endpoint.ts';

/** What a client may be told and branch on. */
export const refusalAnswer = ({ code, message, status }: Refusal): Answer =>
  json({ error: message, code }, status);

/** Unknown routes and unexpected errors. */
export function unexpectedAnswer(code: ErrorCode): Answer {
  const { status, meaning } = ERRORS[code];
  return json({ statusCode: status, code, error: STATUS_CODES[status]!, message: meaning }, status);
}
