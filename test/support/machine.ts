/** Measures delays of this process, which also affect the other processes on a busy machine. */

const BEAT_MS = 50;

/** @returns a function that ends the watch and returns the longest delay of this process in milliseconds */
export function watchOverMachine(): () => number {
  let lastMs = performance.now();
  let longestMs = 0;
  const beat = setInterval(() => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs - BEAT_MS);
    lastMs = nowMs;
  }, BEAT_MS);
  return () => {
    clearInterval(beat);
    return longestMs;
  };
}
