/** Asks for confirmation before an action that cannot be undone. */

import { type Signal, signal } from '@preact/signals';

interface Question {
  readonly title: string;
  readonly text: string;
  /** Words of the button that confirms the action. */
  readonly action: string;
  /** True when the action can do no harm. */
  readonly isSafe?: boolean;
  /** Words of a button for another action. */
  readonly other?: string;
}

type Given = 'action' | 'other' | 'no';

export const question: Signal<Question | null> = signal(null);

let answer: (given: Given) => void = () => {};

/** Asks, and waits for the answer. A question that is already open is answered with no. */
export function ask(asked: Question): Promise<Given> {
  answer('no');
  question.value = asked;
  return new Promise((resolve) => {
    answer = resolve;
  });
}

export const confirmed = async (asked: Question): Promise<boolean> => (await ask(asked)) === 'action';

export function answerQuestion(given: Given): void {
  question.value = null;
  answer(given);
  answer = () => {};
}
