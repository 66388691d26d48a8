/** Proves that a run of the tests starts no server before a test needs one. */

import { ChildProcess } from 'node:child_process';
import { expect } from 'chai';
import { openRun } from './servers.ts';

describe('the servers of the tests', () => {
  it('do not start before a test asks: the run spawns only the shell that removes its folders', async () => {
    const { prototype } = ChildProcess as unknown as {
      prototype: { spawn(this: ChildProcess, options: { file: string }): number };
    };
    const { spawn } = prototype;
    const programs: string[] = [];
    prototype.spawn = function (options) {
      programs.push(options.file);
      return spawn.call(this, options);
    };
    try {
      await openRun().end();
    } finally {
      prototype.spawn = spawn;
    }
    expect(programs).to.deep.equal(['/bin/sh']);
  });
});
