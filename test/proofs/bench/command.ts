/**
 * The command line of the bench. Each table is printed as soon as it is measured; with `--json`, all tables are printed
 * as one document at the end. A table that fails does not end the run.
 */

import type { Writable } from 'node:stream';
import { Command, CommanderError } from 'commander';
import { benchChanges } from './changes.ts';
import { benchCopies } from './copies.ts';
import { benchCustody } from './custody.ts';
import { benchEngine } from './engine.ts';
import { benchFairness } from './fairness.ts';
import { isHeld, renderFigures, type Table } from './figures.ts';
import { benchHttp } from './http.ts';
import { benchMarketData } from './market-data.ts';
import { benchMemory } from './memory.ts';
import { checkOut, type OlderRelease } from './older-release.ts';
import { benchCosts } from './order-costs.ts';
import { benchPage } from './page.ts';
import { benchReads } from './reads.ts';
import { benchReconcile } from './reconcile.ts';
import { benchSeals } from './seals.ts';
import { benchSegments } from './segments.ts';
import { benchSettlement } from './settlement.ts';
import { benchStreams } from './streams.ts';
import { benchTracing } from './tracing.ts';
import { benchWaiters } from './waiters.ts';

type Bench = (older: OlderRelease, attacks: readonly string[]) => Promise<Table>;

const BENCHES: Readonly<Record<string, Bench>> = {
  engine: benchEngine,
  costs: benchCosts,
  http: benchHttp,
  waiters: benchWaiters,
  settlement: benchSettlement,
  streams: benchStreams,
  'market-data': benchMarketData,
  memory: benchMemory,
  reads: benchReads,
};
/** Tables that run only when they are named on the command line. */
const FURTHER: Readonly<Record<string, Bench>> = {
  changes: benchChanges,
  copies: benchCopies,
  fairness: (_older, attacks) => benchFairness(attacks),
  reconcile: benchReconcile,
  seals: benchSeals,
  segments: benchSegments,
  page: benchPage,
  custody: benchCustody,
  tracing: benchTracing,
};

const OLDER = 'b8af6cc';

interface Asked {
  readonly names: readonly string[];
  readonly against: string;
  readonly json: boolean;
  readonly attacks: readonly string[];
}

/** @throws CommanderError if the arguments are invalid, or if they ask for help */
function readArguments(args: readonly string[], out: Writable, err: Writable): Asked {
  const known = Object.keys({ ...BENCHES, ...FURTHER });
  const command = new Command('npm run bench --')
    .description('Measures what the service costs, each figure beside a reference of the same run.')
    .argument('[table...]', `tables to make: ${known.join(', ')}; all but ${Object.keys(FURTHER)} by default`)
    .option('--against <revision>', 'the older release that runs beside this one', OLDER)
    .option('--attacks <text...>', 'attacks of the table `fairness` whose name has one of the texts', [])
    .option('--json', 'prints one JSON document in place of tables', false)
    .exitOverride()
    .configureOutput({ writeOut: (text) => out.write(text), writeErr: (text) => err.write(text) })
    .parse(args, { from: 'user' });
  const unknown = command.args.find((name) => !known.includes(name));
  if (unknown !== undefined) command.error(`error: no table ${unknown}; there are: ${known.join(', ')}`);
  const names = command.args.length === 0 ? Object.keys(BENCHES) : command.args;
  return { names, ...command.opts<Pick<Asked, 'against' | 'json' | 'attacks'>>() };
}

/**
 * @param benches functions that measure the tables, by table name
 * @returns the exit code: 1 if a judged row is not held or is missing
 */
export async function bench(
  args: readonly string[],
  out: Writable,
  err: Writable,
  benches: Readonly<Record<string, Bench>> = { ...BENCHES, ...FURTHER },
): Promise<number> {
  let asked: Asked;
  try {
    asked = readArguments(args, out, err);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
  const older = checkOut(asked.against);
  process.once('exit', older.remove); // also when the run is interrupted
  try {
    const tables: Table[] = [];
    for (const name of asked.names) {
      try {
        tables.push(await benches[name]!(older, asked.attacks));
        if (!asked.json) out.write(renderFigures(tables.at(-1)!));
      } catch (error) {
        err.write(`\n${name} failed: ${error instanceof Error ? error.stack : error}\n`);
      }
    }
    if (asked.json) out.write(`${JSON.stringify({ against: older.revision, tables }, undefined, 2)}\n`);
    const isWhole = tables.length === asked.names.length;
    return isWhole && tables.every(({ rows }) => rows.every(isHeld)) ? 0 : 1;
  } finally {
    process.off('exit', older.remove);
    older.remove();
  }
}
