/**
 * Runs several statements in one round trip: one write to the socket, one reply. node-postgres waits for the reply to
 * each statement, and pg-copy-streams writes a row or two at a time; both cost settlement more than its rows do.
 */

import type pg from 'pg';

export interface Statement {
  /** Name of the prepared statement. A connection parses each name once, so another text needs another name. */
  readonly name: string;
  readonly text: string;
  readonly values?: readonly (string | null)[];
  /** Rows that a `copy … from stdin` reads, in COPY's text format. */
  readonly copied?: readonly Buffer[];
}

/** The columns of a row as text, as Postgres writes them. */
export type TextRow = readonly (string | null)[];

/** The statements that each connection has parsed. */
const parsed = new WeakMap<pg.Connection, Set<string>>();

const COPY_DATA = 0x64;
const COPY_DONE = Buffer.from([0x63, 0, 0, 0, 4]);

/**
 * Returns the head of a COPY message, which the rows follow: its type, and its length including the four length bytes.
 */
function copyHeader(bytes: number): Buffer {
  const header = Buffer.allocUnsafe(5);
  header.writeUInt8(COPY_DATA, 0);
  header.writeUInt32BE(bytes + 4, 1);
  return header;
}

/** node-postgres calls `submit` when the connection is free for this query, and then `handle…` for each reply. */
class RoundTrip implements pg.Submittable {
  readonly #statements: readonly Statement[];
  readonly #rows: TextRow[][];
  #answered = 0;
  /** node-postgres replaces this callback by one with its time limit. */
  callback: (error: Error | null) => void;

  constructor(
    statements: readonly Statement[],
    done: (error: Error | null, rows: readonly TextRow[][]) => void,
  ) {
    this.#statements = statements;
    this.#rows = statements.map(() => []);
    this.callback = (error) => done(error, this.#rows);
  }

  submit(connection: pg.Connection): void {
    const names = parsed.get(connection) ?? new Set();
    parsed.set(connection, names);
    connection.stream.cork();
    for (const { name, text, values, copied } of this.#statements) {
      if (!names.has(name)) connection.parse({ name, text, types: [] }, true);
      names.add(name);
      connection.bind({ statement: name, values: values as string[] }, true);
      connection.execute(null, true);
      if (copied === undefined) continue;
      for (const rows of copied) {
        connection.stream.write(copyHeader(rows.length));
        connection.stream.write(rows);
      }
      connection.stream.write(COPY_DONE);
    }
    // After an error Postgres skips everything up to here, including the rows of a COPY.
    connection.sync();
    connection.stream.uncork();
  }

  handleDataRow({ fields }: { fields: TextRow }): void {
    this.#rows[this.#answered]!.push(fields);
  }

  handleCommandComplete(): void {
    this.#answered += 1;
  }

  handleCopyInResponse(): void {}

  handleReadyForQuery(): void {
    this.callback(null);
  }

  handleError(error: Error): void {
    this.callback(error);
  }
}

/**
 * Runs the statements in order; the first failure ends them all. After an error the connection can only be closed.
 * @returns the rows of each statement
 */
export const roundTrip = (
  client: pg.PoolClient,
  statements: readonly Statement[],
): Promise<readonly TextRow[][]> =>
  new Promise((resolve, reject) => {
    client.query(
      new RoundTrip(statements, (error, rows) => (error === null ? resolve(rows) : reject(error))),
    );
  });

/** Formats values of an array parameter that need no quotes. */
export const numberArray = (values: readonly (number | bigint | null)[]): string =>
  `{${values.map((value) => value ?? 'NULL').join(',')}}`;

const quotedText = (value: string | null): string =>
  value === null ? 'NULL' : `"${value.replace(/["\\]/g, '\\$&')}"`;

/** Formats values of an array parameter, whatever their text. Most arrays have ids alone, of which none needs escapes. */
export function textArray(values: readonly (string | null)[]): string {
  const isPlain = values.length > 0 && !values.includes(null) && !/["\\]/.test(values.join(''));
  return isPlain ? `{"${values.join('","')}"}` : `{${values.map(quotedText).join(',')}}`;
}
