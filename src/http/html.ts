/** Text inside HTML. */

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes text for the content of an element and for an attribute in double quotes. */
export const escapedHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => ESCAPES[character]!);
