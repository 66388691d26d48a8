/** How old the data on the screen is, in words and by a coloured dot. Neither is read aloud by itself. */

import { ageWords } from '../figures/age.ts';
import { feedState, frameAgeMs } from '../state/market-feed.ts';

/** The state and the age, on the book itself. The top bar tells when the page connects again. */
export function FeedState() {
  const state = feedState.value;
  return (
    <p class="feed-state" data-state={state}>
      <span class="feed-word">{state}</span> <span>{ageWords(state, frameAgeMs.value, null)}</span>
    </p>
  );
}
