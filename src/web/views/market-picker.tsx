/** The name of the selected market. It opens the list of markets; so does the key `/`. */

import { useEffect, useRef } from 'preact/hooks';
import { pickerOpen } from '../state/markets.ts';
import { selectedTicker, symbolOf } from '../state/selected-market.ts';
import { Dialog } from './dialog.tsx';
import { MarketTable } from './market-table.tsx';

/** True while the reader is typing, when keys of the page do not count. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, select, textarea, [contenteditable]') !== null;

function openBySlash(event: KeyboardEvent): void {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector('dialog[open]') !== null) return;
  event.preventDefault();
  pickerOpen.value = true;
}

const close = (): void => {
  pickerOpen.value = false;
};

export function MarketPicker() {
  const content = useRef<HTMLDivElement>(null);
  useEffect(() => {
    addEventListener('keydown', openBySlash);
    return () => removeEventListener('keydown', openBySlash);
  }, []);
  useEffect(() => {
    if (pickerOpen.value) content.current?.querySelector('input')?.focus();
  }, [pickerOpen.value]);
  return (
    <>
      <h1 class="picker">
        <button
          type="button"
          class="button quiet"
          aria-haspopup="dialog"
          aria-keyshortcuts="/"
          title="Choose a market (/)"
          onClick={() => {
            pickerOpen.value = true;
          }}
        >
          {symbolOf(selectedTicker.value ?? '')}
          <svg class="icon" viewBox="0 0 12 12" aria-hidden="true">
            <path d="M2.5 4.5 6 8l3.5-3.5" />
          </svg>
        </button>
      </h1>
      <div ref={content}>
        <Dialog open={pickerOpen.value} title="Markets" onClose={close}>
          <MarketTable onChoose={close} />
        </Dialog>
      </div>
    </>
  );
}
