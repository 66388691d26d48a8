/** Rows in COPY's text format, gathered into large buffers. */

const BUFFER_CHARACTERS = 64 * 1024;

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** The null of COPY; a text of these two characters is escaped. */
export const NULL_FIELD = '\\N';

/** A text as a field of a row. Numbers, ids and wallets need no escapes and go without. */
export const textField = (text: string): string =>
  text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character]!);

/** SQL of the same field of a column that is not null. */
export const escapedInSql = (column: string): string =>
  Object.entries(ESCAPES).reduce(
    (text, [character, escaped]) => `replace(${text}, chr(${character.charCodeAt(0)}), '${escaped}')`,
    column,
  );

export const nullableField = (text: string | null): string => (text === null ? NULL_FIELD : textField(text));

/** Rows of one table. */
export class CopyRows {
  readonly #buffers: Buffer[] = [];
  #text = '';
  #count = 0;
  #characters = 0;

  get count(): number {
    return this.#count;
  }

  /** Characters of all rows. */
  get characters(): number {
    return this.#characters;
  }

  /** @param row Fields in the order of the columns, with tabs between them. */
  add(row: string): void {
    this.#text += `${row}\n`;
    this.#count += 1;
    this.#characters += row.length + 1;
    if (this.#text.length >= BUFFER_CHARACTERS) this.#flush();
  }

  /** Returns all rows so far. */
  buffers(): readonly Buffer[] {
    if (this.#text !== '') this.#flush();
    return this.#buffers;
  }

  #flush(): void {
    this.#buffers.push(Buffer.from(this.#text));
    this.#text = '';
  }
}
