/**
 * Functions whose code follows from a table of fields. `generated.ts` has their code, because a loop over the names of
 * members takes V8 several times as long as their names in the code. A test compares it with the tables.
 */

import { GENERATED } from './generated.ts';

const codes = new Map<string, () => string>();

/** Code of each function that was asked for, by its name. */
export const codesByName: ReadonlyMap<string, () => string> = codes;

/**
 * Returns a function of `generated.ts`; undefined if it has none of the name.
 * @param code the code that the table asks for
 * @param used what the code names
 */
export function generated(name: string, code: () => string, ...used: unknown[]) {
  codes.set(name, code);
  return GENERATED[name]?.(...used);
}
