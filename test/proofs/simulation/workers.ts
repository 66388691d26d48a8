/** Worker processes of the simulation. Each has its own Redis and its own Postgres, and takes one task at a time. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canSignalDeath } from '../../../src/embedded/run/supervise.ts';
import { ROOT } from '../../support/program.ts';
import type { Task, TaskResult } from './tasks.ts';

const WORKER = relative(ROOT, fileURLToPath(new URL('worker.ts', import.meta.url)));

/**
 * Runs tasks, each in the next worker that is free.
 * @param onResult returns false to begin no further task
 * @param folder of the sources and the tests
 */
export async function runInWorkers(
  tasks: readonly Task[],
  count: number,
  onResult: (result: TaskResult, task: Task) => boolean,
  folder = ROOT,
): Promise<void> {
  const waiting = [...tasks];
  const work = async (): Promise<void> => {
    const child = forkWorker(folder);
    const died = once(child, 'exit').then(([code, signal]) => {
      throw new Error(`a worker ended with ${code ?? signal}`);
    });
    died.catch(() => undefined);
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
      const result = await Promise.race([ask(child, task), died]);
      if (!onResult(result, task)) waiting.length = 0;
    }
    child.disconnect();
    await died.catch(() => undefined);
  };
  await Promise.all(Array.from({ length: Math.min(count, tasks.length) }, work));
}

/** The kernel ends a worker whose parent is killed. A history that never rests would not let it notice that by itself. */
function forkWorker(folder: string): ChildProcess {
  const worker = join(folder, WORKER);
  const options = { cwd: folder, serialization: 'advanced' } as const;
  if (!canSignalDeath()) return fork(worker, options);
  const execArgv = ['--pdeathsig', 'KILL', process.execPath, ...process.execArgv];
  return fork(worker, { ...options, execPath: 'setpriv', execArgv });
}

async function ask(child: ChildProcess, task: Task): Promise<TaskResult> {
  const answered = once(child, 'message');
  child.send(task);
  const [result] = await answered;
  return result as TaskResult;
}
