/** Measures the processor time of processes, and counts their instructions if perf can. */

import { childrenOf, familySeconds, ownSeconds } from '../../support/proc.ts';
import { countWithPerf, findCounter } from './instructions.ts';

/** A process, optionally measured together with its children. */
export interface Watched {
  readonly pid: number;
  readonly withChildren?: boolean;
}

const secondsOf = ({ pid, withChildren }: Watched): number =>
  withChildren ? familySeconds(pid) : ownSeconds(pid);

export interface Spent {
  readonly seconds: number;
  /** User-space instructions; undefined if perf cannot count. */
  readonly instructions: number | undefined;
}

/** Measures the processor time and instructions of each process while `work` runs. */
export async function measureProcessors<Name extends string, Result>(
  watched: Readonly<Record<Name, Watched>>,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly spent: Readonly<Record<Name, Spent>> }> {
  const processes = Object.entries(watched) as [Name, Watched][];
  const before = processes.map(([, one]) => secondsOf(one));
  let result: Result | undefined;
  let run = async (): Promise<void> => {
    result = await work();
  };
  const instructions = new Map<Name, number>();
  if (findCounter() === 'perf') {
    for (const [name, { pid, withChildren }] of processes) {
      const inner = run;
      const pids = withChildren ? [pid, ...childrenOf(pid)] : [pid];
      run = async () => void instructions.set(name, await countWithPerf(pids, inner));
    }
  }
  await run();
  const spent = processes.map(([name, one], index) => [
    name,
    { seconds: secondsOf(one) - before[index]!, instructions: instructions.get(name) },
  ]);
  return { result: result!, spent: Object.fromEntries(spent) as Record<Name, Spent> };
}
