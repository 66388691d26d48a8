/** A running role. */
export interface RunningRole {
  /** Reason why a running role does not do its work, for `/readyz`; undefined while it does. */
  trouble?(): string | undefined;
  /** Ends in order: turns unready, serves on for `drainMs`, then finishes the requests under way. */
  stop(drainMs: number): Promise<void>;
}
