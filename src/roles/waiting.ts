/** Start-up waits for what it depends on, however long that is away. `Outages` tells for what. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger } from '../ledger/index.ts';
import { OF_MIGRATIONS, type Outages } from './outages.ts';
import type { ServerNames } from './server-names.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** Tries `attempt` until it succeeds, with growing pauses. */
export async function untilDone<T>(
  attempt: () => Promise<T>,
  onFailure: (error: unknown) => void = () => undefined,
): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await attempt();
    } catch (error) {
      onFailure(error);
      await sleep(pauseMs);
    }
  }
}

export async function untilTrue(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(FIRST_PAUSE_MS);
}

/** Waits until Postgres answers and has the tables of this release. */
export async function untilMigrated(parts: {
  readonly ledger: Pick<Ledger, 'ping' | 'migrate'>;
  readonly outages: Outages;
  readonly names: Pick<ServerNames, 'postgres'>;
}): Promise<void> {
  const { ledger, outages } = parts;
  const { postgres } = parts.names;
  await untilDone(
    async () => {
      const answered = outages.expect(postgres, OF_MIGRATIONS);
      await ledger.ping();
      answered();
      await ledger.migrate();
    },
    (error) => outages.report(postgres, OF_MIGRATIONS, error),
  );
  outages.clear(postgres, OF_MIGRATIONS);
}
