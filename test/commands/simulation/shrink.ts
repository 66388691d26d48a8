/** Shortens a failing history: leaves out parts of its decisions for as long as the same invariant breaks. */

import type { Decision } from './decisions.ts';
import type { HistoryResult } from './history.ts';

/**
 * @param replay runs a history of the given decisions
 * @param most replays at most
 * @returns the shortest history that was found, which breaks the same invariant
 */
export async function shrink(
  failing: HistoryResult,
  replay: (decisions: readonly Decision[]) => Promise<HistoryResult>,
  most: number,
): Promise<HistoryResult> {
  const invariant = failing.violation?.invariant;
  let shortest = failing;
  let replays = 0;
  for (let length = Math.ceil(failing.decisions.length / 2); length >= 1; ) {
    let isShorter = false;
    for (let at = 0; at < shortest.decisions.length && replays < most; ) {
      const rest = shortest.decisions.filter((_one, index) => index < at || index >= at + length);
      replays += 1;
      const found = await replay(rest);
      // Decisions that had become impossible are left out of the result as well.
      const isSame = found.violation?.invariant === invariant;
      if (isSame && found.decisions.length < shortest.decisions.length) {
        shortest = found;
        isShorter = true;
      } else at += length;
    }
    if (replays >= most) break;
    if (length > 1) length = Math.ceil(length / 2);
    else if (!isShorter) break;
  }
  return shortest;
}
