/** Tests that loading ioredis leaves the methods of strings as fast as Node has them. */

import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import { ROOT } from '../support/program.ts';

/** Loads a module in a process of its own, and returns whether V8 finds the methods of strings without a dictionary. */
function areFastAfter(module: string): boolean {
  const code = `await import('${module}'); process.stdout.write(String(%HasFastProperties(String.prototype)))`;
  const args = ['--allow-natives-syntax', '--import=tsx', '--input-type=module', '--eval', code];
  return execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' }) === 'true';
}

describe('the methods of strings', () => {
  it('are found without a dictionary after ioredis is loaded for a connection, as they are not after it alone', () => {
    expect(['ioredis', './src/redis/connections.ts'].map(areFastAfter)).to.deep.equal([false, true]);
  });
});
