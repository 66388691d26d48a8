/** Judges reach, memory, logs and the ledger at the end of a run. */

import type { Memory } from './memory.ts';
import type { Scene } from './scene.ts';
import type { Watched } from './target.ts';

/** MiB that a process may hold more at the end than after the first third of the rounds. */
const MAX_GROWTH_MIB = 12;
/** Sockets that may differ at two moments: connections of ordinary clients and to the servers. */
const MAX_MORE_SOCKETS = 16;

/**
 * A run that reaches no handler, or none of its refusals, proves nothing.
 * @param hasTerms false if there are no terms to accept, so that the route refuses each version
 */
export function judgeReach({ operations, judge, findings }: Scene, hasTerms: boolean): void {
  for (const { name, parameters, hasBody, needsSession } of operations) {
    const statuses = [...(judge.byOperation.get(name)?.keys() ?? [])];
    if (!statuses.includes(200) && (hasTerms || !name.endsWith('/terms')))
      findings.add('each operation is reached', `${name}: no 200`, '');
    const refuses = parameters.length > 0 || hasBody || needsSession;
    if (refuses && !statuses.some((status) => status >= 400))
      findings.add('each operation is reached', `${name}: no refusal`, '');
  }
}

/** @param measured memory of each process after each round */
export function judgeMemory({ findings }: Scene, measured: ReadonlyMap<Watched, readonly Memory[]>): void {
  for (const [{ slot }, rounds] of measured) {
    const [warm, last] = [rounds[Math.floor(rounds.length / 3)]!, rounds.at(-1)!];
    const shown = JSON.stringify(rounds);
    if (rounds.some(({ pid }) => pid !== warm.pid)) findings.add('no process ends', slot.name, shown);
    if (last.heldMib - warm.heldMib > MAX_GROWTH_MIB) findings.add('memory stays flat', slot.name, shown);
    if (last.sockets - warm.sockets > MAX_MORE_SOCKETS) findings.add('sockets are closed', slot.name, shown);
  }
}

/** @returns bytes of all logs */
export function judgeLogs({ target, secrets, findings }: Scene): number {
  const { cluster, serverLogs } = target;
  const logs = new Map(serverLogs());
  for (const slot of cluster.slots) {
    const log = cluster.processes.log(slot);
    logs.set(slot.name, log);
    for (const line of log.split('\n'))
      if (/"level":[56]0/.test(line)) findings.add('no process logs an error', slot.name, line);
  }
  let bytes = 0;
  for (const [name, log] of logs) {
    bytes += log.length;
    for (const line of secrets.linesWithSecrets(log))
      findings.add('no log holds a token, a signature or a key', name, line);
  }
  return bytes;
}

export async function judgeLedger({ target: { cluster }, findings }: Scene): Promise<void> {
  try {
    await cluster.untilSettled();
    await cluster.operate('ledger', 'reconcile');
  } catch (error) {
    findings.add('the ledger reconciles', 'afterwards', String(error));
  }
}
