/**
 * Which servers may lead the engine's copies. One predicate is asked before a server is named, before it is promoted and
 * before an epoch begins on it, because a name in the row says nothing of a server that was started again. Its disk may
 * be another one, or an older one.
 */

import { compareHistory, type SeenServer } from '../engine/index.ts';
import type { CopiesRow } from '../ledger/index.ts';

/** A server as a keeper knows it. */
interface KnownServer {
  readonly name: string;
  /** Absent while it does not answer. */
  readonly seen: SeenServer | undefined;
  /** Run id under which it was in step last: while it runs on, it has what it acknowledged. */
  readonly inStepAs: string | undefined;
  /** True once it has not answered for so long that nobody waits for it. */
  readonly isSilent: boolean;
  /** True while it waits for its place to be given away, to stop then. */
  readonly isLeaving: boolean;
}

type Row = Pick<CopiesRow, 'server' | 'runId' | 'epoch' | 'members' | 'former'>;

const mayBeNamed = ({ members, former }: Row, name: string): boolean =>
  members.includes(name) || former.includes(name);

/** True while a server has everything that it ever acknowledged. */
export const isInStep = ({ server, runId }: Row, { name, seen, inStepAs }: KnownServer): boolean =>
  seen !== undefined && (seen.runId === inStepAs || (name === server && seen.runId === runId));

/**
 * Returns why a server may not lead now; undefined where it may. One that runs on since it was in step may. If there is
 * none, the best of those that answer may, if as many answer as an answer needs: one disk that is lost or older then
 * decides nothing.
 */
export function whyNotLead(
  row: Row,
  one: KnownServer,
  all: readonly KnownServer[],
  minCopies: number,
): string | undefined {
  const { seen } = one;
  if (seen === undefined) return 'it does not answer';
  if (!mayBeNamed(row, one.name)) return 'it left, and may lack answered orders';
  if (seen.unfit !== undefined) return seen.unfit;
  if (one.isLeaving) return 'it is about to stop';
  if (isInStep(row, one)) return undefined;
  const candidates = all.filter(({ name }) => mayBeNamed(row, name));
  if (candidates.some((other) => isInStep(row, other) && other.seen?.unfit === undefined && !other.isLeaving))
    return 'it was started again, and another one is in step';
  if (seen.epoch === 0 && row.epoch > 0) return 'it has no engine';
  const heard = candidates.flatMap((other) => other.seen ?? []);
  if (heard.some((other) => compareHistory(other, seen) > 0)) return 'another one has more';
  if (candidates.some((other) => other.seen === undefined && !other.isSilent))
    return 'it was started again, and not all others have been looked at';
  const named = [...row.members, ...row.former];
  const needed = Math.min(minCopies, named.length);
  if (heard.length < needed) return `it was started again: ${needed} of ${named.join(', ')} must answer`;
  if (heard.length === 1 && seen.epoch < row.epoch) return `it lacks epoch ${row.epoch}`;
  return undefined;
}
