/** Events: each number once, the same content on both sides, and a row for each order and movement. */

import { engineSequence } from '../cluster.ts';
import { type Rest, told } from './rest.ts';

export async function eventsAreWhole({ cluster, outbox }: Rest): Promise<string[]> {
  await outbox.read();
  const found: string[] = [];
  const [cursor] = await cluster.sql<{ sequence: string; digest: string | null }>(
    'select sequence, digest from engine_cursor',
  );
  const sequence = Number(cursor!.sequence);
  const inEngine = await engineSequence(cluster.redis);
  if (inEngine !== sequence) found.push(`the engine is at event ${inEngine}, Postgres at ${sequence}`);
  const tailed = outbox.events.get(sequence);
  if (tailed !== undefined && tailed.digest !== cursor!.digest)
    found.push(`event ${sequence} is not the one that Postgres has`);
  const first = outbox.first();
  if (first === undefined) return found;
  if (outbox.last() !== inEngine)
    found.push(`the stream ends at event ${outbox.last()}, the engine is at event ${inEngine}`);
  const [rows] = await cluster.sql<{ orders: string; movements: string }>(
    `select (select count(*) from orders where sequence >= $1) as orders,
       (select count(*) from movements where sequence >= $1) as movements`,
    [first],
  );
  const counts = outbox.counts();
  if (Number(rows!.orders) !== counts.orders)
    found.push(`the stream had ${counts.orders} placed orders, the ledger has ${rows!.orders}`);
  if (Number(rows!.movements) !== counts.movements)
    found.push(`the stream had ${counts.movements} movements, the ledger has ${rows!.movements}`);
  return told(found);
}
