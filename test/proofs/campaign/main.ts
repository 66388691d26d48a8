/** `npm run campaign`: faults injected while clients trade; the last thing printed is a table. docs/campaign.md */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { plantedFor } from '../../planted/planted.ts';
import { keepBuilds, newSeed, readOptions, refuse, say, wholeNumber } from '../command.ts';
import {
  documentOf,
  hasViolations,
  type Proof,
  proofsTable,
  prove,
  tableOf,
  underOf,
} from './broken-builds.ts';
import { runCampaign } from './campaign.ts';
import { COPIES, WITH_COPIES } from './faults/copies.ts';
import { FAULTS } from './faults/index.ts';
import { lookAtMachine } from './machine.ts';

const values = readOptions(
  'npm run campaign --',
  'Injects faults while clients trade, and checks every invariant at each rest: docs/campaign.md.',
  {
    faults: ['faults whose names contain one of these texts, with commas between'],
    rounds: ['maximum rounds of each fault; long waits are shorter with 1 or 2'],
    seed: ['repeats the choices of a run'],
    folder: ['keeps data, logs and journals there'],
    resume: ['continues the run that was killed in this folder'],
    traders: ['wallets that trade (10)'],
    rate: ['requests a second (100)'],
    bulk: ['events of the large lag, and live orders of the large rebuild (20,000)'],
    json: ['prints the table as JSON', false],
    copies: ['faults of an engine with three copies', false],
    broken: ['proves the command itself, on builds that are broken on purpose', false],
  },
);

/** Settings of a run, which a run that goes on in the same folder takes over. */
interface Settings {
  readonly seed: number;
  readonly traders: number;
  readonly perSecond: number;
  readonly bulk: number | null;
  readonly faults: string | null;
  readonly rounds: number | null;
}

keepBuilds('campaign');

const givenFolder = values.resume ?? values.folder;
const folder = givenFolder ?? mkdtempSync(join(tmpdir(), 'redbook-campaign-'));
const settings = settingsOfRun();
const { seed, traders, perSecond } = settings;
const words = settings.faults?.split(',').map((word) => word.trim()) ?? [];
const isChosen = ({ name }: { readonly name: string }): boolean =>
  words.length === 0 || words.some((word) => name.includes(word));
say(`SEED=${seed}, data in ${folder}`);
const bulk = settings.bulk ?? undefined;
const options = { machine: await lookAtMachine(), seed, folder, say, traders, perSecond, bulk };
process.exit(values.broken ? await proveHarness() : await run());

/** The options of the command, over those of the run that goes on, over the defaults. */
function settingsOfRun(): Settings {
  const file = join(folder, 'run.json');
  const earlier: Partial<Settings> =
    values.resume !== undefined && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const given = (name: 'seed' | 'traders' | 'rate' | 'bulk' | 'rounds'): number | undefined =>
    values[name] === undefined ? undefined : wholeNumber(name, values[name], 1);
  const chosen: Settings = {
    // The wallets come from the seed, so a run that goes on has no other one.
    seed: earlier.seed ?? given('seed') ?? Number(newSeed()),
    traders: given('traders') ?? earlier.traders ?? 10,
    perSecond: given('rate') ?? earlier.perSecond ?? 100,
    bulk: given('bulk') ?? earlier.bulk ?? null,
    faults: values.faults ?? earlier.faults ?? null,
    rounds: given('rounds') ?? earlier.rounds ?? null,
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `${JSON.stringify(chosen, null, 2)}\n`);
  return chosen;
}

function chosenOf<Named extends { readonly name: string }>(all: readonly Named[]): Named[] {
  const chosen = all.filter(isChosen);
  if (chosen.length > 0) return chosen;
  refuse(`no name contains ${settings.faults}; the names are:\n${all.map(({ name }) => name).join('\n')}`);
}

async function run(): Promise<number> {
  const faults = chosenOf(values.copies ? [...COPIES, ...WITH_COPIES] : FAULTS);
  const results = await runCampaign({ ...options, faults, rounds: settings.rounds ?? undefined });
  console.log(values.json ? documentOf(seed, results) : `\n${tableOf(results)}`);
  if (hasViolations(results)) say(`kept in ${folder}: journals, data and logs`);
  // A folder that was given may hold rounds of other faults, which a later run takes over.
  else if (givenFolder === undefined) rmSync(folder, { recursive: true, force: true });
  return hasViolations(results) ? 1 : 0;
}

/** Runs the campaign against builds that are broken on purpose. `--faults` names some of them, `--copies` those of copies. */
async function proveHarness(): Promise<number> {
  const proofs: Proof[] = [];
  const ofCopies = new Set(COPIES.map(({ name }) => name));
  const all = plantedFor('campaign').filter((one) => !values.copies || ofCopies.has(underOf(one)));
  for (const broken of chosenOf(all)) {
    say(`--- ${broken.name}`);
    proofs.push(await prove(broken, options));
  }
  console.log(values.json ? JSON.stringify({ seed, proofs }, null, 2) : `\n${proofsTable(proofs)}`);
  if (givenFolder === undefined) rmSync(folder, { recursive: true, force: true });
  return proofs.every(({ reportedBy }) => reportedBy.length > 0) ? 0 : 1;
}
