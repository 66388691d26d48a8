/** Random choices that a failed run can repeat: `SEED=… npx mocha …`. */

export { type Random, random } from '../../src/demo/random.ts';

/** Once in a run, before its processes are forked: SEED, or the clock's. */
export function drawSeed(): void {
  process.env.SEED ||= String(Date.now() % 2 ** 31);
}

/** The seed of this run, the same in every test; the reporter tells it when one failed. */
export const runSeed = (): number => Number(process.env.SEED);
