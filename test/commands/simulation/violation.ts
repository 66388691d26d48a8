/** A history has broken an invariant. */
export class Violation extends Error {
  override readonly name = 'Violation';
  /** Name of the invariant. */
  readonly invariant: string;

  constructor(invariant: string, found: string) {
    super(`${invariant}: ${found}`);
    this.invariant = invariant;
  }
}
