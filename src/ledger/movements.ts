import type pg from 'pg';
import type { AccountMoved } from '../domain/event.ts';
import { askOnce } from './pool.ts';
import { storable } from './text.ts';

/** The deposit or withdrawal that an operator's reference stands for, or null. */
export const movementByReference = async (
  pool: pg.Pool,
  kind: AccountMoved['kind'],
  reference: string,
): Promise<(AccountMoved & { sequence: number }) | null> => {
  const [row] = await askOnce<{ sequence: bigint; wallet: string; asset: string; amount_atoms: bigint }>(
    pool,
    'select sequence, wallet, asset, amount_atoms from movements where kind = $1 and reference = $2',
    [kind, storable(reference)],
  );
  return row
    ? {
        kind,
        wallet: row.wallet,
        asset: row.asset,
        amountAtoms: row.amount_atoms,
        reference,
        sequence: Number(row.sequence),
      }
    : null;
};
