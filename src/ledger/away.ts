/** Remembers that Postgres is unavailable, so that a read is refused at once instead of waiting for a connection. */

import { Refusal } from '../domain/errors.ts';

/** Shortest time between two attempts to reach Postgres again. */
const LOOK_EVERY_MS = 250;

/**
 * Wraps a read. After one read was refused with SERVICE_UNAVAILABLE, all reads are refused at once until Postgres answers
 * again. A refused read starts the next attempt to reach Postgres, at most one at a time, and does not wait for it.
 * @param look resolves when Postgres answers
 */
export function refusedWhileAway<Args extends unknown[], Result>(
  read: (...args: Args) => Promise<Result>,
  look: () => Promise<unknown>,
): (...args: Args) => Promise<Result> {
  let refusal: Refusal | undefined;
  let isLooking = false;
  let nextLookMs = 0;

  const lookAgain = (): void => {
    if (isLooking || performance.now() < nextLookMs) return;
    isLooking = true;
    look()
      .then(
        () => {
          refusal = undefined;
        },
        () => undefined,
      )
      .finally(() => {
        isLooking = false;
        nextLookMs = performance.now() + LOOK_EVERY_MS;
      });
  };

  return async (...args) => {
    if (refusal !== undefined) {
      lookAgain();
      throw refusal;
    }
    try {
      return await read(...args);
    } catch (error) {
      if (error instanceof Refusal && error.code === 'SERVICE_UNAVAILABLE') refusal = error;
      throw error;
    }
  };
}
