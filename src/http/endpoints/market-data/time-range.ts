/** The time range of public routes: Unix seconds, inclusive at both ends. */

import { Refusal } from '../../../domain/errors.ts';
import { count } from '../../fields.ts';

/** Far past any execution, and still exact in milliseconds. */
const LATEST_SECONDS = 1e11;

const unixSeconds = count.transform((seconds) => Math.min(seconds, LATEST_SECONDS)).optional();

/** @param of the time that is compared, for the document */
export const timeRange = (of = '') => ({
  start_time: unixSeconds.describe(`Unix seconds, inclusive${of}`),
  end_time: unixSeconds.describe(`Unix seconds, inclusive${of}`),
});

/** @throws Refusal VALIDATION_ERROR when the range ends before it starts */
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
