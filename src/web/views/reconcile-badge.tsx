/** Shows when the service last compared its books, and how many differences it found. */

import { serviceStatus } from '../state/service-status.ts';

const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' });
const dateAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

/** Formats a time; a time of another day includes its date. */
function timeWords(at: Date): string {
  return at.toDateString() === new Date().toDateString() ? timeOfDay.format(at) : dateAndTime.format(at);
}

export function ReconcileBadge() {
  const reconcile = serviceStatus.value?.reconcile;
  if (reconcile == null) return null;
  const { at, checks, differences, event } = reconcile;
  const found = differences === 1 ? '1 difference' : `${differences} differences`;
  return (
    <p
      class="badge"
      data-state={differences === 0 ? 'good' : 'bad'}
      title={`The ledger was reconciled with the engine up to event ${event} by ${checks} checks.`}
    >
      Reconciled <time dateTime={at}>{timeWords(new Date(at))}</time>, {found}
    </p>
  );
}
