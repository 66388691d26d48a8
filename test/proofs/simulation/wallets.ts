/** The wallets of a simulated history. */

/** Awkward bytes, at the edges of the order that lists are kept in. */
export const WALLETS = [`0x${'00'.repeat(20)}`, `0x${'ff'.repeat(20)}`, `0x${'5b'.repeat(20)}`] as const;
/** A wallet whose orders clients never cancel, so that a switch, a hold, an operator or a match ends them. */
export const PATIENT_WALLET = WALLETS[2];
