/** Writes atoms as decimals of their asset. */

import { DEFAULT_SCALE } from '../domain/market-rules.ts';
import { formatScaled } from '../domain/units.ts';
import type { Ledger } from '../ledger/index.ts';

/** Decimals of the atoms of each asset. */
export type Scales = ReadonlyMap<string, number>;

export const readScales = async ({ state }: Pick<Ledger, 'state'>): Promise<Scales> =>
  new Map((await state.assets()).map(({ symbol, scale }) => [symbol, scale]));

/** An asset without a record has the default scale. */
export const decimalOf = (scales: Scales, asset: string, atoms: bigint): string =>
  formatScaled(atoms, scales.get(asset) ?? DEFAULT_SCALE);

export const isoTime = (timeMs: number): string => new Date(timeMs).toISOString();
