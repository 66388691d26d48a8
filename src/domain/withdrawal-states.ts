/** States of a withdrawal that custody pays after it was requested. */

export const WITHDRAWAL_STATES = ['pending', 'confirmed', 'returned'] as const;

export type WithdrawalState = (typeof WITHDRAWAL_STATES)[number];
