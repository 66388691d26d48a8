import { createHash } from 'node:crypto';
import { isValidText } from '../domain/text.ts';

/** In UTF-16 units; at most 1,536 bytes of UTF-8, well below what an index row of Postgres can hold. */
const LONGEST = 512;

/**
 * A client's or an operator's text as Postgres can store and index it: itself, and for what should have
 * been refused at the door (U+0000, a lone surrogate, a text longer than any limit of ours) its SHA-256.
 * So no text can stop settlement, and it is still found by the text it came as.
 */
export const storable = (text: string): string =>
  text.length <= LONGEST && isValidText(text)
    ? text
    : `sha256:${createHash('sha256').update(JSON.stringify(text)).digest('hex')}`;
