/** The field `state` of the engine hash. Every event changes it; `lua/include/engine_state.lua` reads and writes it. */

import { layout, type RecordOf, u8, u16, u48, u56 } from '../redis/layout.ts';

/**
 * Version of the layout of the engine's keys. Releases of one format run side by side; an engine of another format is
 * rebuilt.
 */
export const ENGINE_FORMAT = 3;

export const STATE = layout(
  {
    epoch: u16,
    sequence: u48,
    /** Unix milliseconds of the last event. */
    time: u48,
    /** The last trade id given out. */
    trade: u56,
    /** Index of the key of `unsettled` that is written now: 0 or 1. */
    unsettled: u8,
    /** Index of the key of `claims` that is written now: 0 or 1. */
    claims: u8,
  },
  'STATE',
);

/** The last epoch: stamps of later ones would begin like the end of a prefix (`lua/include/prefix_range.lua`). */
export const MAX_EPOCH = 65_279;

export type State = RecordOf<typeof STATE>;

export const STATE_BYTES = 23;
const NEVER_OPENED: State = { epoch: 0, sequence: 0, time: 0, trade: 0, unsettled: 0, claims: 0 };

/** @param found null: the engine was never opened */
export const readState = (found: Buffer | null | undefined): State =>
  found?.length === STATE_BYTES ? STATE.unpack(found) : NEVER_OPENED;

/** Field of the engine hash that names the rules of a market in force. */
export const rulesField = (marketNumber: number): string => `rules:${marketNumber}`;

/** Text that names the rules of a market, in that field and in calls. */
export const rulesText = ({
  version,
  symbol,
}: {
  readonly version: number;
  readonly symbol: string;
}): string => `${version} ${symbol}`;
