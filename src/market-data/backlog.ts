/** Executions of a market that Postgres may not have yet. The list grows at its end and is settled from its start. */

import type { Cursor } from '../domain/event.ts';
import type { Side, Trade } from '../domain/order.ts';
import { joinSums, type SecondOfTrades } from '../domain/rolling-day.ts';

/**
 * Sum of the trades of one incoming order, all at one time in one market. The single trades are kept only for a while.
 */
export interface UnsettledExecution extends Cursor, SecondOfTrades {
  readonly takerSide: Side;
  readonly timeMs: number;
  /** Null if the trades must be read from the stream: `UnsettledReader.readTrades` reads them. */
  list: readonly Trade[] | null;
}

/** All executions of a second in a market, as far as they were read. */
interface WholeSecond extends SecondOfTrades {
  readonly firstSequence: number;
}

/** Unsettled executions of a market. */
export interface Backlog {
  /** In order of execution. */
  readonly executions: readonly UnsettledExecution[];
  /**
   * Sums of the same executions by second, so that nobody has to add up a long backlog. Some executions of the first
   * second may be settled, and are in its sum all the same.
   */
  readonly seconds: readonly WholeSecond[];
}

export const EMPTY: Backlog = { executions: [], seconds: [] };

/** Returns the backlog with the executions that follow it. */
export function longerBacklog(
  { executions, seconds }: Backlog,
  further: readonly UnsettledExecution[],
): Backlog {
  const sums = [...seconds];
  for (const execution of further) {
    const last = sums.at(-1);
    if (last?.second !== execution.second) sums.push(secondOf(execution));
    else
      sums[sums.length - 1] = Object.assign(joinSums(last, execution), { firstSequence: last.firstSequence });
  }
  return { executions: [...executions, ...further], seconds: sums };
}

/** Leaves the trades out, which would otherwise stay in memory as long as the sum. */
function secondOf(execution: UnsettledExecution): WholeSecond {
  const { market, second, firstTicks, lastTicks, highTicks, lowTicks, sizeSteps, quoteAtoms, trades } =
    execution;
  const sum = { market, second, firstTicks, lastTicks, highTicks, lowTicks, sizeSteps, quoteAtoms, trades };
  return Object.assign(sum, { firstSequence: execution.sequence });
}

/** Returns the part of the backlog after a cursor. */
export function backlogAfter(settled: Cursor, { executions, seconds }: Backlog): Backlog {
  const left = executionsAfter(settled, executions);
  const [first] = left;
  if (first === undefined) return EMPTY;
  return {
    executions: left,
    seconds: between(
      seconds,
      firstIndex(seconds, ({ second }) => second >= first.second),
    ),
  };
}

/** Returns sums of the executions after a cursor. Each sum is of one second; several may be of the same one. */
export function sumsAfter(cursor: Cursor, { executions, seconds }: Backlog): readonly SecondOfTrades[] {
  const whole = between(
    seconds,
    firstIndex(seconds, ({ firstSequence }) => firstSequence > cursor.sequence),
  );
  const end = whole[0]?.firstSequence ?? Number.POSITIVE_INFINITY;
  const from = firstIndex(executions, ({ sequence }) => sequence > cursor.sequence);
  const to = firstIndex(executions, ({ sequence }) => sequence >= end);
  return [...between(executions, from, to), ...whole];
}

export const executionsAfter = (
  { sequence }: Cursor,
  executions: readonly UnsettledExecution[],
): readonly UnsettledExecution[] =>
  between(
    executions,
    firstIndex(executions, (execution) => execution.sequence > sequence),
  );

const between = <Item>(items: readonly Item[], from: number, to = items.length): readonly Item[] =>
  from === 0 && to === items.length ? items : items.slice(from, to);

/**
 * Returns the place of the first item that fulfils the condition, as all items after it do. A backlog may be long, and
 * the place is found in a few steps.
 */
function firstIndex<Item>(items: readonly Item[], isAfter: (item: Item) => boolean): number {
  let from = 0;
  let to = items.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (isAfter(items[middle]!)) to = middle;
    else from = middle + 1;
  }
  return from;
}
