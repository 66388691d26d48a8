/** Keys of the routes for operators, and the amounts that they reserve under their caps. */

import type { OperatorKey, OperatorRight } from '../domain/operator-rights.ts';
import type { Pools } from './pools.ts';
import { type Ask, askOnce, inTransaction, prepared } from './queries.ts';
import { storable } from './text.ts';
import { inLine } from './turns.ts';

interface KeyRow {
  name: string;
  rights: OperatorRight[];
  caps: Record<string, string>;
  two_persons: Record<string, string>;
  created_at: Date;
  revoked_at: Date | null;
}

const COLUMNS = 'name, rights, caps, two_persons, created_at, revoked_at';

const keyOf = ({ name, rights, caps, two_persons, created_at, revoked_at }: KeyRow): OperatorKey => ({
  name,
  rights,
  caps,
  twoPersons: two_persons,
  createdAtMs: created_at.getTime(),
  revokedAtMs: revoked_at?.getTime() ?? null,
});

/** An amount that a key wants to move. */
export interface CappedAmount {
  readonly kind: string;
  readonly reference: string;
  readonly asset: string;
  readonly atoms: bigint;
  /** Maximum atoms of the asset that the key may move in a day. */
  readonly capAtoms: bigint;
}

const BY_DIGEST = prepared(
  `select ${COLUMNS} from public.operator_keys where digest = $1 and revoked_at is null`,
);

/** Locks the sums of the day, in the same order everywhere. */
const LOCK_DAY = `
  insert into public.operator_key_days (key, day, asset)
  select $1, (clock_timestamp() at time zone 'UTC')::date, asset
  from unnest($2::text[]) as asset order by asset
  on conflict (key, day, asset) do update set atoms = operator_key_days.atoms
  returning asset, day::text as day, atoms::text as atoms, xmax = 0 as is_new`;

const JOIN = `
  update public.cap_reservations set holders = holders + 1
  where key = $1 and (kind, reference, asset, atoms) in (
    select * from unnest($2::text[], $3::text[], $4::text[], $5::bigint[]))
  returning kind, reference, asset, atoms`;

const RESERVE = `
  insert into public.cap_reservations (key, kind, reference, asset, atoms, day, holders)
  select $1, kind, reference, asset, atoms, $6::date, 1
  from unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) as new (kind, reference, asset, atoms)`;

const ADD =
  'update public.operator_key_days set atoms = atoms + $4 where key = $1 and day = $2 and asset = $3';

const FORGET = 'delete from public.cap_reservations where key = $1 and day < $2::date - 7';

const KEEP = `
  update public.cap_reservations set is_moved = true
  where key = $1 and (kind, reference, asset, atoms) in (
    select * from unnest($2::text[], $3::text[], $4::text[], $5::bigint[]))`;

const REMOVE = `
  delete from public.cap_reservations
  where key = $1 and (kind, reference, asset, atoms) in (
    select * from unnest($2::text[], $3::text[], $4::text[], $5::bigint[]))`;

/** The last request that waits with an amount gives it back. */
const RELEASE = `
  with asked as (
    select * from unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) as asked (kind, reference, asset, atoms)
  ), left_over as (
    update public.cap_reservations as held set holders = holders - 1 from asked
    where held.key = $1 and (held.kind, held.reference, held.asset, held.atoms)
      = (asked.kind, asked.reference, asked.asset, asked.atoms) and not is_moved
    returning held.*
  )
  select kind, reference, asset, atoms, day::text as day from left_over where holders = 0`;

interface HeldRow {
  kind: string;
  reference: string;
  asset: string;
  atoms: bigint;
}

const nameOf = ({ kind, reference, asset, atoms }: HeldRow): string =>
  JSON.stringify([kind, reference, asset, `${atoms}`]);

const columnsOf = (rows: readonly HeldRow[]): unknown[][] => [
  rows.map(({ kind }) => kind),
  rows.map(({ reference }) => reference),
  rows.map(({ asset }) => asset),
  rows.map(({ atoms }) => atoms),
];

export type KeyRegister = ReturnType<typeof keyRegister>;

/** The register of keys. Methods throw `Refusal` SERVICE_UNAVAILABLE when Postgres is unavailable. */
export function keyRegister({ public: pool }: Pick<Pools, 'public'>) {
  return {
    /** Returns false if the name was ever used. */
    async add(
      key: Pick<OperatorKey, 'name' | 'rights' | 'caps' | 'twoPersons'> & { readonly digest: Buffer },
    ): Promise<boolean> {
      const added = await askOnce(
        pool,
        'insert into public.operator_keys (name, digest, rights, caps, two_persons) values ($1, $2, $3, $4, $5) on conflict do nothing returning name',
        [key.name, key.digest, key.rights, key.caps, key.twoPersons],
      );
      return added.length > 0;
    },

    /** Returns all keys, also revoked ones. */
    async all(): Promise<OperatorKey[]> {
      return (await askOnce<KeyRow>(pool, `select ${COLUMNS} from public.operator_keys order by name`)).map(
        keyOf,
      );
    },

    /** Returns the key as it is now, or undefined if there is none of this name. */
    async revoke(name: string): Promise<OperatorKey | undefined> {
      const rows = await askOnce<KeyRow>(
        pool,
        `update public.operator_keys set revoked_at = coalesce(revoked_at, clock_timestamp()) where name = $1 returning ${COLUMNS}`,
        [name],
      );
      return rows.map(keyOf)[0];
    },

    /** Returns the key that has the digest and is in force. Each call asks Postgres, so a revoked key ends at once. */
    async find(digest: Buffer): Promise<OperatorKey | undefined> {
      return (await askOnce<KeyRow>(pool, BY_DIGEST, [digest])).map(keyOf)[0];
    },
  };
}

const inOrder = (amounts: readonly CappedAmount[]): HeldRow[] =>
  amounts.map(({ reference, ...amount }) => ({ ...amount, reference: storable(reference) }));
/** The sums of the day are locked first by everybody, so no two transactions wait for each other. */
const lockDays = (ask: Ask, key: string, rows: readonly HeldRow[]) =>
  ask<{ asset: string; day: string; atoms: string; is_new: boolean }>(LOCK_DAY, [
    key,
    [...new Set(rows.map(({ asset }) => asset))],
  ]);

export type CapRegister = ReturnType<typeof capRegister>;

/** Amounts that keys with caps move. Methods throw `Refusal` SERVICE_UNAVAILABLE when Postgres is unavailable. */
export function capRegister({ public: pool }: Pick<Pools, 'public'>) {
  // Transactions of a key lock the same row.
  const line = inLine('too many movements wait for the caps of keys');
  const transact = <T>(work: (ask: Ask) => Promise<T>): Promise<T> =>
    line(() => inTransaction(pool, 'begin', work));
  return {
    /**
     * Reserves amounts, one after the other, as far as the caps of the day allow. An amount that is reserved already
     * under its reference is not counted again.
     * @returns for each amount, if it may be moved
     */
    reserve(key: string, amounts: readonly CappedAmount[]): Promise<boolean[]> {
      const wanted = inOrder(amounts);
      return transact(async (ask) => {
        const days = await lockDays(ask, key, wanted);
        const [day] = days.map((one) => one.day);
        const moved = new Map(days.map(({ asset, atoms }) => [asset, BigInt(atoms)]));
        const joined = await ask<HeldRow>(JOIN, [key, ...columnsOf(wanted)]);
        const allowed = new Set(joined.map(nameOf));
        const fresh: HeldRow[] = [];
        const may = wanted.map((row, at) => {
          const name = nameOf(row);
          if (allowed.has(name)) return true;
          const sum = moved.get(row.asset)! + row.atoms;
          if (sum > amounts[at]!.capAtoms) return false;
          moved.set(row.asset, sum);
          allowed.add(name);
          fresh.push(row);
          return true;
        });
        if (fresh.length > 0) {
          await ask(RESERVE, [key, ...columnsOf(fresh), day]);
          for (const asset of new Set(fresh.map((row) => row.asset))) {
            const added = fresh
              .filter((row) => row.asset === asset)
              .reduce((sum, row) => sum + row.atoms, 0n);
            await ask(ADD, [key, day, asset, `${added}`]);
          }
          if (days.some(({ is_new }) => is_new)) await ask(FORGET, [key, day]);
        }
        return may;
      });
    },

    /** Records that reserved amounts were moved: they count for their day, and are not counted again. */
    async keep(key: string, amounts: readonly CappedAmount[]): Promise<void> {
      if (amounts.length > 0) await askOnce(pool, KEEP, [key, ...columnsOf(inOrder(amounts))]);
    },

    /** Gives back reserved amounts that were surely not moved by this request. */
    async release(key: string, amounts: readonly CappedAmount[]): Promise<void> {
      if (amounts.length === 0) return;
      const rows = inOrder(amounts);
      await transact(async (ask) => {
        await lockDays(ask, key, rows);
        const ended = await ask<HeldRow & { day: string }>(RELEASE, [key, ...columnsOf(rows)]);
        for (const { asset, atoms, day } of ended) await ask(ADD, [key, day, asset, `${-atoms}`]);
        if (ended.length > 0) await ask(REMOVE, [key, ...columnsOf(ended)]);
      });
    },
  };
}
