/** Asks for what a view shows, when the view opens, after each act and at an interval. */

import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { ask, Refused } from './operators.ts';

/** Grows with each act: views ask again then. */
export const acts = signal(0);

interface Asked<Answer> {
  readonly answer: Answer | undefined;
  /** Null while the newest answer is good. */
  readonly trouble: string | null;
}

/**
 * Returns the newest answer of a route. A failed request keeps the earlier answer.
 * @param path null asks nothing
 * @param everyMs interval; absent: only after acts
 */
export function useAnswer<Answer>(path: string | null, everyMs?: number): Asked<Answer> {
  const [asked, setAsked] = useState<Asked<Answer>>({ answer: undefined, trouble: null });
  const count = acts.value;
  useEffect(() => {
    let isOver = false;
    const load = async (): Promise<void> => {
      if (path === null) return;
      try {
        const answer = await ask<Answer>(path);
        if (!isOver) setAsked({ answer, trouble: null });
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (!isOver) setAsked(({ answer }) => ({ answer, trouble: error.message }));
      }
    };
    void load();
    const timer = everyMs === undefined ? undefined : setInterval(() => void load(), everyMs);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [path, everyMs, count]);
  return asked;
}
