/** Functions made from tables of fields. `src/redis/generated.ts` has their code. */

import { generated } from '../redis/generate.ts';

/** A value that is taken from up to three sources: by a function, or as a member of the first source, as its path. */
type Taken<Sources extends readonly unknown[], Value> = string | ((...sources: Sources) => Value);

export type Members<Sources extends readonly unknown[], T> = {
  readonly [Name in keyof T]: Taken<Sources, T[Name]>;
};

/** Returns a function that makes an object. @param name of its code */
export function maker<Sources extends readonly unknown[], T>(
  name: string,
  members: Members<Sources, T>,
): (...sources: Sources) => T {
  const entries = Object.entries<Taken<Sources, unknown>>(members);
  const code = (): string => {
    const lines = entries.map(([member, value]) => `    ${member}: ${codeOf(member, value)},\n`);
    return `({ ${namesOf(entries)} }) =>\n  (a: any, b: any, c: any) => ({\n${lines.join('')}  })`;
  };
  return generated(name, code, members) ?? missing(name);
}

/** A part of a text: what comes before the value, and how the value is written. */
export interface Part<Sources extends readonly unknown[]> {
  readonly name: string;
  readonly before: string;
  readonly value: Taken<Sources, unknown>;
  /** @param last the third source */
  readonly write: (value: never, last: never) => string;
}

/** Returns a function that writes a text. @param name of its code */
export function writer<Sources extends readonly unknown[]>(
  name: string,
  parts: readonly Part<Sources>[],
): (...sources: Sources) => string {
  const values = Object.fromEntries(parts.map((part) => [part.name, part.value]));
  const writes = Object.fromEntries(parts.map((part) => [part.name, part.write]));
  const writeOf = (part: string): string => `write${part.charAt(0).toUpperCase()}${part.slice(1)}`;
  const code = (): string => {
    const named = parts.map((part) => `${part.name}: ${writeOf(part.name)}`).join(', ');
    const lines = parts.map(
      ({ name: part, before, value }) =>
        `    ${JSON.stringify(before)} + ${writeOf(part)}(${codeOf(part, value)}, c)`,
    );
    const used = namesOf(Object.entries(values));
    const second = used === '' ? '_b' : 'b';
    return `({ ${used} }, { ${named} }) =>\n  (a: any, ${second}: any, c: any) =>\n${lines.join(' +\n')}`;
  };
  return generated(name, code, values, writes) ?? missing(name);
}

const codeOf = (name: string, value: unknown): string =>
  typeof value === 'string' ? `a.${value}` : `${name}(a, b, c)`;

/** Names of the functions among the values. */
const namesOf = (entries: readonly (readonly [string, unknown])[]): string =>
  entries
    .filter(([, value]) => typeof value === 'function')
    .map(([name]) => name)
    .join(', ');

const missing = (name: string) => (): never => {
  throw new Error(`${name} is not generated: npm run -s proofs -- order-formats`);
};

/** Returns a member for each of these names. */
export const membersOf = <const Names extends readonly string[], Member>(
  names: Names,
  memberOf: (name: Names[number]) => Member,
): { readonly [Name in Names[number]]: Member } =>
  Object.fromEntries(names.map((name) => [name, memberOf(name)])) as Record<Names[number], Member>;
