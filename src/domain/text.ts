/** Rules for texts that clients and operators choose. */

/** True for text that JSON, Lua and Postgres store unchanged: without U+0000 and without half of a surrogate pair. */
export const isValidText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** True for 1 to `max` characters (code points), each of which takes one or two units of the text. */
export function hasCharacters(text: string, max: number): boolean {
  if (text.length <= max) return text !== '';
  if (text.length > 2 * max) return false;
  let characters = 0;
  for (const _character of text) characters += 1;
  return characters <= max;
}

/** True for valid text of 1 to `max` characters, as names, reasons and references are. */
export const isTextUpTo = (text: string, max: number): boolean =>
  hasCharacters(text, max) && isValidText(text);

/** Control characters, changes of direction, odd line breaks, lone surrogates. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * Returns outside text with unsafe characters made visible, so that no client order id moves the cursor of a terminal, and
 * no reference turns round what is read beside it.
 */
export const shown = (text: string): string =>
  text.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
