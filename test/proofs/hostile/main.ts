/** `npm run hostile`: hostile requests, logins and tokens against a cluster of real processes. docs/hostile-input.md */

import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { plantedFor } from '../../planted/planted.ts';
import { keepBuildsIn } from '../../support/program.ts';
import { newSeed, readOptions, say, temporaryFolder, wholeNumber } from '../command.ts';
import { prove, runHostile, sendAgain } from './hostile.ts';
import { textOf } from './report.ts';
import { startTarget } from './target.ts';

const values = readOptions(
  'npm run hostile --',
  'Attacks a cluster of real processes, and checks that every promise of docs/hostile-input.md holds.',
  {
    requests: ['requests over HTTP and handshakes', '50000'],
    logins: ['invalid logins', '2000'],
    tokens: ['forged tokens', '500'],
    attacks: ['text in the names of the attacks that are played at the end', ''],
    rounds: ['parts after each of which memory is measured', '10'],
    seed: ['repeats the requests of a run', newSeed()],
    only: ['sends the request of this number of a run once more, and nothing else'],
    operators: ['with --only, sends a request to operator-api', false],
    json: ['prints one JSON document', false],
    broken: ['proves the command itself, on builds with planted faults', false],
    builds: ['with --broken: those whose names contain this text', ''],
  },
);

const folder = temporaryFolder('hostile');
keepBuildsIn(join(folder, 'builds'));
const seed = wholeNumber('seed', values.seed);
say(`SEED=${seed}`);
process.exit(values.broken ? await proveHarness() : await run());

async function run(): Promise<number> {
  const replicas = { api: 2, stream: 3, settlement: 1, snapshot: 1, 'operator-api': 2 };
  const target = await startTarget({ folder: join(folder, 'cluster'), replicas });
  try {
    const options = {
      target,
      seed,
      say,
      held: 120,
      operates: true,
      attacks: values.attacks,
      requests: wholeNumber('requests', values.requests),
      logins: wholeNumber('logins', values.logins),
      tokens: wholeNumber('tokens', values.tokens),
      rounds: wholeNumber('rounds', values.rounds, 1),
    };
    if (values.only !== undefined) {
      const found = await sendAgain(options, wholeNumber('only', values.only), values.operators);
      console.log(JSON.stringify(found, null, 2));
      return found.length === 0 ? 0 : 1;
    }
    const report = await runHostile(options);
    console.log(values.json ? JSON.stringify(report, null, 2) : `\n${textOf(report)}`);
    if (report.findings.length === 0) return 0;
    const logs = join(tmpdir(), `redbook-hostile-${seed}.log`);
    writeFileSync(logs, target.cluster.slots.map((slot) => target.cluster.processes.log(slot)).join('\n'));
    say(`logs of the processes: ${logs}`);
    return 1;
  } finally {
    await target.stop();
  }
}

/** Runs the short form against builds that are broken on purpose, each of which must be reported. */
async function proveHarness(): Promise<number> {
  let missed = 0;
  for (const fault of plantedFor('hostile').filter(({ name }) => name.includes(values.builds))) {
    const reports = await prove(fault, {
      folder: join(folder, fault.name.replaceAll(/\W+/g, '-')),
      seed,
      say,
    });
    if (reports.length === 0) missed += 1;
    const verdict = reports.length === 0 ? 'NOT REPORTED' : 'reported';
    console.log(`${verdict}  ${fault.name}: ${[fault.options.get('check'), ...reports].join('; ')}`);
  }
  return missed === 0 ? 0 : 1;
}
