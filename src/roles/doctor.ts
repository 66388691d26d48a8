/**
 * `redbook doctor` tells before an installation goes live what would stop it: it asks every server as each role would.
 * It opens no engine, and writes nothing.
 */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Config, ConfigError, type Role, readConfig, requireFor } from '../config.ts';
import { PLAIN } from '../terminal/paint.ts';
import { column, renderTable } from '../terminal/table.ts';
import { Examination, type Finding } from './doctor-checks.ts';

const DOCTOR_HELP = `redbook doctor [--role ROLE] [--keys FOLDER] [--json]

Asks every server, setting, right, clock, disk and address that a process needs, and changes nothing.
  --role ROLE     as which role, with the settings of this process; by default operator
  --keys FOLDER   as each role that has a folder there, as make-keys.mjs makes them
  --json          prints one JSON document
Exit status: 0 nothing must change, 1 something would stop trade or lose data, 2 bad usage.`;

/** Roles, with the ones whose settings they need. */
const NEEDS = {
  api: 'api',
  stream: 'stream',
  settlement: 'settlement',
  snapshot: 'snapshot',
  'operator-api': 'operator-api',
  migrate: 'migrate',
  operator: 'settlement',
} as const satisfies Record<string, Role>;
type Examined = keyof typeof NEEDS;
const isExamined = (name: string): name is Examined => name in NEEDS;

/** Only these see the settings of the server. */
const READ_SETTINGS: readonly Examined[] = ['settlement', 'operator'];

interface Patient {
  readonly role: Examined;
  readonly env: NodeJS.ProcessEnv;
}

/** @returns roles with the files that were made for them */
function patientsIn(folder: string, env: NodeJS.ProcessEnv): Patient[] {
  const roles = Object.keys(NEEDS).filter(isExamined);
  return roles
    .filter((role) => existsSync(join(folder, role)))
    .map((role) => {
      const files = readdirSync(join(folder, role))
        .filter((name) => !name.startsWith('.'))
        .map((name) => [`${name.toUpperCase().replaceAll('-', '_')}_FILE`, join(folder, role, name)]);
      return { role, env: { ...env, ...Object.fromEntries(files) } };
    });
}

async function examine({ role, env }: Patient): Promise<readonly Finding[]> {
  const part = 'settings';
  const what = 'complete and valid';
  const see = 'docs/configuration.md, "Settings"';
  let config: Config;
  try {
    config = readConfig(env);
    requireFor(NEEDS[role], config);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [{ role, part, what, verdict: 'must', found: error.message, see }];
  }
  const examination = new Examination(role, config);
  examination.add(part, what, 'right', '', see);
  const { redisUrl, databaseUrl, otlpEndpoint } = config;
  if (role !== 'migrate' && redisUrl !== undefined) {
    const withRedis = { ...config, redisUrl };
    await examination.engine(withRedis, READ_SETTINGS.includes(role));
    await examination.queue(withRedis);
  }
  if (role !== 'stream' && databaseUrl !== undefined) await examination.postgres({ ...config, databaseUrl });
  if (otlpEndpoint !== undefined) await examination.address('OTEL_EXPORTER_OTLP_ENDPOINT', otlpEndpoint);
  return examination.findings;
}

const WORDS = { right: 'right', should: 'should change', must: 'MUST CHANGE' } as const;

/**
 * @param argv arguments after `doctor` on the command line
 * @returns the exit status: 1 if something would stop trade or lose data, 2 if the arguments are invalid
 */
export async function tellDoctor(
  env: NodeJS.ProcessEnv,
  argv: readonly string[],
  print: (line: string) => void,
): Promise<number> {
  const asked = readArguments(argv);
  if (asked === undefined || asked.help) {
    print(DOCTOR_HELP);
    return asked === undefined ? 2 : 0;
  }
  const { role, keys, json } = asked;
  const patients = keys === undefined ? [{ role, env }] : patientsIn(keys, env);
  if (patients.length === 0) {
    print(`${keys} has no folder of a role.\n\n${DOCTOR_HELP}`);
    return 2;
  }
  const findings = (await Promise.all(patients.map(examine))).flat();
  const must = findings.filter(({ verdict }) => verdict === 'must').length;
  const should = findings.filter(({ verdict }) => verdict === 'should').length;
  if (json) print(JSON.stringify({ must, should, findings }));
  else {
    print(renderTable(COLUMNS, findings.map(cellsOf), PLAIN).trimEnd());
    print(`\n${findings.length} checks: ${must} must change, ${should} should change.`);
  }
  return must === 0 ? 0 : 1;
}

const COLUMNS = ['role', 'of', 'check', 'result', 'found', 'see'].map((title) => column(title));

const cellsOf = ({ role, part, what, verdict, found, see }: Finding): string[] => [
  role,
  part,
  what,
  WORDS[verdict],
  found,
  verdict === 'right' ? '' : see,
];

/** @returns undefined where they are not understood */
function readArguments(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        role: { type: 'string', default: 'operator' },
        keys: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    const { role } = values;
    return isExamined(role) ? { ...values, role } : undefined;
  } catch {
    return undefined;
  }
}
