/** `npm run campaign`: faults injected while clients trade; the last thing printed is a table. docs/campaign.md */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { keepBuildsIn } from '../../support/program.ts';
import { BROKEN_BUILDS, type Proof, prove } from './broken-builds.ts';
import { runCampaign } from './campaign.ts';
import { FAULTS } from './faults/index.ts';
import { lookAtMachine } from './machine.ts';
import { documentOf, hasViolations, proofsTable, tableOf } from './report.ts';

const { values } = parseArgs({
  options: {
    faults: { type: 'string' },
    rounds: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    folder: { type: 'string' },
    resume: { type: 'string' },
    traders: { type: 'string', default: '10' },
    rate: { type: 'string', default: '100' },
    json: { type: 'boolean', default: false },
    broken: { type: 'boolean', default: false },
  },
});

const say = (line: string): void =>
  console.error(`${(performance.now() / 1_000).toFixed(1).padStart(7)} s  ${line}`);
const words = values.faults?.split(',').map((word) => word.trim()) ?? [];
const faults = FAULTS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
const builds = mkdtempSync(join(tmpdir(), 'redbook-campaign-builds-'));
keepBuildsIn(builds);
process.once('exit', () => rmSync(builds, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const seed = Number(values.seed);
const folder = values.resume ?? values.folder ?? mkdtempSync(join(tmpdir(), 'redbook-campaign-'));
say(`SEED=${seed}, data in ${folder}`);
const options = {
  machine: await lookAtMachine(),
  seed,
  folder,
  say,
  traders: Number(values.traders),
  perSecond: Number(values.rate),
};
process.exit(values.broken ? await proveHarness() : await run());

async function run(): Promise<number> {
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  const results = await runCampaign({ ...options, faults, rounds });
  console.log(values.json ? documentOf(seed, results) : `\n${tableOf(results)}`);
  if (hasViolations(results)) say(`kept in ${folder}: journals, data and logs`);
  else rmSync(folder, { recursive: true, force: true });
  return hasViolations(results) ? 1 : 0;
}

/** Runs the campaign against builds that are broken on purpose. `--faults` names some of them. */
async function proveHarness(): Promise<number> {
  const proofs: Proof[] = [];
  const chosen = BROKEN_BUILDS.filter(
    ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
  );
  for (const broken of chosen) {
    say(`--- ${broken.name}`);
    proofs.push(await prove(broken, options));
  }
  console.log(values.json ? JSON.stringify({ seed, proofs }, null, 2) : `\n${proofsTable(proofs)}`);
  rmSync(folder, { recursive: true, force: true });
  return proofs.every(({ reportedBy }) => reportedBy.length > 0) ? 0 : 1;
}
