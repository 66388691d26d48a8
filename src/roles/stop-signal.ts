/** Handles the signals by which a person or an orchestrator stops a process. */

/**
 * Period in which a repeated signal is ignored: npm forwards a Ctrl-C that the terminal has already sent to this
 * process.
 */
const REPEATED_WITHIN_MS = 500;

/** Calls `stop` at the first SIGINT or SIGTERM. A later signal exits the process at once with status 1. */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void): void {
  let toldMs: number | undefined;
  const take = (signal: NodeJS.Signals): void => {
    if (toldMs === undefined) {
      toldMs = Date.now();
      stop(signal);
    } else if (Date.now() - toldMs > REPEATED_WITHIN_MS) process.exit(1);
  };
  process.on('SIGINT', take);
  process.on('SIGTERM', take);
}
