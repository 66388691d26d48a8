/** Processor time that each test file takes, with the servers and the programs that it starts. Linux only. */

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { endedChildrenSeconds } from './proc.ts';

const TIMES = 'processor-times';

let spentSeconds = processorSeconds();

function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  const ended = process.platform === 'linux' ? endedChildrenSeconds('self') : 0;
  return (user + system) / 1e6 + ended;
}

/** Records in the folder of the run what this process has spent since its previous file. */
export function recordProcessorTime(folder: string, file: string): void {
  const nowSeconds = processorSeconds();
  appendFileSync(join(folder, TIMES), `${JSON.stringify([file, nowSeconds - spentSeconds])}\n`);
  spentSeconds = nowSeconds;
}

/** Returns the seconds of each file that was recorded in the folder of the run. */
export function readProcessorTimes(folder: string): Map<string, number> {
  const path = join(folder, TIMES);
  if (!existsSync(path)) return new Map();
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  return new Map(lines.map((line) => JSON.parse(line) as [string, number]));
}
