/** The shape of a check: a query, and the violations that it finds. */

/** A query that gives a row (subject, expected, found) for every violation. */
export interface LedgerQuery {
  readonly name: string;
  /** The rule, in a sentence. */
  readonly meaning: string;
  readonly sql: string;
}

export interface Violation {
  /** The row it is about: an order, a trade, an entry, an account. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

export interface Check {
  readonly name: string;
  readonly meaning: string;
  /** Number of violations. */
  readonly count: number;
  /** The first hundred violations. */
  readonly violations: readonly Violation[];
}
