/** The two servers that hold the books. */

import type { Engine } from '../engine/index.ts';
import type { Ledger } from '../ledger/index.ts';

export interface Servers {
  readonly engine: Engine;
  readonly ledger: Ledger;
}
