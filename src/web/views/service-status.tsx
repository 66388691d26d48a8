/** The state of the service: the banner that says why orders are refused, and the last comparison of its books. */

import type { Market } from '../../client/index.ts';
import { currentMarket } from '../state/market-feed.ts';
import { stopOf } from '../state/markets.ts';
import { serviceStatus } from '../state/service-status.ts';

function reasonOf(market: Market | null, paused: boolean): string | null {
  if (paused)
    return 'Trading is paused. You can cancel orders; new orders are refused until trading resumes.';
  if (market === null) return null;
  const stop = stopOf(market);
  if (stop !== null && market.status === 'delisted') return `${stop} New orders are refused.`;
  if (stop !== null)
    return `${stop} You can cancel orders; new orders are refused until the market opens again.`;
  if (market.status === 'pre_open') {
    return `${market.symbol} has not opened yet. The market accepts only limit orders (GTC) that do not cross the book.`;
  }
  return null;
}

/** The element stays in the document, so that a screen reader notices a change of its text. */
export function Banner() {
  const reason = reasonOf(currentMarket.value, serviceStatus.value?.trading === 'paused');
  return (
    <div class="banner" aria-live="polite">
      {reason !== null && <p class="note warn">{reason}</p>}
    </div>
  );
}

const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' });
const dateAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

/** Formats a time; a time of another day includes its date. */
function timeWords(at: Date): string {
  return at.toDateString() === new Date().toDateString() ? timeOfDay.format(at) : dateAndTime.format(at);
}

/** Shows when the service last compared its books, and how many differences it found. */
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
