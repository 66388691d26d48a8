/** Reads and writes the values of a step and a tick as of an order. A market may change; its orders and trades do not. */

import type { MarketUnits } from '../domain/order.ts';
import { FIELDS } from '../order/fields.ts';
import { textField } from './copy.ts';

export const UNIT_COLUMNS = FIELDS.units.column;

export interface MarketUnitsRow {
  base: string;
  quote: string;
  base_atoms_per_step: bigint;
  quote_atoms_per_lot: bigint;
}

export const marketUnits = (row: MarketUnitsRow): MarketUnits => ({
  base: row.base,
  quote: row.quote,
  baseAtomsPerStep: row.base_atoms_per_step,
  quoteAtomsPerLot: row.quote_atoms_per_lot,
});

/** Cached because the orders of a market share their units. */
const fieldsByUnits = new WeakMap<MarketUnits, string>();

/** The fields of a row for `UNIT_COLUMNS`, in COPY's text format. */
export function unitFields(units: MarketUnits): string {
  const known = fieldsByUnits.get(units);
  if (known !== undefined) return known;
  const { base, quote, baseAtomsPerStep, quoteAtomsPerLot } = units;
  const fields = `${textField(base)}\t${textField(quote)}\t${baseAtomsPerStep}\t${quoteAtomsPerLot}`;
  fieldsByUnits.set(units, fields);
  return fields;
}
