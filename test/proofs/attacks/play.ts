/** Plays an attack of the table in a process of its own, so that it delays nobody who measures. */

import { fork } from 'node:child_process';
import { on } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Scale, Stage } from './ground.ts';

export interface Play {
  readonly name: string;
  readonly stage: Stage;
  readonly scale: Scale;
}

export interface Playing {
  /** Ends the attack. Returns the promises that it broke. */
  stop(): Promise<readonly string[]>;
}

interface Told {
  readonly begun?: true;
  readonly failure?: string;
  readonly findings?: readonly string[];
}

/** @throws Error if the attack cannot begin */
export async function play(asked: Play): Promise<Playing> {
  const child = fork(fileURLToPath(new URL('attacker.ts', import.meta.url)), [], {
    execArgv: ['--import=tsx'],
  });
  const ended = new AbortController();
  child.once('exit', () => ended.abort());
  const messages = on(child, 'message', { signal: ended.signal });
  const next = async (): Promise<Told> => {
    const { value } = (await messages.next()) as { value: [Told] };
    if (value[0].failure !== undefined) throw new Error(`${asked.name}: ${value[0].failure}`);
    return value[0];
  };
  const stop = async (): Promise<readonly string[]> => {
    child.send('stop');
    try {
      return (await next()).findings ?? [];
    } finally {
      child.kill();
    }
  };
  child.send(asked);
  try {
    await next();
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  return { stop };
}
