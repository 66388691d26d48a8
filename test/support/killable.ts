/** A server program that a test may end as roughly as it likes. */

import { launch, type ServerProgram, untilReady } from '../../src/embedded/run/supervise.ts';

export interface Killable {
  /** SIGKILL of the server; it stays down until `start`. */
  kill(): Promise<void>;
  /** Again, on its own data and port. */
  start(): Promise<void>;
  /** Ends it in order. */
  stop(): Promise<void>;
}

/** @returns when it is ready */
export async function startKillable(program: ServerProgram): Promise<Killable> {
  const start = async () => {
    const incarnation = await launch(program);
    await untilReady(program, incarnation);
    return incarnation;
  };
  let current = await start();
  return {
    async kill() {
      if (current.alive) process.kill(current.pid, 'SIGKILL');
      await current.gone;
    },
    async start() {
      current = await start();
    },
    async stop() {
      current.end();
      await current.gone;
    },
  };
}
