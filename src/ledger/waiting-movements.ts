/** The register of movements that a key asked for and another key has to approve. */

import { WAITING_MOVEMENTS } from '../domain/bounds.ts';
import type { AccountMoved, MovementKind, MovementSide } from '../domain/event.ts';
import type { Pools } from './pools.ts';
import { type Ask, askOnce, inTransaction } from './queries.ts';
import { storable } from './text.ts';
import { beginningOf, type Direction, follows, inDirection } from './walk.ts';

/** A movement that waits, or was decided. */
export interface WaitingMovement {
  /** Place in the list, new with each request for the reference. */
  readonly number: number;
  readonly side: MovementSide;
  readonly movement: AccountMoved;
  /** Decimals of the asset that its atoms were made with. */
  readonly scale: number;
  /** Key that asked for it. */
  readonly key: string;
  readonly reason: string;
  readonly state: 'waiting' | 'approved' | 'refused';
  readonly askedAtMs: number;
  readonly expiresAtMs: number;
  readonly isExpired: boolean;
}

interface WaitingRow {
  number: bigint;
  side: MovementSide;
  reference: string;
  kind: MovementKind;
  wallet: string;
  asset: string;
  amount_atoms: bigint;
  scale: number;
  reverses: string | null;
  key: string;
  reason: string;
  state: WaitingMovement['state'];
  asked_at: Date;
  expires_at: Date;
  is_expired: boolean;
}

const COLUMNS =
  'number, side, reference, kind, wallet, asset, amount_atoms, scale, reverses, key, reason, state, asked_at, expires_at, expires_at <= clock_timestamp() as is_expired';

/**
 * A new request takes the place of one of its reference that waited, or was approved, for too long, and of a refused one
 * that would have moved something else.
 */
const ADD = `
  insert into public.waiting_movements (side, reference, kind, wallet, asset, amount_atoms, reverses, key, reason, scale, state, expires_at)
  select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'waiting', clock_timestamp() + interval '1 day'
  where (select count(*) from public.waiting_movements where key = $8 and state = 'waiting') < ${WAITING_MOVEMENTS}
  on conflict (side, reference) do update set (number, kind, wallet, asset, amount_atoms, reverses, key, reason, scale, state, asked_at, expires_at)
    = (excluded.number, excluded.kind, excluded.wallet, excluded.asset, excluded.amount_atoms, excluded.reverses, excluded.key, excluded.reason,
      excluded.scale, excluded.state, excluded.asked_at, excluded.expires_at)
  where case waiting_movements.state
    when 'refused' then (waiting_movements.wallet, waiting_movements.asset, waiting_movements.amount_atoms, waiting_movements.reverses)
      is distinct from (excluded.wallet, excluded.asset, excluded.amount_atoms, excluded.reverses)
    else waiting_movements.expires_at <= clock_timestamp() end`;

const FORGET = `delete from public.waiting_movements where key = $1 and state <> 'refused' and expires_at <= clock_timestamp()`;

const FIND = `select ${COLUMNS} from public.waiting_movements where side = $1 and reference = $2`;

const listIn = (direction: Direction): string => `
  select ${COLUMNS} from public.waiting_movements where state = 'waiting' and expires_at > clock_timestamp()
    and ${follows(direction, 'number', '$1')} ${inDirection(direction, 'number')} limit $2`;

const waitingOf = ({ side, reference, kind, wallet, asset, ...row }: WaitingRow): WaitingMovement => ({
  number: Number(row.number),
  side,
  movement: {
    kind,
    wallet,
    asset,
    amountAtoms: row.amount_atoms,
    reference,
    ...(row.reverses !== null && { reverses: row.reverses }),
  },
  scale: row.scale,
  key: row.key,
  reason: row.reason,
  state: row.state,
  askedAtMs: row.asked_at.getTime(),
  expiresAtMs: row.expires_at.getTime(),
  isExpired: row.is_expired,
});

const sideOf = (kind: MovementKind): MovementSide => (kind === 'credited' ? 'deposit' : 'withdrawal');

async function find(ask: Ask, sql: string, side: MovementSide, reference: string) {
  const [row] = await ask<WaitingRow>(sql, [side, storable(reference)]);
  return row === undefined ? undefined : waitingOf({ ...row, reference });
}

export type WaitingRegister = ReturnType<typeof waitingRegister>;

/** Methods throw `Refusal` SERVICE_UNAVAILABLE when Postgres is unavailable. */
export function waitingRegister({ public: pool, deciding }: Pick<Pools, 'public' | 'deciding'>) {
  return {
    /**
     * Keeps a movement that a key asks for, for a day.
     * @returns the one that is kept under the reference; undefined if too many of the key wait
     */
    ask(
      key: string,
      movement: AccountMoved,
      scale: number,
      reason: string,
    ): Promise<WaitingMovement | undefined> {
      const { kind, wallet, asset, amountAtoms, reference, reverses } = movement;
      const side = sideOf(kind);
      const other = reverses === undefined ? null : storable(reverses);
      const asked = [kind, wallet, asset, amountAtoms, other, key, storable(reason), scale];
      return inTransaction(pool, 'begin', async (ask) => {
        await ask(FORGET, [key]);
        await ask(ADD, [side, storable(reference), ...asked]);
        return find(ask, FIND, side, reference);
      });
    },

    /** Returns those that wait, after a number. */
    async list(
      limit: number,
      direction: Direction = 'asc',
      after = beginningOf(direction),
    ): Promise<WaitingMovement[]> {
      return (await askOnce<WaitingRow>(pool, listIn(direction), [after, limit])).map(waitingOf);
    },

    /**
     * Decides a movement, which nobody else decides meanwhile.
     * @param decide notes the act of the decision; its result is the new state
     */
    decide(
      side: MovementSide,
      reference: string,
      decide: (found: WaitingMovement | undefined) => Promise<WaitingMovement['state']>,
    ): Promise<void> {
      return inTransaction(deciding, 'begin', async (ask) => {
        const found = await find(ask, `${FIND} for update`, side, reference);
        const state = await decide(found);
        if (state !== found?.state)
          await ask('update public.waiting_movements set state = $3 where side = $1 and reference = $2', [
            side,
            storable(reference),
            state,
          ]);
      });
    },
  };
}
