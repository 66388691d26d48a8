/** Problems that keep the order of the form from being sent, or would get it refused, by the field that shows them. */

import { computed, signal } from '@preact/signals';
import { isQuoteOrder, type Place, type Problem, placeOf } from '../figures/draft-request.ts';
import { draftTexts, orderWords, reading } from './order-preview.ts';
import { serverProblem } from './submissions.ts';

/** True when empty fields are reported, as after a press of the button. */
export const tellsMissing = signal(false);

/**
 * The problem that a field shows: that of the form as typed, then the refusal of the service, then what the book and
 * the balance let expect. The last does not keep the order from being sent, for both may have changed meanwhile.
 */
export function problemAt(place: Place): Problem | undefined {
  const own = reading.value?.problems.find((one) => one.place === place);
  if (own !== undefined && !(own.isMissing === true && !tellsMissing.value)) return own;
  return [serverProblem.value, expectedProblem.value].find((one) => one?.place === place) ?? undefined;
}

/** The refusal that the book and the balance let expect, in the form of a refusal of the service. */
const expectedProblem = computed<Problem | null>(() => {
  const warning = orderWords.value?.warning ?? null;
  if (warning === null) return null;
  const { code, text } = warning;
  return { place: placeOf(code, text, isQuoteOrder(draftTexts.value)), code, message: text };
});
