/** State that the invariants check while no request is under way. */

import type { Cluster } from '../cluster.ts';
import type { Driver } from '../driver.ts';
import type { Model } from '../model.ts';
import type { Outbox } from '../outbox.ts';

export interface Rest {
  readonly cluster: Cluster;
  readonly driver: Driver;
  readonly model: Model;
  readonly outbox: Outbox;
  /** Terminal orders of the last rest: id and what must not change of them. */
  readonly ended: Map<string, string>;
}

/** Only the first few are told: a broken book breaks everything in it. */
const MOST_TOLD = 5;

export function told(what: readonly string[]): string[] {
  const more = what.length - MOST_TOLD;
  return [...what.slice(0, MOST_TOLD), ...(more > 0 ? [`and ${more} more`] : [])];
}
