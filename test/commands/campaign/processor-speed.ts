/**
 * Speed of the processors, by a fixed piece of work. Neighbours on the host of a virtual machine share its caches, its
 * memory and the halves of its cores, and slow its processors down without taking any of their time.
 */

const ENTRIES = 4 * 1024 * 1024;
const STEPS = 5_000;
const PAUSE_MS = 500;
/** The fastest quarter of the tries met no other process on its processor. */
const UNDISTURBED = 1 / 4;

/** Larger than the caches of a core. Its links lead once through all entries before they return to the first. */
function makeLinks(): Int32Array {
  const links = new Int32Array(ENTRIES);
  // An odd number apart modulo a power of two, so every entry is met.
  const STRIDE = 1_664_525;
  for (let at = 0; at < ENTRIES; at += 1) links[at] = (at + STRIDE) % ENTRIES;
  return links;
}

let links: Int32Array | undefined;
let at = 0;

/** @returns milliseconds of a walk whose every step waits for the one before */
function walk(): number {
  links ??= makeLinks();
  const begunMs = performance.now();
  for (let step = 0; step < STEPS; step += 1) at = links[at]!;
  return performance.now() - begunMs;
}

/** Works for about a millisecond, twice a second. @returns a function that ends it and returns its milliseconds */
export function watchProcessorSpeed(): () => number {
  const tries = [walk()];
  const timer = setInterval(() => tries.push(walk()), PAUSE_MS);
  return () => {
    clearInterval(timer);
    const sorted = tries.toSorted((one, other) => one - other);
    return sorted[Math.floor(sorted.length * UNDISTURBED)]!;
  };
}
