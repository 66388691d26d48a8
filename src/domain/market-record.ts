/** A market's record as JSON, with its integers as text. */

import type { Market } from './market.ts';

export const writeMarketRecord = (market: Market): string =>
  JSON.stringify(market, (_name, value) => (typeof value === 'bigint' ? value.toString() : value));

/** The same text for the same rules, in whatever order a store keeps their fields. */
export const canonicalMarketRecord = (market: Market): string =>
  JSON.stringify(JSON.parse(writeMarketRecord(market)), (_name, value) =>
    typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).sort()) : value,
  );

export function readMarketRecord(text: string): Market {
  const record = JSON.parse(text);
  return {
    ...record,
    baseAtomsPerStep: BigInt(record.baseAtomsPerStep),
    quoteAtomsPerLot: BigInt(record.quoteAtomsPerLot),
  };
}
