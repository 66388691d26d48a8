/** Starts a driver process on the engine of a release and exchanges commands with it. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Answer, Command, OrderKind, Pace } from './driver.ts';

export interface Driver {
  readonly pid: number;
  open(redisUrl: string): Promise<void>;
  create(): Promise<void>;
  rebuild(resting: number): Promise<void>;
  place(kind: OrderKind, calls: number, pace: Pace): Promise<void>;
  cancel(calls: number, pace: Pace): Promise<void>;
  trade(): Promise<void>;
  settle(): Promise<void>;
  stop(): Promise<void>;
}

async function ask(child: ChildProcess, command: Command): Promise<void> {
  const ended = new AbortController();
  const exit = once(child, 'exit', { signal: ended.signal }).then(() => {
    throw new Error(`the driver ended while it was to ${command.do}`);
  });
  exit.catch(() => undefined); // the race is over
  child.send(command);
  const [answer] = (await Promise.race([once(child, 'message'), exit])) as [Answer];
  ended.abort();
  if (!answer.ok) throw new Error(`${command.do}: ${answer.error}`);
}

/**
 * @param folder the project folder of the release
 * @param idLength length of a client order id in characters
 */
export async function startDriver(folder: string, idLength = 36): Promise<Driver> {
  const child = fork(fileURLToPath(new URL('driver.ts', import.meta.url)), [folder], {
    execArgv: ['--import=tsx'],
    env: { ...process.env, BENCH_ID_LENGTH: String(idLength) },
  });
  await once(child, 'spawn');
  return {
    pid: child.pid!,
    open: (redisUrl) => ask(child, { do: 'open', redisUrl }),
    create: () => ask(child, { do: 'create' }),
    rebuild: (resting) => ask(child, { do: 'rebuild', resting }),
    place: (kind, calls, pace) => ask(child, { do: 'place', kind, calls, pace }),
    cancel: (calls, pace) => ask(child, { do: 'cancel', calls, pace }),
    trade: () => ask(child, { do: 'trade' }),
    settle: () => ask(child, { do: 'settle' }),
    async stop() {
      if (child.exitCode !== null) return;
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
}
