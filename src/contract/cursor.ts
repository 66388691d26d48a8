/** Schema of list cursors, as clients see them. */

import { z } from 'zod';
import { queryText } from './fields.ts';

/** Number of Base64url characters in a cursor. */
export const CURSOR_LENGTH = 40;

const cursorOf = (reply: string) =>
  queryText.regex(new RegExp(`^[\\w-]{${CURSOR_LENGTH}}$`), `must be a ${reply}`).optional();

/** A `cursor` parameter. The service checks that it belongs to the request. */
export const cursorText = cursorOf('nextCursor of this list').describe(
  '`nextCursor` of the previous page; send the same filters with it',
);

export const nextCursor = z
  .string()
  .length(CURSOR_LENGTH)
  .nullable()
  .describe('opaque; send it as `cursor` to read the next page; null on the last page');

/** Maximum characters of a cursor of a statement, which carries the balances of up to 64 assets. */
const MAX_STATEMENT_CURSOR = 6_000;
const STATEMENT_CURSOR = new RegExp(`^[\\w-]{${CURSOR_LENGTH},${MAX_STATEMENT_CURSOR}}$`);

/** The same for statements. */
export const statementCursorText = queryText
  .regex(STATEMENT_CURSOR, 'must be a nextCursor of this list')
  .optional()
  .describe('`nextCursor` of the previous page; send the same filters with it');

export const nextStatementCursor = z
  .string()
  .min(CURSOR_LENGTH)
  .max(MAX_STATEMENT_CURSOR)
  .nullable()
  .describe('opaque; send it as `cursor` to read the next page; null on the last page');

/** The same for changes, which have no last page. */
export const afterText = cursorOf('cursor of this route').describe(
  '`cursor` of the reply before; without it, the reply has the present cursor and no changes',
);

export const placeCursor = z
  .string()
  .length(CURSOR_LENGTH)
  .describe('opaque; send it as `after` in the next request');
