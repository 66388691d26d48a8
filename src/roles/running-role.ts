/** A running role. */
export interface RunningRole {
  /** Returns the reason why the role does not work, for `/readyz`; undefined while it works. */
  trouble?(): string | undefined;
  /** Shuts down gracefully: reports not ready, keeps serving for `drainMs`, then finishes the requests in flight. */
  stop(drainMs: number): Promise<void>;
}
