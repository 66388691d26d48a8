/** Turns: work that one process does at a time, because it reads what it then changes by way of the engine. */

import type pg from 'pg';
import { Refusal } from '../domain/errors.ts';
import { inTransaction } from './queries.ts';

/** Longest wait for the work of others, in milliseconds. */
const WAIT_MS = 5_000;

type Line = <Result>(work: () => Promise<Result>) => Promise<Result>;

/**
 * Returns a function that runs work one after the other in this process. Work that waited for a lock of Postgres instead
 * would hold every connection.
 * @param busy message for work that waited too long
 */
export function inLine(busy: string): Line {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const cameMs = performance.now();
    const done = last.then(() => {
      if (performance.now() - cameMs < WAIT_MS) return work();
      throw new Refusal('SERVICE_UNAVAILABLE', busy);
    });
    last = done.catch(() => undefined);
    return done;
  };
}

/**
 * Returns a function that runs work one after the other in all processes. A turn holds a connection of the pool, and ends
 * with it.
 * @param name of the lock
 * @param busy as of `inLine`
 */
export function inTurns(pool: pg.Pool, name: string, busy: string): Line {
  const line = inLine(busy);
  return (work) =>
    line(() =>
      inTransaction(pool, 'begin', async (ask) => {
        await ask(`select set_config('lock_timeout', $1, true)`, [`${WAIT_MS}`]);
        await ask('select pg_advisory_xact_lock(hashtext($1))', [name]);
        return work();
      }),
    );
}
