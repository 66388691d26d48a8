/**
 * Counts the user-space instructions of processes. It uses `perf stat` if the processor's counters are readable, else,
 * for a Redis that the bench starts, Valgrind's callgrind. Instruction counts are repeatable; times are not.
 */

import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import type { ServerProgram } from '../../../src/embedded/run/supervise.ts';

export type Counter = 'perf' | 'callgrind';

const PERF = ['stat', '-x', ',', '-e', 'instructions:u'];

let found: { readonly counter: Counter | undefined } | undefined;

/** @returns the tool that can count instructions on this machine; undefined if there is none */
export function findCounter(): Counter | undefined {
  found ??= { counter: look() };
  return found.counter;
}

function look(): Counter | undefined {
  const perf = spawnSync('perf', [...PERF, 'true'], { encoding: 'utf8' });
  if (perf.status === 0 && /^\d+,/m.test(perf.stderr)) return 'perf';
  const valgrind = spawnSync('valgrind', ['--tool=callgrind', '--version']);
  return valgrind.status === 0 ? 'callgrind' : undefined;
}

/** Counts instructions of these processes and their children while `work` runs. */
export async function countWithPerf(pids: readonly number[], work: () => Promise<void>): Promise<number> {
  const perf = spawn('perf', [...PERF, '-p', pids.join(), '-D', '-1', '--control', 'fd:3,4'], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  });
  const ended = once(perf, 'exit');
  let output = '';
  perf.stderr!.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const control = perf.stdio[3] as Duplex;
  const answers = perf.stdio[4] as Duplex;
  const tell = async (word: string): Promise<void> => {
    const answer = once(answers, 'data');
    control.write(`${word}\n`);
    await Promise.race([answer, ended]);
  };
  try {
    await tell('enable');
    await work();
    await tell('disable');
  } finally {
    if (perf.exitCode === null) perf.kill('SIGINT');
    await ended;
  }
  const count = /^(\d+),/m.exec(output)?.[1];
  if (count === undefined) throw new Error(`perf stat counted nothing: ${output}`);
  return Number(count);
}

const OUTPUT = 'callgrind.out';

/** The same server under callgrind, which counts nothing until it is told to. */
export const underCallgrind = (program: ServerProgram): ServerProgram => ({
  ...program,
  command: 'valgrind',
  args: [
    '--tool=callgrind',
    '--instr-atstart=no',
    `--callgrind-out-file=${join(program.cwd, OUTPUT)}`,
    program.command,
    ...program.args,
  ],
});

/** Counts instructions of a server that runs under callgrind in `folder`, while `work` runs. */
export async function countWithCallgrind(
  pid: number,
  folder: string,
  work: () => Promise<void>,
): Promise<number> {
  const tell = (...words: string[]) => promisify(execFile)('vgdb', [`--pid=${pid}`, ...words]);
  await tell('instrumentation', 'on');
  await work();
  await tell('dump'); // which begins anew from zero
  await tell('instrumentation', 'off');
  const dumps = readdirSync(folder).filter((name) => /^callgrind\.out\.\d+/.test(name));
  const text = dumps.map((name) => readFileSync(join(folder, name), 'utf8')).join('');
  for (const name of dumps) rmSync(join(folder, name));
  return Number(/^totals: (\d+)/m.exec(text)?.[1]);
}
