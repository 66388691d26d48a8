/** Asks for what a view shows, when the view opens, after each act and at an interval. */

import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { Operation } from '../../operator/operation.ts';
import { type Answer, ask, type Given, Refused } from './operators.ts';

/** Grows with each act: views ask again then. */
export const acts = signal(0);

interface Newest<Result> {
  readonly answer: Result | undefined;
  /** JSON of what it answers. */
  readonly given: string | undefined;
  /** Null while the newest answer is good. */
  readonly trouble: string | null;
}

/**
 * Returns the newest answer of an operation. A failed request keeps the earlier answer.
 * @param given null asks nothing
 * @param everyMs interval; absent: only after acts
 */
export function useAnswer<Asked extends Operation>(
  id: Asked['id'],
  given: Given<Asked> | null,
  everyMs?: number,
): Newest<Answer<Asked>> {
  const [newest, setNewest] = useState<Newest<Answer<Asked>>>({
    answer: undefined,
    given: undefined,
    trouble: null,
  });
  const givenText = JSON.stringify(given);
  const count = acts.value;
  useEffect(() => {
    let isOver = false;
    const load = async (): Promise<void> => {
      if (given === null) return;
      try {
        const answer = await ask<Asked>(id, given);
        if (!isOver) setNewest({ answer, given: givenText, trouble: null });
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (!isOver) setNewest((before) => ({ ...before, trouble: error.message }));
      }
    };
    void load();
    const timer = everyMs === undefined ? undefined : setInterval(() => void load(), everyMs);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [id, givenText, everyMs, count]);
  return newest;
}
