/**
 * `npm run containers`: runs docker-compose.yml on a real engine and prints the checks. Exit
 * status: 0 if all checks passed, 1 if one failed, 3 if there is no engine.
 */

import { column, renderTable } from '../../../src/terminal/table.ts';
import { readOptions } from '../command.ts';
import { CHECKS } from './checks.ts';
import { openCluster } from './cluster.ts';
import { openEngine } from './engine.ts';
import type { Figure } from './figures.ts';

const NO_ENGINE = 3;

const values = readOptions('npm run containers --', 'Checks docker-compose.yml on a Docker engine.', {
  keep: ['keeps the cluster after the last check', false],
  only: ['checks whose titles match this pattern, and those that they need', ''],
});

const probe = openEngine({});
const [engine, compose] = [
  await probe.docker('version', '--format', '{{.Server.Version}}'),
  await probe.compose('version', '--short'),
];
if (engine.status !== 0 || compose.status !== 0) {
  console.log(
    'no container engine with Compose answers: start Docker, or set DOCKER, DOCKER_COMPOSE and DOCKER_IN',
  );
  process.exit(NO_ENGINE);
}
console.log(`Docker ${engine.stdout.trim()}, Compose ${compose.stdout.trim()}`);

const cluster = openCluster();
const rows: string[][] = [];
let held = true;
try {
  // An image that an interrupted run left is of other sources.
  await cluster.clear();
  for (const { what, done, run } of CHECKS.filter(
    ({ what, isBasic }) => isBasic || new RegExp(values.only).test(what),
  )) {
    const { seen, holds } = await run(cluster).catch(
      (error: Error): Figure => ({ seen: error.message, holds: false }),
    );
    held &&= holds;
    rows.push([what, done, seen, holds ? 'holds' : 'DOES NOT HOLD']);
    console.log(`${holds ? 'holds        ' : 'DOES NOT HOLD'} ${what}: ${seen}`);
  }
} finally {
  if (!values.keep) await cluster.remove();
}
const heads = ['check', 'what was done', 'figure', ''].map((title) => column(title));
console.log(`\n${renderTable(heads, rows, (_style, text) => text)}`);
process.exit(held ? 0 : 1);
