/** The field `state` of the engine hash: what every event changes. `lua/include/engine_state.lua` reads and writes it too. */

import { layout, type RecordOf, u8, u16, u48, u56 } from '../scripts/layout.ts';

/** The layout of the engine's keys. Releases of one format run side by side; an engine of another is rebuilt. */
export const ENGINE_FORMAT = 2;

/**
 * Releases of format 1 read this field as the sequence of the last event: they find themselves behind Postgres, and do
 * not open.
 */
export const FORMAT_1_SEQUENCE = { field: 'sequence', value: '-1' } as const;

export const STATE = layout({
  epoch: u16,
  /** Of the last event. */
  sequence: u48,
  /** Unix milliseconds of the last event. */
  time: u48,
  /** The last trade id given out. */
  trade: u56,
  /** Which of the two keys `unsettled`, and `claims`, is written now. */
  unsettled: u8,
  claims: u8,
});

export type State = RecordOf<typeof STATE>;

export const STATE_BYTES = 23;
const NEVER_OPENED: State = { epoch: 0, sequence: 0, time: 0, trade: 0, unsettled: 0, claims: 0 };

/** @param found null: the engine was never opened */
export const readState = (found: Buffer | null | undefined): State =>
  found?.length === STATE_BYTES ? STATE.unpack(found) : NEVER_OPENED;

/** Field of the rules in force of a market. */
export const rulesField = (marketNumber: number): string => `rules:${marketNumber}`;

/** The rules of a market, as that field and calls name them. */
export const rulesText = ({
  version,
  symbol,
}: {
  readonly version: number;
  readonly symbol: string;
}): string => `${version} ${symbol}`;
