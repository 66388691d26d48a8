/** Says why orders are refused: the service is paused, or the market is not open. */

import type { Market } from '../../client/index.ts';
import { currentMarket } from '../state/market-feed.ts';
import { serviceStatus } from '../state/service-status.ts';

function reasonOf(market: Market | null, paused: boolean): string | null {
  if (paused)
    return 'Trading is paused. You can cancel orders; new orders are refused until trading resumes.';
  if (market === null) return null;
  const { symbol, status, tradingEnabled } = market;
  if (status === 'delisted') return `${symbol} is delisted. New orders are refused.`;
  if (status === 'halted' || !tradingEnabled) {
    return `${symbol} is halted. You can cancel orders; new orders are refused until the market opens again.`;
  }
  if (status === 'pre_open') {
    return `${symbol} has not opened yet. The market accepts only limit orders (GTC) that do not cross the book.`;
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
