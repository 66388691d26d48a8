/** Report of what operators did. */

import type { ActsFilter, Ledger, OperatorAct } from '../ledger/index.ts';
import { decimalOf, isoTime, readScales, type Scales } from './amounts.ts';
import { mapped, type Report, textColumns } from './report.ts';

const COLUMNS = [
  'time',
  'event',
  'act',
  'by',
  'reason',
  'wallet',
  'market',
  'asset',
  'subject',
  'before',
  'after',
];
/** Acts that change an available balance, before and after which stand its atoms. */
const MOVEMENTS = ['account credit', 'account debit', 'withdrawal request', 'withdrawal return'];

/** Returns acts with what each changed: amounts as decimals, and of a market's record only what differs. */
export async function actsReport(
  ledger: Pick<Ledger, 'acts' | 'state'>,
  filter: ActsFilter,
): Promise<Report> {
  const scales = await readScales(ledger);
  return {
    facts: {},
    list: 'acts',
    columns: textColumns(...COLUMNS),
    rows: mapped(ledger.acts.list(filter), (act) => {
      const { sequence, name, by, reason, wallet, market, asset, subject } = act;
      const change = changeOf(act, scales);
      return [isoTime(act.timeMs), sequence, name, by, reason, wallet, market, asset, subject, ...change];
    }),
  };
}

function changeOf({ name, asset, before, after }: OperatorAct, scales: Scales): (string | null)[] {
  if (asset !== null && MOVEMENTS.includes(name))
    return [before, after].map((atoms) => decimalOf(scales, asset, BigInt(atoms ?? 0)));
  return name.startsWith('market ') ? differing(before, after) : [before, after];
}

/** Leaves out the members that two records have in common, and those that no operator sets. */
function differing(before: string | null, after: string | null): (string | null)[] {
  const [old, present] = [before, after].map((text) => membersOf(text));
  const names = [...new Set([...old!.keys(), ...present!.keys()])];
  const changed = names.filter((name) => name !== 'version' && old!.get(name) !== present!.get(name));
  return [old!, present!].map((members) => {
    const parts = changed.flatMap((name) => {
      const value = members.get(name);
      return value === undefined ? [] : [`${name}=${value}`];
    });
    return parts.length === 0 ? null : parts.join(' ');
  });
}

const membersOf = (record: string | null): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(record === null ? {} : (JSON.parse(record) as object)).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
