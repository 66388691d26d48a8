/**
 * `npm run drill -- --seconds N [--seed N] [--rate N] [--wallets N] [--copies N]`: rolls, scales and kills processes, or kills
 * the primary of an engine with copies N times, and prints a table.
 */

import { parseArgs } from 'node:util';
import { type Plan, runDrill } from './drill.ts';
import { checksOf, tablesOf } from './table.ts';

const MIN_PER_SECOND = 200;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    rate: { type: 'string', default: '240' },
    wallets: { type: 'string', default: '80' },
    copies: { type: 'string', default: '0' },
  },
});
const failovers = Number(values.copies);
const plan: Plan = {
  seconds: Number(values.seconds),
  seed: Number(values.seed),
  wallets: Number(values.wallets),
  perSecond: Number(values.rate),
  replicas: { api: 3, stream: 2, settlement: 2, snapshot: 2 },
  ...{ rounds: failovers > 0 ? 0 : 2, drainMs: 4_000, scales: failovers === 0, hurries: false, failovers },
};
console.log(`SEED=${plan.seed}`);
const outcome = await runDrill(plan, console.log);
const checks = checksOf(outcome, MIN_PER_SECOND);
console.log(`\n${tablesOf(outcome, checks)}`);
const held = checks.every(({ holds }) => holds);
if (!held) console.log(outcome.processes.output());
process.exit(held ? 0 : 1);
