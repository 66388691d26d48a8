/** The line that screen readers speak: results of the reader's own actions, and nothing that changes by itself. */

import { signal } from '@preact/signals';

interface Announcement {
  readonly text: string;
  /** An alert interrupts the screen reader; a status waits. */
  readonly kind: 'status' | 'alert';
}

export const announcement = signal<Announcement | null>(null);

export function announce(text: string, kind: Announcement['kind'] = 'status'): void {
  announcement.value = { text, kind };
}
