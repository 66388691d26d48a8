/** States and steps of a withdrawal that custody pays after it was requested. */

import type { MovementKind } from './event.ts';

export const WITHDRAWAL_STATES = ['pending', 'confirmed', 'returned'] as const;

/** True for the steps that end a withdrawal. */
export const endsWithdrawal = (kind: MovementKind): boolean => kind === 'confirmed' || kind === 'returned';

/** States of a deposit that was announced before it is credited. */
export const DEPOSIT_STATES = ['announced', 'credited', 'dropped'] as const;

export type DepositState = (typeof DEPOSIT_STATES)[number];

/**
 * Returns the kind of another movement with the same reference that a step depends on: a step that ends something needs
 * its beginning, and nothing is announced that ended before. Undefined for none.
 */
export function otherStepOf(kind: MovementKind): 'requested' | 'announced' | 'credited' | undefined {
  if (endsWithdrawal(kind)) return 'requested';
  if (kind === 'dropped') return 'announced';
  return kind === 'announced' ? 'credited' : undefined;
}

export type WithdrawalState = (typeof WITHDRAWAL_STATES)[number];

/** Worker or person who pays a withdrawal. Nobody else can take, confirm or return it until he gives it up. */
export interface Take {
  /** His name, by which he confirms it or gives it up. */
  readonly by: string;
  /** Author of the act: the key, or the person on the command line. */
  readonly key: string;
  /** Unix milliseconds until when it should have ended; later it is overdue, and taken all the same. */
  readonly untilMs: number;
}

/** Returns a take as engine and ledger store it. Scripts compare its beginning, so its members have this order. */
export const writeTake = ({ by, key, untilMs }: Take): string => JSON.stringify({ by, key, until: untilMs });

/** Returns the beginning of the text of each take of a name, or of a name and a key. */
export const beginningOfTakes = (by: string, key?: string): string =>
  `${JSON.stringify(key === undefined ? { by } : { by, key }).slice(0, -1)},`;

export function readTake(text: string): Take {
  const { by, key, until } = JSON.parse(text) as { by: string; key: string; until: number };
  return { by, key, untilMs: until };
}
