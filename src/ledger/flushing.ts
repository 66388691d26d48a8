/** SQL for commits whose data must be on the disk of Postgres before anything follows from them. */

/** Makes the commit of its transaction wait for the disk, also where the server's setting is `off`. */
export const FLUSHED = `set_config('synchronous_commit',
  coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), true)`;

/** Writes a message that nobody reads to the log and commits it, which flushes every commit before it. */
export const FLUSH = `select pg_logical_emit_message(true, 'redbook flush', ''), ${FLUSHED}`;
