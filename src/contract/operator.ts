/** Fields, requests and errors that several operations of operators share. */

import { z } from 'zod';
import { MAX_REASON } from '../domain/act.ts';
import { ALL_ERRORS, type ErrorCode, type OperatorCode } from '../domain/errors.ts';
import { address, INTEGER_JSON, oneOf, queryText, validText } from './fields.ts';
import { decimalText } from './values.ts';

export const reference = validText(256).describe('counts once; `chain:txid:output` is a good one');
export const reason = validText(MAX_REASON).describe('why; kept for auditors');
export const inLowerCase = address.transform((given) => given.toLowerCase());

export const receivable = decimalText.describe(
  'part that the wallet owes since a reversal did not find it; of a deposit or a return, the part that paid what it owed',
);

const MAX_PAGE = 500;
const PAGE_JSON = { ...INTEGER_JSON, minimum: 1, maximum: MAX_PAGE };
const pageSize = queryText
  .regex(/^([1-9]\d?|[1-4]\d\d|500)$/, `must be a whole number from 1 to ${MAX_PAGE}`)
  .transform(Number);
export const limit = pageSize.default(100).meta({ ...PAGE_JSON, default: 100 });
/** The same for a list that may be read whole. */
export const optionalLimit = pageSize.optional().meta(PAGE_JSON);
export const order = oneOf(['desc', 'asc'])
  .default('asc')
  .describe('`desc`: the newest first; `asc`: the oldest first. A cursor goes on in its own direction.');

export const referenceRequest = z.object({ reference });
export const walletRequest = z.object({ wallet: inLowerCase });
export const reasonRequest = z.strictObject({ reason });

export const anyCode = z.enum(
  Object.keys(ALL_ERRORS) as [ErrorCode | OperatorCode, ...(ErrorCode | OperatorCode)[]],
);

export const operatorErrorSchema = z
  .strictObject({ error: z.string().min(1), code: anyCode })
  .meta({ description: 'An error. Programs branch on its `code`.' });

export const unexpectedOperatorErrorSchema = z.strictObject({
  statusCode: z.int().min(400).max(599),
  code: anyCode,
  error: z.string().min(1),
  message: z.string().min(1),
});
