/** Counts what comes of many callers in each turn of the event loop. */

/**
 * Returns the numbers of callers that were answered between two turns, until all are.
 * @param answered number of callers that have an answer by now
 */
export async function answeredOfTurns(callers: number, answered: () => number): Promise<number[]> {
  const ofTurns: number[] = [];
  for (let before = 0; answered() < callers; ) {
    await new Promise((resolve) => setImmediate(resolve));
    ofTurns.push(answered() - before);
    before = answered();
  }
  return ofTurns;
}
