/** Schema of list cursors, as clients see them. */

import { z } from 'zod';
import { queryText } from './fields.ts';

/** Number of Base64url characters in a cursor. */
export const CURSOR_LENGTH = 28;

/** A `cursor` parameter. The service checks that it belongs to the request. */
export const cursorText = queryText
  .regex(new RegExp(`^[\\w-]{${CURSOR_LENGTH}}$`), 'must be a nextCursor of this list')
  .optional()
  .describe('`nextCursor` of the previous page; send the same filters with it');

export const nextCursor = z
  .string()
  .length(CURSOR_LENGTH)
  .nullable()
  .describe('opaque; send it as `cursor` to read the next page; null on the last page');
