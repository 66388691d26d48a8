/** Divides ledgers into narrow segments. */

import { query } from './tables.ts';

/** Events of a segment, so that a few hundred events fill several. */
export const SEGMENT = 64;

/** Gives new segments of an empty ledger another width, the first ones too. */
export async function divide(databaseUrl: string, events = SEGMENT): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  await query(databaseUrl, `alter database ${name} set redbook.segment_events = ${events}`);
  await query(
    databaseUrl,
    `drop table segments.ended_orders_0, segments.trades_0, segments.chain_links_0, segments.ended_orders_1,
       segments.trades_1, segments.chain_links_1;
     set session_replication_role = replica; delete from segments; select add_segments(0)`,
  );
}
