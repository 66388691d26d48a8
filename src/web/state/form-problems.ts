/**
 * Problems of the order form, by the field that shows them: those that prevent sending the order, and those that would
 * get it refused.
 */

import { computed, signal } from '@preact/signals';
import { type FormField, fieldOf, isByAmount, type Problem } from '../figures/draft-request.ts';
import { draftTexts, orderWords, reading } from './order-preview.ts';
import { serverProblem } from './submissions.ts';

/** True when empty fields are reported, as after a press of the button. */
export const tellsMissing = signal(false);

/**
 * Returns the problem that a field shows: a problem of the form as typed, else the refusal of the service, else a
 * refusal that the book and the balance let expect. An expected refusal does not prevent sending, because book and
 * balance may have changed meanwhile.
 */
export function problemAt(field: FormField): Problem | undefined {
  const own = reading.value?.problems.find((one) => one.field === field);
  if (own !== undefined && !(own.isMissing === true && !tellsMissing.value)) return own;
  const refused = serverProblem.value;
  const expected = expectedProblem.value;
  // The page knows the figures of a refusal that it expected.
  const told = refused?.code === expected?.code ? [expected] : [refused, expected];
  return told.find((one) => one?.field === field) ?? undefined;
}

/** The refusal that the book and the balance let expect, in the form of a refusal of the service. */
const expectedProblem = computed<Problem | null>(() => {
  const warning = orderWords.value?.warning ?? null;
  if (warning === null) return null;
  const { code, text } = warning;
  return { field: fieldOf(code, text, isByAmount(draftTexts.value)), code, message: text };
});
