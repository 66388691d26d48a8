/**
 * State that the invariants check while no request is under way, and its events: each number once, the same content on
 * both sides, and a row for each order and movement.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Reply } from '../../../support/http-exchange.ts';
import { type Cluster, engineSequence } from '../cluster.ts';
import type { Custody } from '../custody.ts';
import type { Driver } from '../driver.ts';
import type { Followers } from '../followers.ts';
import type { Model } from '../model.ts';
import type { Outbox } from '../outbox.ts';
import type { Screens } from '../screens.ts';
import type { ShownIds } from '../shown.ts';

export interface Rest {
  /** When all was settled, by `performance.now()`. */
  readonly sinceMs: number;
  readonly cluster: Cluster;
  readonly driver: Driver;
  readonly model: Model;
  readonly outbox: Outbox;
  readonly screens: Screens;
  readonly shownIds: ShownIds;
  readonly followers: Followers;
  /** Undefined in a cluster without an operator-api. */
  readonly custody: Custody | undefined;
  /** Terminal orders of the last rest: id and what must not change of them. */
  readonly ended: Map<string, string>;
}

/** A minute forgets every request. */
const MAX_WAITS = 70;

/** A read that got one of these, or no reply, proves nothing: the limit is used up, or the service still heals. */
const WAITED_FOR: ReadonlySet<number | undefined> = new Set([undefined, 429, 503]);

/** Reads a path of market data. Repeats the read while the limit of the load or a fault that heals refuses it. */
export async function readCounted(
  driver: Driver,
  wallet: Driver['wallets'][number],
  path: string,
  port?: number,
): Promise<Reply | undefined> {
  let reply = await driver.read(wallet, path, port);
  for (let waits = 0; WAITED_FOR.has(reply?.status) && waits < MAX_WAITS; waits += 1) {
    await sleep(1_000);
    reply = await driver.read(wallet, path, port);
  }
  return reply;
}

/** Only the first few are told: a broken book breaks everything in it. */
const MAX_TOLD = 5;

export function told(what: readonly string[]): string[] {
  const more = what.length - MAX_TOLD;
  return [...what.slice(0, MAX_TOLD), ...(more > 0 ? [`and ${more} more`] : [])];
}

/** Whatever a list, a reply or a frame showed since the last rest is in the ledger. */
export async function nothingShownIsGone({ cluster, shownIds }: Rest): Promise<string[]> {
  const found: string[] = [];
  for (const [name, shown, table, column] of [
    ['order', shownIds.orders, 'orders', 'id'],
    ['execution', shownIds.trades, 'trades', 'trade_id'],
  ] as const) {
    const gone = await cluster.sql<{ id: string }>(
      `select id from unnest($1::text[]) as shown (id)
       where not exists (select from ${table} where ${table}.${column}::text = shown.id)`,
      [[...shown]],
    );
    found.push(...gone.map(({ id }) => `${name} ${id} was shown and is nowhere`));
  }
  shownIds.clear();
  return told(found);
}

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
