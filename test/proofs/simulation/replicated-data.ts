/**
 * Logs of the copies, which share their beginnings, and the real databases that have the data of a moment of a log. A
 * script does the same again on the same data with the same clock, so a log has commands.
 */

import type { ChainableCommander, Command, Redis } from 'ioredis';
import type { Outcome } from './link.ts';
import { CLOCK_KEY, runReal } from './simulated-redis.ts';

/** One thing that a server executed, and with it everything before. */
export interface Entry {
  /** Absent at the beginning of a log. */
  readonly before?: Entry;
  /** Offset of the replication stream after it. */
  readonly offset: number;
  /** Absent where nothing changed. */
  readonly command?: Pick<Command, 'name' | 'args'>;
  /** Clock of the primary, in Unix milliseconds. */
  readonly nowMs: number;
  /** Id of the last event by then. */
  lastEventId: string;
}

/** The log of a server without data. */
export const NOTHING: Entry = { offset: 0, nowMs: 0, lastEventId: '0-0' };

export const entryAfter = (before: Entry, nowMs: number, command?: Entry['command']): Entry => ({
  before,
  offset: before.offset + 1,
  ...(command && { command }),
  nowMs,
  lastEventId: before.lastEventId,
});

/** Returns the entries after one up to another; undefined when the one is not in the log of the other. */
export function between(from: Entry, to: Entry): Entry[] | undefined {
  const found: Entry[] = [];
  let entry: Entry | undefined = to;
  for (; entry !== undefined && entry.offset > from.offset; entry = entry.before) found.push(entry);
  return entry === from ? found.reverse() : undefined;
}

function beginningOf(entry: Entry): Entry {
  let first = entry;
  while (first.before !== undefined) first = first.before;
  return first;
}

/** A real database, which has the data of a server when it is asked. */
export class ReplicatedData {
  readonly redis: Redis;
  readonly #restore: (pipeline: ChainableCommander) => unknown;
  #held: Entry | undefined;
  #writtenMs = 0;

  /** @param restore adds the data of the beginning of a history */
  constructor(redis: Redis, restore: (pipeline: ChainableCommander) => unknown) {
    this.redis = redis;
    this.#restore = restore;
  }

  /** Another history begins. */
  forget(): void {
    this.#held = undefined;
  }

  /** Makes the data those of a log. */
  async bring(to: Entry): Promise<void> {
    if (this.#held === to) return;
    let missing = this.#held && between(this.#held, to);
    const replies: Promise<unknown>[] = [];
    this.redis.stream.cork();
    if (missing === undefined) {
      const first = beginningOf(to);
      const pipeline = this.redis.pipeline().flushdb();
      if (first !== NOTHING) this.#restore(pipeline);
      replies.push(pipeline.exec());
      this.#writtenMs = 0;
      missing = between(first, to)!;
    }
    for (const { command, nowMs } of missing)
      if (command !== undefined) {
        this.#setClock(nowMs);
        replies.push(runReal(this.redis, command));
      }
    this.redis.stream.uncork();
    this.#held = to;
    await Promise.all(replies);
  }

  /** Runs a command on the data of a log. @param entry the log with the command, if it writes */
  async run(
    command: Command,
    { before, entry, nowMs }: { readonly before: Entry; readonly entry?: Entry | undefined; nowMs: number },
    observe?: () => Promise<unknown>,
  ): Promise<Outcome> {
    await this.bring(before);
    this.redis.stream.cork();
    this.#setClock(nowMs);
    const ran = runReal(this.redis, command, observe);
    this.redis.stream.uncork();
    const outcome = await ran;
    const hasRun = !('error' in outcome && String(outcome.error).includes('NOSCRIPT'));
    if (entry !== undefined && hasRun) this.#held = entry;
    return outcome;
  }

  #setClock(nowMs: number): void {
    if (this.#writtenMs === nowMs) return;
    this.#writtenMs = nowMs;
    const seconds = Math.floor(nowMs / 1_000);
    void this.redis.hset(CLOCK_KEY, 'seconds', seconds, 'microseconds', (nowMs % 1_000) * 1_000);
  }
}
