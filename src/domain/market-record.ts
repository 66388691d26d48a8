/** A market's record as JSON, with its integers as text. */

import type { Market } from './market.ts';

/** Maximum characters of a bad record in an error message: enough to tell which market it is. */
const SHOWN_CHARACTERS = 200;

export const writeMarketRecord = (market: Market): string =>
  JSON.stringify(market, (_name, value) => (typeof value === 'bigint' ? value.toString() : value));

/** Returns the same text for the same rules, regardless of the order in which a store keeps their fields. */
export const canonicalMarketRecord = (market: Market): string =>
  JSON.stringify(market, (_name, value) => {
    if (typeof value === 'bigint') return value.toString();
    return typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).sort())
      : value;
  });

/** @throws SyntaxError that shows the record when it is not JSON or lacks its integers */
export function readMarketRecord(text: string): Market {
  try {
    const record = JSON.parse(text);
    return {
      ...record,
      baseAtomsPerStep: BigInt(record.baseAtomsPerStep),
      quoteAtomsPerLot: BigInt(record.quoteAtomsPerLot),
    };
  } catch (cause) {
    throw new SyntaxError(`market record ${text.slice(0, SHOWN_CHARACTERS)}: ${(cause as Error).message}`, {
      cause,
    });
  }
}
