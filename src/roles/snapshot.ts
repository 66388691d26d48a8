/** The role snapshot: builds the frames of the streams. Any number of workers may run; one of them builds each beat. */

import { openPublisher } from '../feed/index.ts';
import { openBeatTimer } from '../queue/index.ts';
import { createSnapshots } from '../workers/snapshot.ts';
import type { Backends } from './backends.ts';
import { queueTrouble } from './outages.ts';
import type { RunningRole } from './running-role.ts';

export async function startSnapshot(backends: Backends): Promise<RunningRole> {
  const { logger, metrics, engine, ledger, marketData, queueRedis, queueOptions } = backends;
  await backends.migrated();
  const publisher = openPublisher({ redis: queueRedis, subscriber: backends.openSubscriber('wanted') });
  const snapshots = createSnapshots({ engine, ledger, marketData, publisher, log: logger });
  const beatTimer = openBeatTimer({
    connection: queueOptions,
    beat: () => snapshots.beat(),
    tell: queueTrouble(backends, 'snapshot jobs'),
    tellBeat: queueTrouble(backends, 'beats'),
  });
  metrics.gauge('redbook_snapshot_age_seconds', 'Age of the newest frames, whoever built them.', async () => {
    const ageMs = await publisher.ageMs();
    return ageMs === null ? {} : ageMs / 1_000;
  });
  metrics.gauge(
    'redbook_snapshot_build_seconds',
    'Time that this process took for its last beat.',
    async () => snapshots.buildMs() / 1_000,
  );
  return {
    async stop() {
      await beatTimer.close();
      publisher.close();
    },
  };
}
