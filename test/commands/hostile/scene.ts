/** A run works on this: the cluster, the clients on it, and where findings go. */

import type { Findings } from './findings.ts';
import type { Judge } from './judge.ts';
import type { Operation } from './operations.ts';
import type { Secrets } from './secrets.ts';
import type { Target } from './target.ts';
import type { SignedIn, World } from './world.ts';

export interface Scene {
  readonly seed: number;
  readonly target: Target;
  /** Ports of the API replicas, of the stream replicas, and of every process. */
  readonly api: readonly number[];
  readonly streams: readonly number[];
  readonly everyPort: readonly number[];
  readonly operations: readonly Operation[];
  /** All wallets with a session. Hostile requests have those of `world` only. */
  readonly clients: readonly SignedIn[];
  readonly world: World;
  readonly judge: Judge;
  readonly findings: Findings;
  readonly secrets: Secrets;
}
