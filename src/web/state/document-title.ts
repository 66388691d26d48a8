/**
 * The title of the document: the number of unseen fills, a price alert, and the last price, which comes early because a
 * tab is narrow. A hidden page closes its stream, so its title has no last price.
 */

import { effect } from '@preact/signals';
import { visible } from './clock.ts';
import { frame, streamState } from './market-feed.ts';
import { unseenAlert } from './price-alerts.ts';
import { selectedTicker, symbolOf } from './selected-market.ts';
import { unseenFills } from './tell.ts';

const NAME = 'Redbook';

/** Keeps the title in step with the selected market and its last price. */
export function startDocumentTitle(): void {
  effect(() => {
    const symbol = selectedTicker.value === null ? null : symbolOf(selectedTicker.value);
    const isFresh = visible.value && streamState.value !== 'offline';
    const lastPrice = isFresh ? frame.value?.trades[0]?.price : null;
    const count = unseenFills.value === 0 ? '' : `(${unseenFills.value}) `;
    document.title =
      count + [unseenAlert.value, lastPrice, symbol, NAME].filter((part) => part != null).join(' · ');
  });
}
