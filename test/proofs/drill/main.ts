/** `npm run drill`: a table of what clients notice while processes are replaced, added, removed and killed. */

import { newSeed, readOptions, wholeNumber } from '../command.ts';
import { type Plan, runDrill } from './drill.ts';
import { checksOf, tablesOf } from './table.ts';

/** Share of the rate that must be reached: bursts and restarts hold the clients up. */
const LEAST_OF_RATE = 5 / 6;
/** One process of each role is replaced, all at once, and the load need not reach a rate. */
const SMALL = {
  seconds: 0,
  wallets: 8,
  perSecond: 30,
  rounds: 1,
  hurries: true,
  replicas: { api: 2, stream: 2, settlement: 1, snapshot: 2 },
};

const values = readOptions(
  'npm run drill --',
  'Replaces, adds, removes and kills processes behind a balancer while clients trade.',
  {
    seconds: ['time for which clients trade, at least', '120'],
    seed: ['repeats the choices of a run', newSeed()],
    rate: ['requests a second', '240'],
    wallets: ['clients', '80'],
    copies: [
      'kills, restarts and replaces the primary of an engine with copies so often, and nothing else',
      '0',
    ],
    small: ['the smallest drill, on few processes', false],
  },
);
const failovers = wholeNumber('copies', values.copies);
const plan: Plan = {
  seconds: wholeNumber('seconds', values.seconds),
  seed: wholeNumber('seed', values.seed),
  wallets: wholeNumber('wallets', values.wallets, 1),
  perSecond: wholeNumber('rate', values.rate, 1),
  replicas: { api: 3, stream: 2, settlement: 2, snapshot: 2 },
  rounds: failovers > 0 ? 0 : 2,
  drainMs: 4_000,
  scales: failovers === 0,
  hurries: false,
  failovers,
  ...(values.small ? SMALL : {}),
};
console.log(`SEED=${plan.seed}`);
const outcome = await runDrill(plan, console.log);
const checks = checksOf(outcome, values.small ? 0 : plan.perSecond * LEAST_OF_RATE);
console.log(`\n${tablesOf(outcome, checks)}`);
const held = checks.every(({ holds }) => holds);
if (!held) console.log(outcome.processes.output());
process.exit(held ? 0 : 1);
