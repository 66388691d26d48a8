/** The top of the book as a sentence, for readers who ask for it by a key. */

import { computed } from '@preact/signals';
import { currentMarket, frame, streamState } from './market-feed.ts';

export const marketSummary = computed(() => {
  const [market, book] = [currentMarket.value, frame.value?.book];
  if (market === null || book === undefined) return 'The book is not known yet.';
  const [bid, ask] = [book.bids[0], book.asks[0]];
  const { baseToken: base, quoteToken: quote } = market;
  return (
    `${market.symbol}, ${streamState.value}. ` +
    `${bid === undefined ? 'No bids.' : `Best bid ${bid.price} ${quote} for ${bid.size} ${base}.`} ` +
    `${ask === undefined ? 'No asks.' : `Best ask ${ask.price} ${quote} for ${ask.size} ${base}.`}`
  );
});
