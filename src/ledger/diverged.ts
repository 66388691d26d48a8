/**
 * Thrown when the engine's events and the ledger contradict each other: an event is missing, an epoch went back, or the
 * same place holds another content. A retry cannot help; an operator must look.
 */
export class LedgerDiverged extends Error {
  override readonly name = 'LedgerDiverged';
}
