/** The cursors of lists as clients see them. */

import { z } from 'zod';

/** Base64url characters of a cursor. */
export const CURSOR_LENGTH = 28;

export const nextCursor = z
  .string()
  .length(CURSOR_LENGTH)
  .nullable()
  .describe('opaque: give it as `cursor` to read the next page; null at the end');
