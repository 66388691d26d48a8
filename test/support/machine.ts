/** How busy the machine is: what keeps this process from running keeps the others from it as well. */

const BEAT_MS = 50;

/** @returns ends the watch, and tells for how long this process was kept from running, at most: milliseconds */
export function watchOverMachine(): () => number {
  let [lastMs, longestMs] = [performance.now(), 0];
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
