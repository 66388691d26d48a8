/** Makes, lists and revokes keys of the routes for operators. */

import { InvalidArgumentError } from 'commander';
import { createKey, revokeKey } from '../books/operator-keys.ts';
import { OPERATOR_RIGHTS, type OperatorKey, type OperatorRight } from '../domain/operator-rights.ts';
import type { Decimal } from '../domain/units.ts';
import { column, renderTable } from '../terminal/table.ts';
import { type ActOptions, actOf } from './act-options.ts';
import { readDecimal } from './arguments.ts';
import type { Noun } from './operation.ts';
import { getOwnKey } from './operations/own-key.ts';
import { shortResult, type WorkingVerb } from './verb.ts';

function readRights(text: string): OperatorRight[] {
  const names = text.split(',');
  const known = OPERATOR_RIGHTS.filter((right) => names.includes(right));
  if (known.length !== names.length)
    throw new InvalidArgumentError(
      `It must be a list of ${OPERATOR_RIGHTS.join(', ')}, with commas between.`,
    );
  return known;
}

type Limits = ReadonlyMap<string, Decimal>;

/** Returns a reader of an option that gives an asset, or all others, a limit. */
const limitReader =
  (name: string, form: RegExp, examples: string) =>
  (text: string, earlier: Limits = new Map()): Limits => {
    const [, asset, amount] = form.exec(text) ?? [];
    if (asset === undefined || amount === undefined)
      throw new InvalidArgumentError(`A ${name} is like ${examples} for every other asset.`);
    if (earlier.has(asset)) throw new InvalidArgumentError(`${asset} has a ${name} already.`);
    return new Map([...earlier, [asset, readDecimal(amount)]]);
  };

const readAlone = limitReader('limit', /^([A-Z0-9]{1,16}|\*)=([^/]+)$/, 'USDC=10000, or *=1000');
const readCap = limitReader('cap', /^([A-Z0-9]{1,16}|\*)=([^/]+)\/day$/, 'USDC=100000/day, or *=1000/day');

const isoTime = (timeMs: number | null): string | null =>
  timeMs === null ? null : new Date(timeMs).toISOString();

const documentOf = ({ createdAtMs, revokedAtMs, ...key }: OperatorKey): object => ({
  ...key,
  createdAt: isoTime(createdAtMs),
  revokedAt: isoTime(revokedAtMs),
});

const COLUMNS = ['NAME', 'MAY', 'CAPS A DAY', 'ALONE UP TO', 'CREATED', 'REVOKED'].map((title) =>
  column(title),
);

const limitsOf = (limits: Readonly<Record<string, string>>): string =>
  Object.entries(limits)
    .map(([asset, limit]) => `${asset}=${limit}`)
    .join(' ') || '-';

const rowOf = ({ name, rights, caps, twoPersons, createdAtMs, revokedAtMs }: OperatorKey): string[] => [
  name,
  rights.join(','),
  limitsOf(caps),
  limitsOf(twoPersons),
  isoTime(createdAtMs)!,
  isoTime(revokedAtMs) ?? '-',
];

interface CreateOptions extends ActOptions {
  may: OperatorRight[];
  cap?: Limits;
  twoPersons?: Limits;
}

const createVerb: WorkingVerb = {
  verb: 'create',
  isAct: true,
  describe: (command) =>
    command
      .argument('<name>', 'name of the key, by which the ledger knows who used it')
      .requiredOption(
        '--may <rights>',
        `rights, with commas between: ${OPERATOR_RIGHTS.join(', ')}`,
        readRights,
      )
      .option('--cap <limit>', 'maximum that the key may move in a day (UTC), like USDC=100000/day', readCap)
      .option(
        '--two-persons <limit>',
        'maximum that the key may move without the approval of another one, like USDC=10000',
        readAlone,
      )
      .addHelpText(
        'after',
        '\nThe key is printed once and kept nowhere. Deposits and withdrawals count to a cap together. Repeat --cap for more\nassets. A key with a cap moves nothing of other assets; *=1000/day gives each of them a cap of its own.\nWith --two-persons, a larger movement, and each one of another asset, waits for the approval of another key.',
      )
      .description('make a key and print it'),
  work:
    (name: string, { may, cap = new Map(), twoPersons = new Map(), ...act }: CreateOptions) =>
    async (services) => {
      const made = await createKey(services, { name, rights: may, caps: cap, twoPersons }, actOf(act));
      return shortResult(made, { name, key: made });
    },
};

const listVerb: WorkingVerb = {
  verb: 'list',
  describe: (command) => command.description('list all keys, also revoked ones'),
  work:
    () =>
    async ({ ledger }) => {
      const keys = await ledger.keys.all();
      return {
        document: { keys: keys.map(documentOf) },
        text: (paint) => renderTable(COLUMNS, keys.map(rowOf), paint, '(no keys)'),
      };
    },
};

const revokeVerb: WorkingVerb = {
  verb: 'revoke',
  isAct: true,
  describe: (command) =>
    command.argument('<name>', 'name of the key').description('revoke a key at once and for ever'),
  work: (name: string, options: ActOptions) => async (services) =>
    shortResult(`the key ${name} is revoked`, documentOf(await revokeKey(services, name, actOf(options)))),
};

export const KEY: Noun = {
  name: 'key',
  description: 'manage keys of the routes on OPERATOR_PORT',
  parts: [createVerb, listVerb, revokeVerb, getOwnKey],
};
