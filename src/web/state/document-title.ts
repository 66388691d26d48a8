/** The title of the document. The last price comes first, because a tab is narrow. */

import { effect } from '@preact/signals';
import { frame } from './market-feed.ts';
import { selectedTicker, symbolOf } from './selected-market.ts';

const NAME = 'Redbook';

/** Keeps the title in step with the selected market and its last price. */
export function startDocumentTitle(): void {
  effect(() => {
    const symbol = selectedTicker.value === null ? null : symbolOf(selectedTicker.value);
    const lastPrice = frame.value?.trades[0]?.price;
    document.title = [lastPrice, symbol, NAME].filter((part) => part != null).join(' · ');
  });
}
