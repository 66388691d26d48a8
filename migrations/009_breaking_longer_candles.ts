/**
 * Candles of an hour and of a day are kept beside those of a minute, in the same table: every longer timeframe is
 * folded from few rows. They are filled from the minutes, which settlement has kept since there were any.
 *
 * Breaking: an earlier release would take an hour for a minute when it reads, and would keep no hours when it settles.
 * Its settlement fails at its first trade, because the key has another column.
 */

import type { Knex } from 'knex';

/** @param from the timeframe that the candles are folded from */
const fill = (timeframe: string, lengthMs: number, from: string): string => `
insert into candles (market, timeframe, open_ms, open_ticks, high_ticks, low_ticks, close_ticks, volume_steps,
  quote_atoms, first_trade_id, last_trade_id)
select market, '${timeframe}', open_ms - open_ms % ${lengthMs} as start_ms,
  (min(array[open_ms, open_ticks]))[2], max(high_ticks), min(low_ticks), (max(array[open_ms, close_ticks]))[2],
  sum(volume_steps), sum(quote_atoms), min(first_trade_id), max(last_trade_id)
from candles where timeframe = '${from}' group by market, start_ms;
`;

export const up = (knex: Knex) =>
  knex.raw(`
-- Settlement skips its turn while this row is locked.
select from engine_cursor for update;

alter table candles add column timeframe text collate "C" not null default '1m';
alter table candles alter column timeframe drop default;
alter table candles drop constraint candles_pkey, add primary key (market, timeframe, open_ms);
comment on table candles is 'Executions of a market by minute, hour and day; those without any have no row.';
comment on column candles.timeframe is '1m, 1h or 1D';
${fill('1h', 3_600_000, '1m')}
${fill('1D', 86_400_000, '1h')}
`);
