/** A market's record as JSON, with its integers as text. */

import type { Market } from './market.ts';

export const writeMarketRecord = (market: Market): string =>
  JSON.stringify(market, (_name, value) => (typeof value === 'bigint' ? value.toString() : value));

export function readMarketRecord(text: string): Market {
  const record = JSON.parse(text);
  return {
    ...record,
    baseAtomsPerStep: BigInt(record.baseAtomsPerStep),
    quoteAtomsPerLot: BigInt(record.quoteAtomsPerLot),
  };
}
