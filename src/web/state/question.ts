/**
 * Asks for confirmation before an action that cannot be undone. A question is read anew while it is open, so that it
 * tells what its answer does now and not what it would have done when it was asked.
 */

import { computed, effect, type ReadonlySignal, signal, untracked } from '@preact/signals';
import type { Question as Words } from '../figures/guard.ts';
import { session } from './session.ts';

export interface Question extends Words {
  /** True when the action can do no harm. */
  readonly isSafe?: boolean;
  /** Words of a button for another action. */
  readonly other?: string;
}

/** `gone`: there is nothing left to ask about, or another wallet is signed in. */
type Given = 'action' | 'other' | 'no' | 'gone';

/** Returns the question as things stand; null once there is nothing left to ask about. */
type ReadQuestion = () => Question | null;

const reader = signal<ReadQuestion | null>(null);

/** The open question. */
export const question: ReadonlySignal<Question | null> = computed(() => reader.value?.() ?? null);

let answer: (given: Given) => void = () => {};

function close(given: Given): void {
  reader.value = null;
  answer(given);
  answer = () => {};
}

effect(() => {
  if (reader.value !== null && question.value === null) untracked(() => close('gone'));
});

/** Asks, and waits for the answer. A question that is already open is answered with no. */
export function ask(read: ReadQuestion): Promise<Given> {
  answer('no');
  const asked = session.peek();
  const given = new Promise<Given>((resolve) => {
    answer = resolve;
  });
  reader.value = () => (session.value === asked ? read() : null);
  return given;
}

export const confirmed = async (asked: Question): Promise<boolean> => (await ask(() => asked)) === 'action';

/**
 * Answers the open question.
 * @param seen the question as the reader saw it: a yes to other words is no answer, and the question stays open
 */
export function answerQuestion(given: 'action' | 'other' | 'no', seen: Question | null): void {
  if (given !== 'no' && JSON.stringify(seen) !== JSON.stringify(question.peek())) return;
  close(given);
}

/** An act that may need a question before it. */
interface Act {
  readonly question: Question;
  readonly mustAsk: boolean;
  /** Loss in basis points that the act may bring. */
  readonly lossBps: bigint;
}

/** A reader who has agreed to a loss is asked again before one that is greater by this much. */
const GREATER_BPS = 50n;

/**
 * Asks before an act if it needs that, and returns the act as it is at the answer.
 * @param read the act as things stand; null once it cannot be done any more
 */
export async function confirmedAct<One extends Act>(read: () => One | null): Promise<One | 'no' | 'gone'> {
  for (;;) {
    const asked = untracked(read);
    if (asked === null) return 'gone';
    if (!asked.mustAsk) return asked;
    const given = await ask(() => read()?.question ?? null);
    if (given !== 'action') return given === 'gone' ? 'gone' : 'no';
    const act = untracked(read);
    if (act === null) return 'gone';
    if (act.lossBps < asked.lossBps + GREATER_BPS) return act;
  }
}
