/** Reads the arguments of `npm run demo --`. */

import { parseArgs } from 'node:util';

interface DemoArguments {
  readonly help: boolean;
  readonly live: boolean;
  /** Seed of the live demo; drawn when it is not given. */
  readonly seed?: number | undefined;
  /** Symbol of the only market that the live demo trades on. */
  readonly market?: string | undefined;
}

export const DEMO_HELP = `Usage: npm run demo -- [options]

Without options, three wallets made on the spot sign in, trade, cancel and withdraw, and a
reconcile shows that nothing was lost or made on the way.

  --live           five wallets quote around prices that walk at random, and trade, until Ctrl-C;
                   then they cancel their orders and withdraw
  --seed <number>  with --live: repeat the walk of an earlier run, which printed its seed
  --market <name>  with --live: trade on this market alone, for example ETH/USDC
  --help           print this text`;

const MAX_SEED = 2 ** 31 - 1;

/** @returns the arguments, or one sentence why they cannot be understood */
export function readDemoArguments(argv: readonly string[]): DemoArguments | string {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        help: { type: 'boolean', default: false },
        live: { type: 'boolean', default: false },
        seed: { type: 'string' },
        market: { type: 'string' },
      },
    });
    const { help, live, seed, market } = values;
    if (!live && (seed !== undefined || market !== undefined)) return '--seed and --market need --live';
    if (seed === undefined) return { help, live, market };
    if (!/^\d{1,10}$/.test(seed) || Number(seed) > MAX_SEED)
      return `--seed must be a whole number from 0 to ${MAX_SEED}`;
    return { help, live, market, seed: Number(seed) };
  } catch (error) {
    return (error as Error).message.split('. ')[0]!;
  }
}

export const drawSeed = (): number => Math.floor(Math.random() * MAX_SEED);
