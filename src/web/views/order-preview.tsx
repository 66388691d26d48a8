/** Shows the cost and the effect of the order in the form, as the book stands. */

import { frameAgeMs, streamState } from '../state/market-feed.ts';
import { orderWords } from '../state/order-preview.ts';

export function OrderPreview() {
  const words = orderWords.value;
  if (words === null) {
    return <p class="muted preview-empty">Type an order to see its exact cost before you send it.</p>;
  }
  const { figures, notes } = words;
  return (
    <div class="preview">
      <dl class="figures">
        {figures.map(({ term, value }) => (
          <div key={term} class="figure">
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {streamState.value !== 'live' && (
        <p class="note warn">
          The book is {streamState.value}
          {frameAgeMs.value === null ? '' : ` (${Math.round(frameAgeMs.value / 1000)} s old)`}: these figures
          may be wrong.
        </p>
      )}
      <ul class="preview-notes">
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </div>
  );
}
