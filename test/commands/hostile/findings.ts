/** Collects what a run found: for each kind its number and its first examples. */

const EXAMPLES = 3;

export interface Finding {
  /** Promise that does not hold. */
  readonly check: string;
  /** Subject that all reports of the finding share. */
  readonly kind: string;
  count: number;
  readonly examples: string[];
}

export class Findings {
  readonly #byKind = new Map<string, Finding>();

  /** @param example one case, with what is needed to see it again */
  add(check: string, kind: string, example: string): void {
    const key = `${check}: ${kind}`;
    const known = this.#byKind.get(key);
    if (known === undefined) this.#byKind.set(key, { check, kind, count: 1, examples: [example] });
    else {
      known.count += 1;
      if (known.examples.length < EXAMPLES) known.examples.push(example);
    }
  }

  all(): Finding[] {
    return [...this.#byKind.values()];
  }
}
