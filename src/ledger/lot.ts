/** Reads and writes the values of a step and a tick as of an order. A market may change; its orders and trades do not. */

import type { Lot } from '../domain/order.ts';
import { FIELDS } from '../order/fields.ts';
import { textField } from './copy.ts';

export const LOT_COLUMNS = FIELDS.lot.column;

export interface LotRow {
  base: string;
  quote: string;
  base_atoms_per_step: bigint;
  quote_atoms_per_lot: bigint;
}

export const lotOf = (row: LotRow): Lot => ({
  base: row.base,
  quote: row.quote,
  baseAtomsPerStep: row.base_atoms_per_step,
  quoteAtomsPerLot: row.quote_atoms_per_lot,
});

/** Fields by lot, cached because the orders of a market share their lot. */
const lotFields = new WeakMap<Lot, string>();

/** The fields of a row for `LOT_COLUMNS`, in COPY's text format. */
export function fieldsOfLot(lot: Lot): string {
  const known = lotFields.get(lot);
  if (known !== undefined) return known;
  const { base, quote, baseAtomsPerStep, quoteAtomsPerLot } = lot;
  const fields = `${textField(base)}\t${textField(quote)}\t${baseAtomsPerStep}\t${quoteAtomsPerLot}`;
  lotFields.set(lot, fields);
  return fields;
}
