/** Acts: changes that operators make, each with its author and the reason. */

import { OperatorRefusal } from './errors.ts';
import { isTextUpTo } from './text.ts';

/** Author and reason of a change. Every call of the engine that an operator makes takes one. */
export interface Act {
  /** Name of a person, or of a key. */
  readonly by: string;
  readonly reason: string;
}

/** An act as its event records it. */
export interface RecordedAct extends Act {
  /** The state in the engine before the change, as its Redis writes it; null for nothing. */
  readonly before: string | null;
}

/** Reason of an act for which the operator gave none. */
export const NO_REASON = 'not given';

export const MAX_BY = 128;
export const MAX_REASON = 256;

/** @throws OperatorRefusal INVALID_ACT */
export function checkAct({ by, reason }: Act): Act {
  for (const [name, text, max] of [
    ['name of the operator', by, MAX_BY],
    ['reason', reason, MAX_REASON],
  ] as const)
    if (!isTextUpTo(text, max))
      throw new OperatorRefusal('INVALID_ACT', `the ${name} must be 1 to ${max} characters of valid text`);
  return { by, reason };
}
