/** Continues the chain over events that a release settled which does not know the chain. */

import { headOfSpan } from './checks/chain.ts';
import type { Ask } from './queries.ts';

const PLACES = `
  select sequence, head, earlier_may_settle as allowed, pg_has_role(relowner, 'member') as mine,
    greatest((select max(sequence) from chain_links), (select min(sequence) from chain_heads)) as chained
  from engine_cursor join pg_class on pg_class.oid = 'engine_cursor'::regclass`;

/** The driver returns large integers as text. */
interface Places {
  readonly sequence: string;
  readonly head: string;
  readonly allowed: boolean;
  /** True for the owner of the tables. */
  readonly mine: boolean;
  /** The last event of the chain. */
  readonly chained: string;
}

/**
 * Ends the permission of such a release to settle, and adds what it settled to the chain. Its settlement waits for the
 * lock of the cursor, and the trigger `refuse_earlier` then refuses it.
 * @param ask in a transaction; changes nothing unless it is the owner's
 */
export async function chainEarlierEvents(ask: Ask): Promise<void> {
  const [found] = await ask<Places>(PLACES);
  if (found?.mine !== true || (!found.allowed && found.sequence === found.chained)) return;
  await ask('select from engine_cursor for update');
  const { sequence, head, chained } = (await ask<Places>(PLACES))[0]!;
  await ask('update engine_cursor set earlier_may_settle = false');
  if (sequence === chained) return;
  const reached = await headOfSpan(ask, head, Number(chained), Number(sequence));
  await ask("insert into chain_links (sequence, links, by_earlier) values ($1, '', true)", [sequence]);
  await ask('update engine_cursor set head = $1', [reached]);
}
