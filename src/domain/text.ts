/** Rules for texts that clients and operators choose. */

/** True for text that JSON, Lua and Postgres store unchanged: without U+0000 and without half of a surrogate pair. */
export const isValidText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** True for 1 to `most` characters (code points). */
export const hasCharacters = (text: string, max: number): boolean => text !== '' && [...text].length <= max;

/** True for valid text of 1 to `max` characters, as names, reasons and references are. */
export const isTextUpTo = (text: string, max: number): boolean =>
  hasCharacters(text, max) && isValidText(text);
