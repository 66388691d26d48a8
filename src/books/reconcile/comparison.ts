/** Collects what a check compares and the differences that it finds. */

import type { CheckDefinition } from './definitions.ts';

interface Difference {
  /** Subject of the difference: an account, an order, a transaction. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

export interface CheckResult {
  readonly name: string;
  /** Asset of the difference, or null. */
  readonly asset: string | null;
  /** The rule, in a sentence. */
  readonly meaning: string;
  /** Number and kind of the compared things, like `1204 accounts`. */
  readonly compared: string;
  /** Number of violations. */
  readonly count: number;
  /** The first of them. */
  readonly differences: readonly Difference[];
}

/** Maximum differences that a result shows; the others are counted. */
export const DIFFERENCES_KEPT = 20;

/** Counts what is compared and keeps the first differences. */
export class Comparison {
  readonly #kept: Difference[] = [];
  #compared = 0;
  #count = 0;

  equal(subject: string, expected: string, found: string): void {
    this.#compared += 1;
    if (expected === found) return;
    this.#count += 1;
    if (this.#kept.length < DIFFERENCES_KEPT) this.#kept.push({ subject, expected, found });
  }

  /** Takes over what another comparison found. */
  take(other: Comparison): void {
    this.#compared += other.#compared;
    this.#count += other.#count;
    this.#kept.push(...other.#kept.slice(0, DIFFERENCES_KEPT - this.#kept.length));
  }

  /** Counts a comparison that found no difference. */
  agree(): void {
    this.#compared += 1;
  }

  /** @param compared description of the compared things; `#` is replaced by the number of comparisons */
  result({ name, meaning }: CheckDefinition, asset: string | null, compared: string): CheckResult {
    return {
      name,
      asset,
      meaning,
      compared: compared.replace('#', String(this.#compared)),
      count: this.#count,
      differences: this.#kept,
    };
  }
}
