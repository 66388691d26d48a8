/** State that the invariants check while no request is under way. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Reply } from '../../../support/http-exchange.ts';
import type { Cluster } from '../cluster.ts';
import type { Driver } from '../driver.ts';
import type { Model } from '../model.ts';
import type { Outbox } from '../outbox.ts';
import type { Screens } from '../screens.ts';

export interface Rest {
  /** When all was settled, by `performance.now()`. */
  readonly sinceMs: number;
  readonly cluster: Cluster;
  readonly driver: Driver;
  readonly model: Model;
  readonly outbox: Outbox;
  readonly screens: Screens;
  /** Terminal orders of the last rest: id and what must not change of them. */
  readonly ended: Map<string, string>;
}

/** A minute forgets every request. */
const MAX_WAITS = 70;

/** Reads a path of market data. Waits while the requests of the load use the wallet's limit up. */
export async function readCounted(
  driver: Driver,
  wallet: Driver['wallets'][number],
  path: string,
  port?: number,
): Promise<Reply | undefined> {
  let reply = await driver.read(wallet, path, port);
  for (let waits = 0; reply?.status === 429 && waits < MAX_WAITS; waits += 1) {
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
