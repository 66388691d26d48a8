/** Knows that Postgres is away, so that not everybody who asks has to wait in order to find out. */

import { Refusal } from '../domain/errors.ts';

/** Between two looks whether it is back. */
const LOOK_EVERY_MS = 250;

/**
 * Reads that are refused at once after one of them was refused with SERVICE_UNAVAILABLE, until a look finds Postgres back.
 * Those who ask set off the looks, one at a time, and do not wait for them.
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
