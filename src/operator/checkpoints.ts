/** `ledger checkpoint`: prints or keeps what an insider of the database cannot change afterwards. */

import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { type Checkpoint, readCheckpoints, writeCheckpoint } from '../books/checkpoint.ts';
import { OperatorRefusal } from '../domain/errors.ts';
import { formatScaled } from '../domain/units.ts';
import type { OperatorServices } from './services.ts';
import { write } from './terminal.ts';
import type { WorkingVerb } from './verb.ts';

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new OperatorRefusal('FILE_NOT_READ', (cause as Error).message);
  }
}

/** Reads the checkpoints of a file, which the key must have signed where one is given. */
export const readCheckpointFile = async (path: string, key: string | undefined): Promise<Checkpoint[]> =>
  readCheckpoints(await readText(path), key === undefined ? undefined : await readText(key));

/** Returns the checkpoint of now as a line, its totals as decimals. */
export async function checkpointLine({ ledger }: OperatorServices, key: string | undefined): Promise<string> {
  const pem = key === undefined ? undefined : await readText(key);
  const facts = await ledger.checks.checkpoint();
  const assets = await ledger.state.assets();
  const scales = new Map(assets.map(({ symbol, scale }) => [symbol, scale]));
  const totals = Object.entries(facts.totals).map(([asset, atoms]) => [
    asset,
    formatScaled(atoms, scales.get(asset) ?? 0),
  ]);
  return writeCheckpoint({ ...facts, totals: Object.fromEntries(totals) }, pem);
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_EVERY_MS = 86_400_000 * 20;

function readInterval(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const everyMs = Number(count) * (UNITS[unit ?? ''] ?? Number.NaN);
  if (!(everyMs >= 1_000 && everyMs <= MAX_EVERY_MS))
    throw new InvalidArgumentError('An interval is like 30m or 1h, at most 20d.');
  return everyMs;
}

/** Writes a file under its whole name at once, so that no reader finds a part of it. */
async function keep(folder: string, line: string): Promise<string> {
  const name = `checkpoint-${new Date().toISOString().replaceAll(':', '-')}.json`;
  const path = join(folder, name);
  try {
    await writeFile(`${path}.part`, `${line}\n`, { flag: 'wx' });
    await rename(`${path}.part`, path);
  } catch (cause) {
    throw new OperatorRefusal('FILE_NOT_WRITTEN', (cause as Error).message);
  }
  return path;
}

interface CheckpointOptions {
  key?: string;
  every?: number;
  to?: string;
}

export const checkpointVerb: WorkingVerb = {
  verb: 'checkpoint',
  describe: (command) =>
    command
      .option('--key <file>', 'Ed25519 private key in PEM, which signs the checkpoint')
      .option('--to <folder>', 'write a file into this folder instead')
      .option(
        '--every <interval>',
        'write a file again and again, like 1h, until the command is ended',
        readInterval,
      )
      .addHelpText(
        'after',
        `
Keep checkpoints where nobody who may write to the database can write. \`ledger reconcile --since FILE\` compares the
ledger with them. \`openssl genpkey -algorithm ed25519\` makes a key.`,
      )
      .description('print one line: the last settled event, the head of its chain, the total of each asset'),
  work({ key, every, to }: CheckpointOptions, command: Command) {
    if (every !== undefined && to === undefined) command.error('error: --every needs a folder: --to FOLDER');
    return async (services, { terminal }) => {
      do {
        const line = await checkpointLine(services, key);
        await write(terminal.out, `${to === undefined ? line : await keep(to, line)}\n`);
        if (every !== undefined) await sleep(every);
      } while (every !== undefined);
      return undefined;
    };
  },
};
