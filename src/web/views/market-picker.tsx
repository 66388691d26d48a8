/** The name of the selected market. It opens the list of markets; so does the key `/`. */

import { useEffect, useRef } from 'preact/hooks';
import { pickerOpen } from '../state/markets.ts';
import { selectedTicker, symbolOf } from '../state/selected-market.ts';
import { MarketTable } from './market-table.tsx';

/** Keys of the page count only where the reader is not typing. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, select, textarea, [contenteditable]') !== null;

function openBySlash(event: KeyboardEvent): void {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector('dialog[open]') !== null) return;
  event.preventDefault();
  pickerOpen.value = true;
}

export function MarketPicker() {
  useEffect(() => {
    addEventListener('keydown', openBySlash);
    return () => removeEventListener('keydown', openBySlash);
  }, []);
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
      {pickerOpen.value && <PickerDialog />}
    </>
  );
}

const close = (): void => {
  pickerOpen.value = false;
};

function PickerDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current!;
    // A click beside the dialog is one on the dialog itself. Keyboards close it with Escape.
    const onClick = (event: MouseEvent): void => {
      if (event.target === shown) close();
    };
    shown.addEventListener('click', onClick);
    shown.showModal();
    shown.querySelector('input')?.focus();
    return () => shown.removeEventListener('click', onClick);
  }, []);
  return (
    <dialog ref={dialog} class="picker-dialog" aria-labelledby="picker-heading" onClose={close}>
      <div class="picker-content">
        <div class="panel-head">
          <h2 id="picker-heading">Markets</h2>
          <button type="button" class="button quiet small" onClick={close}>
            Close
          </button>
        </div>
        <MarketTable onChoose={close} />
      </div>
    </dialog>
  );
}
