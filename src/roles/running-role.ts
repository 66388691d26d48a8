/** A role that runs, and how it ends. */
export interface RunningRole {
  /** Why the role does not do its work although it runs, for `/readyz`; undefined while it does. */
  trouble?(): string | undefined;
  /**
   * Ends in order: not ready any more, `drainMs` of going on for those who have not heard yet, then what is
   * under way is finished.
   */
  stop(drainMs: number): Promise<void>;
}
