/** Money that custody moved with a key: steps of withdrawals, caps, and what the routes for operators show of it. */

import { CUSTODY } from '../custody.ts';
import type { Movement } from '../journal.ts';
import { type Rest, told } from './events.ts';

/** Movements of one reference: a first step, and one of two steps that end what it began. */
interface Steps {
  readonly first: string;
  readonly ends: readonly [string, string];
  /** The table of those that have not ended, and its name in a violation. */
  readonly table: string;
  readonly listedAs: string;
  /** SQL of a condition on the steps of a reference, if the ends also stand alone. */
  readonly having?: string;
}

/** The first step is ended in one of the two ways or not, always with the same content. */
async function followSteps(
  { cluster }: Rest,
  { first, ends, table, listedAs, having }: Steps,
): Promise<string[]> {
  const rows = await cluster.sql<{
    reference: string;
    steps: string;
    contents: string;
    is_listed: boolean;
  }>(`
    select reference, string_agg(kind, ' ' order by movements.sequence) as steps,
      count(distinct (movements.wallet, movements.asset, movements.amount_atoms)) as contents,
      bool_or(listed.reference is not null) as is_listed
    from movements left join ${table} as listed using (reference)
    where kind in ('${[first, ...ends].join("', '")}') group by 1 having ${having ?? 'true'}`);
  const found = rows
    .filter(({ steps, contents, is_listed }) => {
      const isEnded = ends.some((end) => steps === `${first} ${end}`);
      return contents !== '1' || (is_listed ? steps !== first : !isEnded);
    })
    .map(({ reference, steps, contents, is_listed }) => {
      const listed = `${is_listed ? '' : 'not '}listed as ${listedAs}`;
      return `${reference} was ${steps}, with ${contents} contents, and is ${listed}`;
    });
  return told(found);
}

/** A withdrawal is requested, then confirmed or returned or neither. */
export const withdrawalsFollowSteps = (rest: Rest): Promise<string[]> =>
  followSteps(rest, {
    first: 'requested',
    ends: ['confirmed', 'returned'],
    table: 'pending_withdrawals',
    listedAs: 'pending',
  });

/** A deposit that was announced is credited or dropped or neither. Most are credited without an announcement. */
export const depositsFollowSteps = (rest: Rest): Promise<string[]> =>
  followSteps(rest, {
    first: 'announced',
    ends: ['credited', 'dropped'],
    table: 'announced_deposits',
    listedAs: 'announced',
    having: `bool_or(kind = 'announced')`,
  });

/** No key moved an atom more than its cap of a day, and every atom that it moved is counted. */
export async function capsHold({ cluster }: Rest): Promise<string[]> {
  const over = await cluster.sql<{ key: string; asset: string; atoms: string; cap: string }>(`
    select key, asset, atoms::text, coalesce(caps ->> asset, caps ->> '*', '0') as cap
    from operator_key_days join operator_keys on name = key join assets on symbol = asset
    where caps <> '{}' and atoms > coalesce(caps ->> asset, caps ->> '*', '0')::numeric * 10 ^ scale`);
  const uncounted = await cluster.sql<{ key: string; kind: string; reference: string; atoms: string }>(
    `
    with booked as (select split_part(reference, ' ', 1) as key, kind, reference, asset, amount_atoms as atoms
      from movements where starts_with(reference, $1) and kind in ('credited', 'debited', 'requested'))
    select key, kind, reference, booked.atoms::text from booked join operator_keys on name = key
    left join cap_reservations as counted using (key, kind, reference, asset, atoms)
    where caps <> '{}' and counted.key is null`,
    [CUSTODY],
  );
  const sums = await cluster.sql<{ key: string; asset: string; booked: string; counted: string }>(
    `
    with booked as (select split_part(reference, ' ', 1) as key, asset, sum(amount_atoms) as booked
      from movements where starts_with(reference, $1) and kind in ('credited', 'debited', 'requested') group by 1, 2),
    counted as (select key, asset, sum(atoms) as counted from operator_key_days group by 1, 2)
    select key, asset, booked::text, counted::text from booked join counted using (key, asset) where booked > counted`,
    [CUSTODY],
  );
  return told([
    ...over.map(({ key, asset, atoms, cap }) => `${key} moved ${atoms} atoms of ${asset}, its cap is ${cap}`),
    ...uncounted.map(
      ({ key, kind, reference, atoms }) => `${key}: ${atoms} of ${kind} ${reference} do not count`,
    ),
    ...sums.map(
      ({ key, asset, booked, counted }) => `${key} moved ${booked} of ${asset}, counted ${counted}`,
    ),
  ]);
}

/** Lists of the movements that are no steps of a withdrawal. */
const LISTS: Readonly<Partial<Record<Movement['kind'], 'movements' | 'deposits'>>> = {
  credit: 'movements',
  debit: 'movements',
  announce: 'deposits',
  arrive: 'deposits',
  drop: 'deposits',
};

/** States of a withdrawal or deposit, which have the names of its last step but for the first one. */
const stateAfter = (step: string): string => (step === 'requested' ? 'pending' : step);
const STEPS = {
  withdrawals: ['requested', 'confirmed', 'returned'],
  deposits: ['announced', 'credited', 'dropped'],
} as const;

/** Each replica shows an answered movement as it was answered, and a withdrawal in the state of its last step. */
export async function custodyReadsAreTrue({ cluster, custody }: Rest): Promise<string[]> {
  const found = custody?.recent.length === 0 ? ['no movement was answered in the last round'] : [];
  for (const { movement } of custody?.recent ?? []) {
    const { kind, reference, asset, amount } = movement;
    const list = LISTS[kind] ?? 'withdrawals';
    const isDirect = list === 'movements';
    const path = `/${list}/${encodeURIComponent(reference)}`;
    const last = isDirect ? undefined : await lastStep(cluster, list, reference);
    for (const reply of await custody!.read(path)) {
      const shown = isDirect
        ? (reply?.body.movements as Record<string, unknown>[] | undefined)
        : [reply?.body];
      const state = last === undefined ? undefined : stateAfter(last);
      const isTrue =
        reply?.status === 200 &&
        shown?.length === 1 &&
        shown[0]!.asset === asset &&
        shown[0]!.amount === amount &&
        shown[0]!.state === state;
      if (!isTrue) found.push(`${path} shows ${JSON.stringify(reply?.body)} for ${kind} ${amount} ${asset}`);
    }
  }
  return told(found);
}

async function lastStep(
  { sql }: Rest['cluster'],
  list: keyof typeof STEPS,
  reference: string,
): Promise<string> {
  const [row] = await sql<{ kind: string }>(
    'select kind from movements where reference = $1 and kind = any($2) order by sequence desc limit 1',
    [reference, STEPS[list]],
  );
  return row?.kind ?? 'missing';
}
