/** The shape of a check: its queries, and the violations that they find. */

import { type Part, type Span, textOf, WHOLE_HISTORY } from '../span.ts';

/** Queries that give a row (subject, expected, found) for every violation. */
export interface LedgerQuery {
  readonly name: string;
  /** The rule, in a sentence. */
  readonly meaning: string;
  /** The proof that the check relies on, and who promises it. */
  readonly proof: string;
  /**
   * SQL that is asked once of a span: of tables that have no segments, and of sums. `{from}` and `{to}` stand for the
   * limits of the span.
   */
  readonly sql?: string;
  /** SQL that is asked of each part of a span, with `{segment}` for its segment. The violations of both are added up. */
  readonly ofPart?: string;
  /** A further part of the query, for versions of Postgres whose catalogs have what it asks. */
  readonly later?: { readonly sinceMajor: number; readonly sql: string };
}

/** Returns all texts of a query of a span. */
export const textsOf = ({ sql, ofPart }: LedgerQuery, span: Span, parts: readonly Part[]): string[] => [
  ...(sql === undefined ? [] : [textOf(sql, span)]),
  ...(ofPart === undefined ? [] : parts.map((part) => textOf(ofPart, part))),
];

/** True for a query of the events of a span; others read whole tables. */
export const isOfSpan = ({ sql = '', ofPart }: LedgerQuery): boolean =>
  ofPart !== undefined || sql !== textOf(sql, WHOLE_HISTORY);

export interface Violation {
  /** The row it is about: an order, a trade, an entry, an account. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

export interface Check {
  readonly name: string;
  readonly meaning: string;
  /** Number and kind of the compared things, if these are not all events up to the last one. */
  readonly compared?: string | undefined;
  readonly count: number;
  /** The first hundred violations. */
  readonly violations: readonly Violation[];
}

/** The value that a field of a row must have, in SQL. */
export interface Rule {
  readonly field: string;
  /** Value that the field must have, of any type. */
  readonly expected: string;
  readonly found: string;
  /** Condition of a violation; unless given, `expected` and `found` differ. */
  readonly broken?: string;
}

/**
 * Returns the end of a query of `subjects`: a row (subject, expected, found) for each rule that a subject breaks.
 *
 * The rules are first tried together, as one condition on the row. Listing them as rows of their own takes several
 * times as long, so it is left to rows that break one.
 * @param subject SQL of the subject's name, before the name of the field
 * @param subjects the `from` clause
 */
export function brokenRules(subject: string, subjects: string, rules: readonly Rule[]): string {
  const conditionOf = ({ expected, found, broken }: Rule): string =>
    broken ?? `(${expected}) is distinct from (${found})`;
  const rows = rules.map(
    (rule) => `('${rule.field}', (${rule.expected})::text, (${rule.found})::text, ${conditionOf(rule)})`,
  );
  return `
      select concat_ws(' ', ${subject}, field) as subject, coalesce(rule.expected, 'none') as expected,
        coalesce(rule.found, 'none') as found
      from ${subjects}
      cross join lateral (values ${rows.join(',\n        ')}) as rule (field, expected, found, is_broken)
      where (${rules.map(conditionOf).join('\n        or ')}) and rule.is_broken`;
}
