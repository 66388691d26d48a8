/** Asks for confirmation before an action that cannot be undone. */

import { type Signal, signal } from '@preact/signals';

interface Question {
  readonly title: string;
  readonly text: string;
  /** Words of the button that confirms the action. */
  readonly action: string;
}

export const question: Signal<Question | null> = signal(null);

let answer: (agreed: boolean) => void = () => {};

/** Asks, and waits for the answer. A question that is already open is answered with no. */
export function confirmed(asked: Question): Promise<boolean> {
  answer(false);
  question.value = asked;
  return new Promise((resolve) => {
    answer = resolve;
  });
}

export function answerQuestion(agreed: boolean): void {
  question.value = null;
  answer(agreed);
  answer = () => {};
}
