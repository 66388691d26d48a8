/** Reads faults.txt, whose head describes it, and plants faults in scripts and statements. */

import { readFileSync } from 'node:fs';
import { loadScript, type Script, scriptOf } from '../../src/redis/lua.ts';

export type Proof =
  | 'equivalence'
  | 'calls'
  | 'isolation'
  | 'bounds'
  | 'simulation'
  | 'simulated-copies'
  | 'campaign'
  | 'hostile'
  | 'copies'
  | 'leading'
  | 'keepers'
  | 'leaving'
  | 'late-keeper'
  | 'order-routes'
  | 'costs'
  | 'trimming'
  | 'tracing'
  | 'growth';

export interface Change {
  /** Name of a script, path of a file, or `sql`. */
  readonly target: string;
  from: string;
  to: string;
}

export interface Planted {
  readonly name: string;
  /** Proofs that must find it. */
  readonly seenBy: readonly string[];
  readonly changes: readonly Change[];
  readonly options: ReadonlyMap<string, string>;
}

export const PLANTED: readonly Planted[] = read(readFileSync(new URL('faults.txt', import.meta.url), 'utf8'));

export const plantedFor = (proof: Proof): Planted[] => PLANTED.filter(({ seenBy }) => seenBy.includes(proof));

function read(text: string): Planted[] {
  const found: (Planted & { changes: Change[]; options: Map<string, string> })[] = [];
  let seenBy: string[] = [];
  let heading: string = '';
  let target: string = '';
  let sign = '';
  for (const line of text.slice(text.indexOf('\n==') + 1).split('\n')) {
    const before = sign;
    const rest = line.slice(2);
    const { changes = [], options } = found.at(-1) ?? {};
    sign = line.slice(0, 1);
    if (line.startsWith('== ')) {
      const [proofs, of = ''] = line.slice(3).split(': ');
      [seenBy, heading] = [proofs!.split(', '), of];
    } else if (sign === '@') target = rest;
    else if (sign === '?') options!.set(rest.split(' ')[0]!, rest.slice(rest.indexOf(' ') + 1));
    else if (sign === '-' && before !== '-') changes.push({ target, from: rest, to: '' });
    else if (sign === '-') changes.at(-1)!.from += `\n${rest}`;
    else if (sign === '+') changes.at(-1)!.to += before === '+' ? `\n${rest}` : rest;
    else if (line !== '') {
      found.push({ name: line, seenBy, changes: [], options: new Map() });
      target = heading;
    }
  }
  return found;
}

export const isScript = (target: string): boolean => /^\w+$/.test(target) && target !== 'sql';

export const scriptText = (name: string): string => loadScript(name).source;

/** @throws Error when the text that is to be changed is not there exactly once */
export function changed(source: string, { target, from, to }: Change): string {
  const times = source.split(from).length - 1;
  if (times !== 1) throw new Error(`${target} must hold exactly once, and holds ${times} times: ${from}`);
  return source.replace(from, () => to);
}

/** Returns a loader of the scripts with the fault. @throws Error when a script does not hold what is to be changed */
export function loadPlanted({ changes }: Planted): (name: string) => Script {
  const planted = new Map<string, string>();
  for (const change of changes.filter(({ target }) => isScript(target)))
    planted.set(change.target, changed(planted.get(change.target) ?? scriptText(change.target), change));
  return (name) => scriptOf(name, planted.get(name) ?? scriptText(name));
}

/** Changes of a fault to the statements that Postgres is sent. */
export interface Rewrite {
  /** Returns a statement as the fault has it. */
  change(statement: string): string;
  /** Patterns that no statement had so far: such a fault is out of date. */
  unmet(): string[];
}

/** Returns the changes of the fault to statements; undefined if it changes none. */
export function rewriteOf({ changes }: Planted): Rewrite | undefined {
  const rewritten = changes
    .filter(({ target }) => target === 'sql')
    .map(({ from, to }) => ({ pattern: new RegExp(from, 's'), to }));
  if (rewritten.length === 0) return undefined;
  const met = new Set<RegExp>();
  return {
    change: (statement) =>
      rewritten.reduce((text, { pattern, to }) => {
        if (!pattern.test(text)) return text;
        met.add(pattern);
        return text.replace(pattern, () => to);
      }, statement),
    unmet: () => rewritten.filter(({ pattern }) => !met.has(pattern)).map(({ pattern }) => pattern.source),
  };
}
