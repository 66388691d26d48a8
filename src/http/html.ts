/** Escapes text for HTML. */

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes text for element content and for attributes in double quotes. */
export const escapedHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => ESCAPES[character]!);
