/** Notes epochs in Postgres, which outlives the engine's Redis, so that no epoch begins on two servers. */

import { Refusal } from '../domain/errors.ts';
import type { BegunEpoch } from '../domain/event.ts';
import { EpochUnnoted } from './failures.ts';

export interface EpochNotes {
  /**
   * Notes that an epoch began.
   * @returns run id of the server on which it began first
   * @throws Refusal SERVICE_UNAVAILABLE
   */
  note(begun: BegunEpoch): Promise<string>;
}

/**
 * Notes an epoch before it opens.
 * @throws EpochUnnoted; Refusal SERVICE_UNAVAILABLE when the epoch began on another server before
 */
export async function noteBegun(notes: EpochNotes | undefined, begun: BegunEpoch): Promise<void> {
  const { epoch, server } = begun;
  const noted = await notes?.note(begun).catch((cause: unknown) => {
    throw new EpochUnnoted('SERVICE_UNAVAILABLE', `epoch ${epoch} waits for its note in Postgres`, { cause });
  });
  if (noted !== undefined && noted !== server)
    throw new Refusal('SERVICE_UNAVAILABLE', `epoch ${epoch} began on another server`);
}

/**
 * Notes the epoch in force if Postgres lacks its note. A failure to note it is tried again later.
 * @param highest the highest epoch that Postgres has noted
 * @returns true if another server has the epoch, or a later one
 */
export async function isNotedElsewhere(
  notes: EpochNotes,
  { epoch, server }: BegunEpoch,
  highest: BegunEpoch | null,
): Promise<boolean> {
  if (highest === null || highest.epoch < epoch)
    return (await notes.note({ epoch, server }).catch(() => server)) !== server;
  return highest.epoch > epoch || highest.server !== server;
}
