/**
 * Speaks announcements and shows each for a while. Both regions are in the document from the start, as screen readers
 * need.
 */

import { useEffect } from 'preact/hooks';
import { announcement } from '../state/announcements.ts';
import { visible } from '../state/clock.ts';

/** Milliseconds to show a sentence to a reader who sees the page: enough to read it twice. */
const SHOWN_MS = 10_000;

export function StatusLine() {
  const current = announcement.value;
  const isSeen = visible.value;
  useEffect(() => {
    if (current === null || !isSeen) return;
    const timer = setTimeout(() => {
      announcement.value = null;
    }, SHOWN_MS);
    return () => clearTimeout(timer);
  }, [current, isSeen]);
  return (
    <div class="status-line">
      <p role="status">{current?.kind === 'status' ? current.text : ''}</p>
      <p role="alert">{current?.kind === 'alert' ? current.text : ''}</p>
      {current !== null && (
        <button
          type="button"
          class="button quiet small"
          aria-label="Close the message"
          title="Close the message"
          onClick={() => {
            announcement.value = null;
          }}
        >
          ×
        </button>
      )}
    </div>
  );
}
