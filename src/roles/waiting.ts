/** Waits at start-up for unavailable servers, without a limit. `Outages` reports them. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger } from '../ledger/index.ts';
import { OF_MIGRATIONS, type Outages } from './outages.ts';
import type { ServerNames } from './server-names.ts';

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
/**
 * Interval of checks of the engine's format. It is short, so that an operator who has rebuilt the engine need not wait
 * long.
 */
const FORMAT_PAUSE_MS = 500;

/** Retries `attempt` until it succeeds, with growing pauses. */
export async function untilDone<T>(
  attempt: () => Promise<T>,
  onFailure: (error: unknown) => void = () => undefined,
  maxPauseMs = MAX_PAUSE_MS,
): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      return await attempt();
    } catch (error) {
      onFailure(error);
      await sleep(pauseMs);
    }
  }
}

/**
 * Waits until Postgres answers and is prepared for this process. It does not migrate while the engine has another
 * format, because the release of that format settles into the tables that it knows. The gate reports the reason.
 * @param parts.checkFormat throws while the engine has another format; if absent, no engine is checked
 */
export async function untilMigrated(parts: {
  readonly checkFormat?: () => Promise<void>;
  readonly ledger: Pick<Ledger, 'ping'>;
  /** Migrates, and checks the rights of the process. */
  readonly prepare: () => Promise<void>;
  readonly outages: Outages;
  readonly names: Pick<ServerNames, 'postgres'>;
}): Promise<void> {
  const { checkFormat = async () => undefined, ledger, outages, prepare } = parts;
  const { postgres } = parts.names;
  const untilAnswered = async (work: () => Promise<void>): Promise<void> => {
    const report = (error: unknown): void => outages.report(postgres, OF_MIGRATIONS, error);
    await untilDone(async () => {
      const answered = outages.expect(postgres, OF_MIGRATIONS);
      await ledger.ping();
      answered();
      await work();
    }, report);
    outages.clear(postgres, OF_MIGRATIONS);
  };
  await untilAnswered(async () => undefined);
  await untilDone(checkFormat, undefined, FORMAT_PAUSE_MS);
  await untilAnswered(prepare);
}
