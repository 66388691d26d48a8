/** Shows the age of the data in words and by a coloured dot. Screen readers do not read either by themselves. */

import { ageWords } from '../figures/age.ts';
import { frameAgeMs, streamState } from '../state/market-feed.ts';

/** The state and the age, on the book itself. The top bar tells when the page connects again. */
export function FeedState() {
  const state = streamState.value;
  return (
    <p class="feed-state" data-state={state}>
      <span class="feed-word">{state}</span> <span>{ageWords(state, frameAgeMs.value, null)}</span>
    </p>
  );
}
