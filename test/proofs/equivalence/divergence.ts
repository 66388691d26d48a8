/** The error that ends a run: engine and reference answer, write or hold different things. */

import { isDeepStrictEqual } from 'node:util';
import { OperatorRefusal, Refusal } from '../../../src/domain/errors.ts';

/** The engine differs from the reference, or its state contradicts itself. */
export class Divergence extends Error {
  override readonly name = 'Divergence';
  /** Name of the part that differed: `reply`, `events`, `balances of USD`, … */
  readonly what: string;

  constructor(what: string, actual: unknown, expected: unknown) {
    super(`${what}\n  engine:    ${show(actual)}\n  reference: ${show(expected)}`);
    this.what = what;
  }
}

export const show = (value: unknown): string =>
  JSON.stringify(
    value,
    (_name, part) => {
      if (typeof part === 'bigint') return part.toString();
      return part instanceof Map ? Object.fromEntries(part) : part;
    },
    1,
  )?.replaceAll(/\n\s*/g, ' ') ?? String(value);

export function compare(what: string, actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) throw new Divergence(what, actual, expected);
}

/**
 * Returns the answer of a command, or the code of its refusal.
 * @throws Divergence if the command fails in any other way
 */
export async function outcomeOf<Answer>(
  command: () => Promise<Answer>,
): Promise<Answer | { refused: string }> {
  try {
    return await command();
  } catch (error) {
    if (error instanceof Refusal || error instanceof OperatorRefusal) return { refused: error.code };
    if (error instanceof Divergence) throw error;
    throw new Divergence('error', error instanceof Error ? error.message : error, 'an answer');
  }
}
