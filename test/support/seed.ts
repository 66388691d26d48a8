/** Random choices that can be repeated after a failed run: `SEED=… npx mocha …`. */

export { type Random, random } from '../../src/demo/random.ts';

/** Sets the seed once in a run, before its processes are forked: SEED, or a seed from the clock. */
export function drawSeed(): void {
  process.env.SEED ||= String(Date.now() % 2 ** 31);
}

/** The seed of this run, equal in every test. The reporter prints it if a test fails. */
export const runSeed = (): number => Number(process.env.SEED);
