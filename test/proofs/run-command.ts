/** Runs a command of package.json, as a person types it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ROOT } from '../support/program.ts';

export interface Ran {
  readonly code: number;
  /** Both outputs, in the order of arrival. */
  readonly output: string;
}

/** @param name of a script, such as `drill`, and the arguments behind `--` */
export async function runCommand(name: string, ...args: readonly string[]): Promise<Ran> {
  const child = spawn('npm', ['run', '-s', name, '--', ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const [code] = await once(child, 'close');
  return { code, output };
}
