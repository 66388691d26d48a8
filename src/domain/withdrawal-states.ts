/** States and steps of a withdrawal that custody pays after it was requested. */

import type { MovementKind } from './event.ts';

export const WITHDRAWAL_STATES = ['pending', 'confirmed', 'returned'] as const;

/** True for the steps that end a withdrawal. */
export const endsWithdrawal = (kind: MovementKind): boolean => kind === 'confirmed' || kind === 'returned';

export type WithdrawalState = (typeof WITHDRAWAL_STATES)[number];
