/**
 * Functions made from tables of fields. They are generated, because V8 needs the names of members in the code: a loop
 * over names takes twice as long, and an object that is spread and then gets more members takes 30 µs.
 */

/** A value that is taken from up to three sources: by a function, or as a member of the first source, as its path. */
type Taken<Sources extends readonly unknown[], Value> = string | ((...sources: Sources) => Value);

export type Members<Sources extends readonly unknown[], T> = {
  readonly [Name in keyof T]: Taken<Sources, T[Name]>;
};

/** Returns a function that makes an object. */
export function maker<Sources extends readonly unknown[], T>(
  members: Members<Sources, T>,
): (...sources: Sources) => T {
  const entries = Object.entries<Taken<Sources, unknown>>(members);
  const texts = entries.map(([name, value], at) => `${name}: ${codeOf(value, at)}`);
  return generated(
    `({ ${texts.join(', ')} })`,
    entries.map(([, value]) => value),
  );
}

/** A part of a text: what comes before the value, and how the value is written. */
export interface Part<Sources extends readonly unknown[]> {
  readonly before: string;
  readonly value: Taken<Sources, unknown>;
  /** @param last the third source */
  readonly write: (value: never, last: never) => string;
}

/** Returns a function that writes a text. */
export function writer<Sources extends readonly unknown[]>(
  parts: readonly Part<Sources>[],
): (...sources: Sources) => string {
  const count = parts.length;
  const texts = parts.map(
    ({ before, value }, at) => `${JSON.stringify(before)} + f${count + at}(${codeOf(value, at)}, c)`,
  );
  return generated(texts.join(' + '), [
    ...parts.map(({ value }) => value),
    ...parts.map(({ write }) => write),
  ]);
}

const codeOf = (value: unknown, at: number): string =>
  typeof value === 'string' ? `a.${value}` : `f${at}(a, b, c)`;

/** @param used what the code calls `f0`, `f1` and so on */
const generated = (code: string, used: readonly unknown[]) =>
  new Function(...used.map((_one, at) => `f${at}`), `return (a, b, c) => ${code}`)(...used);

/** Returns a member for each of these names. */
export const membersOf = <const Names extends readonly string[], Member>(
  names: Names,
  memberOf: (name: Names[number]) => Member,
): { readonly [Name in Names[number]]: Member } =>
  Object.fromEntries(names.map((name) => [name, memberOf(name)])) as Record<Names[number], Member>;
