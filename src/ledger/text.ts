import { createHash } from 'node:crypto';
import { isValidText } from '../domain/text.ts';

/** In UTF-16 units; at most 1,536 bytes of UTF-8, well below what an index row of Postgres can hold. */
const LONGEST = 512;

/**
 * Returns a client's or an operator's text in a form that Postgres can store and index. Valid text is returned as it is.
 * Text that the API should have refused (U+0000, a lone surrogate, a text above every limit) becomes its SHA-256, so that
 * no text can stop settlement, and a search by the original text still finds it.
 */
export const storable = (text: string): string =>
  text.length <= LONGEST && isValidText(text)
    ? text
    : `sha256:${createHash('sha256').update(JSON.stringify(text)).digest('hex')}`;
