/** Checks the time range of public routes. */

import { Refusal } from '../../../domain/errors.ts';

/** @throws Refusal VALIDATION_ERROR if the range ends before it starts */
export function checkTimeRange({
  start_time,
  end_time,
}: {
  readonly start_time?: number | undefined;
  readonly end_time?: number | undefined;
}): void {
  if (start_time !== undefined && end_time !== undefined && start_time > end_time) {
    throw new Refusal('VALIDATION_ERROR', 'start_time: must not be after end_time');
  }
}
