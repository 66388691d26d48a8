/**
 * Lists as one text: a line for each row, with tabs between its fields. The driver reads one text in the time of one
 * field, and replies show most fields as Postgres wrote them.
 */

const TAB = `E'\\t'`;
const NEWLINE = `E'\\n'`;

/** SQL of a line. Fields must not be null or contain a tab or a newline; other texts are written by `quoted`. */
export const lineOf = (...fields: readonly string[]): string => `concat_ws(${TAB}, ${fields.join(', ')})`;

/** SQL of a text, or null, as JSON, where every control character is escaped. */
export const quoted = (column: string): string => `coalesce(to_json(${column})::text, 'null')`;

/** SQL that joins several lines into one; null where there are none, which `lineOf` skips. */
export const joinedInOneLine = (line: string, order: string): string =>
  `string_agg(${line}, ${TAB} order by ${order})`;

/** SQL of all lines of a list. */
export const joinedLines = (line: string, order: string): string =>
  `string_agg(${line}, ${NEWLINE} order by ${order})`;

const fieldsOf = (line: string): string[] => line.split('\t');

/** The fields of each row. @param text null: there are no rows */
export const rowsOf = (text: string | null): string[][] =>
  text === null ? [] : text.split('\n').map(fieldsOf);
