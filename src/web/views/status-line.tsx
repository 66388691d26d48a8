/** Speaks announcements. Both regions stand in the document from the start, as screen readers need. */

import { announcement } from '../state/announcements.ts';

export function StatusLine() {
  const current = announcement.value;
  return (
    <div class="status-line">
      <p role="status">{current?.kind === 'status' ? current.text : ''}</p>
      <p role="alert">{current?.kind === 'alert' ? current.text : ''}</p>
    </div>
  );
}
