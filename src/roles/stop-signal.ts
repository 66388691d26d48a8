/** Tells a process that a person or an orchestrator ends it. */

/** npm repeats a Ctrl-C that the terminal has sent to this process already. */
const REPEATED_WITHIN_MS = 500;

/** Calls `stop` at the first SIGINT or SIGTERM. A later signal ends the process at once, with status 1. */
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
