/** Lists the orders that were sent, newest first, with their outcomes. */

import { dismiss, submissions } from '../state/submissions.ts';

export function Submissions() {
  if (submissions.value.length === 0) return null;
  return (
    <ul class="submissions" aria-label="Orders you sent">
      {submissions.value.map(({ key, words, stage, text, open }) => (
        <li key={key} class={stage}>
          <p>
            {words} <strong>{text}</strong>
          </p>
          {open !== null && (
            <>
              <button type="button" class="button small" onClick={() => void open.sendAgain()}>
                Send the same order again (never places two)
              </button>
              <button type="button" class="button quiet small" onClick={() => void open.lookUp()}>
                Look up again
              </button>
            </>
          )}
          {stage !== 'sending' && stage !== 'looking-up' && (
            <button
              type="button"
              class="button quiet small"
              onClick={(event) => {
                event.currentTarget.closest('section')?.querySelector<HTMLElement>('[type=submit]')?.focus();
                dismiss(key);
              }}
            >
              Dismiss
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
