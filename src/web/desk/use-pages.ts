/** Asks for a list of an operation one page at a time. */

import { useState } from 'preact/hooks';
import type { Operation } from '../../operator/operation.ts';
import type { Answer, Given } from './operators.ts';
import { useAnswer } from './use-answer.ts';

/** Turns to another page; null where there is none. */
export interface Turning {
  /** 1: the first page. */
  readonly number: number;
  readonly previous: (() => void) | null;
  readonly next: (() => void) | null;
}

/** The cursors of the pages after the first one, up to the shown one, and the list that they belong to. */
interface Place {
  readonly list: string;
  readonly cursors: readonly string[];
}

/**
 * Returns the shown page of a list, and what turns its pages. A list that is asked for otherwise begins anew.
 * @param given without the cursor
 * @param everyMs interval; absent: only after acts
 */
export function usePages<Asked extends Operation>(id: Asked['id'], given: Given<Asked>, everyMs?: number) {
  const list = JSON.stringify(given);
  const [place, setPlace] = useState<Place>({ list, cursors: [] });
  const cursors = place.list === list ? place.cursors : [];
  const cursor = cursors.at(-1);
  const asked = cursor === undefined ? given : { ...given, cursor };
  const { answer, given: answered, trouble } = useAnswer<Asked>(id, asked, everyMs);
  const isShown = answered === JSON.stringify(asked);
  const { nextCursor = null } = ((isShown ? answer : undefined) as { nextCursor?: string | null }) ?? {};
  const turnTo = (next: readonly string[]) => (): void => setPlace({ list, cursors: next });
  const pages: Turning = {
    number: cursors.length + 1,
    previous: cursors.length === 0 ? null : turnTo(cursors.slice(0, -1)),
    next: nextCursor === null ? null : turnTo([...cursors, nextCursor]),
  };
  return { answer: answer as Answer<Asked> | undefined, trouble, pages };
}
