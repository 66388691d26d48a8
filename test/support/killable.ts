/** Starts a server program that a test can kill and restart. */

import { launch, type ServerProgram, untilReady } from '../../src/embedded/run/supervise.ts';

export interface Killable {
  /** Process number of the server, or of the one that ended last. */
  pid(): number;
  /** Sends SIGKILL to the server, which stays down until `start`. */
  kill(): Promise<void>;
  /** Restarts the server on the same data and port. */
  start(): Promise<void>;
  /** Tells the server to stop, and waits until it has. It stays down until `start`. */
  end(): Promise<void>;
  /** Ends the server for good. */
  stop(): Promise<void>;
}

/** @returns the server once it is ready */
export async function startKillable(program: ServerProgram): Promise<Killable> {
  const start = async () => {
    const incarnation = await launch(program);
    await untilReady(program, incarnation);
    return incarnation;
  };
  let current = await start();
  const end = async (): Promise<void> => {
    current.end();
    await current.gone;
  };
  return {
    pid: () => current.pid,
    async kill() {
      if (current.alive) process.kill(current.pid, 'SIGKILL');
      await current.gone;
    },
    async start() {
      current = await start();
    },
    end,
    stop: end,
  };
}
