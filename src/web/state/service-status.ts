/** The state of the service: pause, required terms and the last reconcile. */

import { type Signal, signal } from '@preact/signals';
import { getStatus, type Status } from '../../client/index.ts';
import { connection } from './connection.ts';
import { pollWhileVisible } from './polling.ts';

/** Latest answer of `GET /v1/status`; null before the first. */
export const serviceStatus: Signal<Status | null> = signal(null);

const PAUSE_MS = 10_000;

/** Reads the status for as long as the page is open. */
export function startServiceStatus(): void {
  pollWhileVisible(PAUSE_MS, async () => {
    serviceStatus.value = await getStatus(connection);
  });
}
