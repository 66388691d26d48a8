/** Shows the cost and the effect of the order in the form, as the book stands. Its height is the same at all times. */

import { EMPTY_FIGURES } from '../figures/order-words.ts';
import { frameAgeMs, streamState } from '../state/market-feed.ts';
import { shown, shownWithin } from '../state/number-style.ts';
import { orderWords } from '../state/order-preview.ts';

interface FiguresProps {
  readonly figures: readonly {
    readonly term: string;
    readonly value: string;
    readonly isShort?: boolean;
  }[];
}

function Figures({ figures }: FiguresProps) {
  return (
    <dl class="figures">
      {figures.map(({ term, value, isShort }) => (
        <div key={term} class="figure">
          <dt>{shownWithin(term)}</dt>
          <dd class={isShort === true ? 'down' : undefined}>{shown(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

export function OrderPreview() {
  const words = orderWords.value;
  return (
    <div class="preview">
      <Figures figures={words?.figures ?? EMPTY_FIGURES} />
      <details class="preview-details">
        <summary>Details</summary>
        {words === null ? (
          <p class="muted">Type an order to see what it would do before you send it.</p>
        ) : (
          <>
            <Figures figures={words.details} />
            <ul class="preview-notes">
              {words.notes.map((note) => (
                <li key={note}>{note}</li>
              ))}
            </ul>
          </>
        )}
      </details>
      {words !== null && streamState.value !== 'live' && (
        <p class="note warn">
          The book is {streamState.value}
          {frameAgeMs.value === null ? '' : ` (${Math.round(frameAgeMs.value / 1000)} s old)`}: these figures
          may be wrong.
        </p>
      )}
    </div>
  );
}
