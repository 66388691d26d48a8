/** Compares a hash of the engine with its expected fields, page by page, each at the event of the page. */

import { type Engine, type EngineHash, FIELDS_TOGETHER } from '../../engine/index.ts';
import type { Follower } from './follower.ts';

/** Compares a hash with the fields that it must hold at the event of its follower. */
export interface Expectation {
  /** Returns the expected value of a field; null when the field must be absent. */
  value(name: string): string | null;
  /** Marks the field as found. Returns false if it was found before. */
  find(name: string): boolean;
  /** Returns the required fields that were not found so far. */
  unfound(): string[];
}

/** A field of the ledger's snapshot. */
export interface ExpectedAmount {
  readonly amount: bigint;
  isFound: boolean;
}

/** Expected amounts: those of the snapshot plus the changes since. A field of zero equals a missing field. */
export class ExpectedAmounts implements Expectation {
  readonly #settled: ReadonlyMap<string, ExpectedAmount>;
  readonly #added: ReadonlyMap<string, bigint>;
  readonly #found = new Set<string>();

  constructor(settled: ReadonlyMap<string, ExpectedAmount>, added: ReadonlyMap<string, bigint>) {
    this.#settled = settled;
    this.#added = added;
  }

  amount(name: string): bigint {
    return (this.#settled.get(name)?.amount ?? 0n) + (this.#added.get(name) ?? 0n);
  }

  value(name: string): string | null {
    const amount = this.amount(name);
    return amount === 0n ? null : `${amount}`;
  }

  find(name: string): boolean {
    const settled = this.#settled.get(name);
    const isNew = settled === undefined ? !this.#found.has(name) : !settled.isFound;
    if (settled === undefined) this.#found.add(name);
    else settled.isFound = true;
    return isNew;
  }

  unfound(): string[] {
    const names: string[] = [];
    for (const [name, { isFound }] of this.#settled)
      if (!isFound && this.value(name) !== null) names.push(name);
    for (const name of this.#added.keys())
      if (!this.#settled.has(name) && !this.#found.has(name) && this.value(name) !== null) names.push(name);
    return names;
  }

  /** Returns the sum of the fields that `counts` names. */
  sumWhere(counts: (name: string) => boolean): bigint {
    let sum = 0n;
    for (const [name, { amount }] of this.#settled) if (counts(name)) sum += amount;
    for (const [name, amount] of this.#added) if (counts(name)) sum += amount;
    return sum;
  }
}

/** Expected texts: those of the snapshot, with the changes since; null for a removed field. */
export class ExpectedTexts implements Expectation {
  readonly #settled: ReadonlyMap<string, string>;
  readonly #set: ReadonlyMap<string, string | null>;
  readonly #found = new Set<string>();

  constructor(settled: ReadonlyMap<string, string>, set: ReadonlyMap<string, string | null>) {
    this.#settled = settled;
    this.#set = set;
  }

  value(name: string): string | null {
    const set = this.#set.get(name);
    return set === undefined ? (this.#settled.get(name) ?? null) : set;
  }

  find(name: string): boolean {
    if (this.#found.has(name)) return false;
    this.#found.add(name);
    return true;
  }

  unfound(): string[] {
    return [...new Set([...this.#settled.keys(), ...this.#set.keys()])].filter(
      (name) => !this.#found.has(name) && this.value(name) !== null,
    );
  }
}

/** Called with every field that exists or should exist. */
type See = (name: string, expected: string | null, found: string | null) => void;

const textOf = (value: Buffer | null): string | null => (value === null ? null : value.toString());

/** @throws EventsLost */
export async function compareFields(
  { engine, follower }: { engine: Engine; follower: Follower },
  hash: EngineHash,
  expectation: Expectation,
  see: See,
): Promise<void> {
  let cursor: string | null = null;
  do {
    const page = await engine.pages.scanFields(hash, cursor);
    await follower.advanceTo(page.sequence);
    for (const [name, value] of page.fields)
      if (expectation.find(name)) see(name, expectation.value(name), textOf(value));
    cursor = page.next;
  } while (cursor !== null);
  const names = expectation.unfound();
  for (let at = 0; at < names.length; at += FIELDS_TOGETHER) {
    const asked = names.slice(at, at + FIELDS_TOGETHER);
    const { sequence, values } = await engine.pages.readFields(hash, asked);
    await follower.advanceTo(sequence);
    asked.forEach((name, index) => {
      see(name, expectation.value(name), textOf(values[index]!));
    });
  }
}

/** Returns the generation of a part of the engine that is written, and the event at which it began. */
export async function turnOf(
  engine: Engine,
  name: 'claims' | 'unsettled',
): Promise<{ current: number; since: number }> {
  const { values } = await engine.pages.readFields({ of: 'engine' }, [name, `${name}:turned_at`]);
  return { current: Number(values[0] ?? 0), since: Number(values[1] ?? 0) };
}

/** Reads a hash of texts. */
export async function scanTexts(
  engine: Engine,
  of: 'markets' | 'assets',
  each: (name: string, value: string) => void,
): Promise<void> {
  let cursor: string | null = null;
  do {
    const page = await engine.pages.scanFields({ of }, cursor);
    for (const [name, value] of page.fields) each(name, value.toString());
    cursor = page.next;
  } while (cursor !== null);
}
