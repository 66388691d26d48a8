/** Proves that no worker of the simulation outlives its parent. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { canSignalDeath } from '../../../src/embedded/run/supervise.ts';
import { eventually } from '../../support/eventually.ts';
import { childrenOf } from '../../support/proc.ts';
import { ROOT } from '../../support/program.ts';

const PARENT = `
  import { runInWorkers } from './test/proofs/simulation/workers.ts';
  await runInWorkers([{ seed: 1, histories: 1, steps: 40, copies: 1 }], 1, () => true);`;

/** The process itself, and not the program that starts it. */
function isWorker(pid: number): boolean {
  try {
    const [command = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return command === process.execPath && args.some((arg) => arg.endsWith('worker.ts'));
  } catch {
    return false; // it has ended
  }
}

describe('a worker of the simulation', () => {
  it('ends when its parent is killed, although it does not run its event loop', async function () {
    if (!canSignalDeath()) this.skip();
    const parent = spawn(process.execPath, ['--import=tsx', '--input-type=module', '-e', PARENT], {
      cwd: ROOT,
      stdio: 'ignore',
    });
    let worker: number | undefined;
    await eventually('a worker runs', async () => {
      worker = childrenOf(parent.pid!).find(isWorker);
      return worker !== undefined;
    });
    process.kill(worker!, 'SIGSTOP');
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    try {
      await eventually('the worker is gone', async () => !isWorker(worker!));
    } finally {
      if (isWorker(worker!)) process.kill(worker!, 'SIGKILL');
    }
  });
});
