/**
 * Single keys that act outside fields. They can be switched off (WCAG 2.1.4), for people whose speech input types
 * letters.
 */

import { type Signal, signal } from '@preact/signals';
import { announce } from './announcements.ts';
import { kept } from './kept-choice.ts';
import { marketSummary } from './market-feed.ts';
import { chooseSide, chooseType, draft, focusRequest } from './order-draft.ts';

/** `on`: single keys act. The choice is kept in this browser. */
export const shortcuts: Signal<'on' | 'off'> = kept('shortcuts', ['on', 'off'], 'on');

/** True while the list of keys is open. */
export const helpOpen: Signal<boolean> = signal(false);

export const KEYS: readonly (readonly [key: string, what: string])[] = [
  ['b', 'Buy side'],
  ['s', 'Sell side'],
  ['p', 'Go to the price'],
  ['z', 'Go to the size'],
  ['c', 'Cancel the order of the focused row'],
  ['i', 'Say the best bid and ask'],
  ['?', 'Show these keys'],
];

/** Keys that act inside a field or a dialog, or everywhere, and that cannot be switched off. */
export const FIXED_KEYS: readonly (readonly [key: string, what: string])[] = [
  ['↑ ↓', 'In an amount: one tick or step up or down'],
  ['Shift + Enter', 'In the book: fill the sum up to the row, too'],
  ['Enter', 'In the form: send the order'],
  ['Esc', 'Close a dialog'],
];

const TYPING = 'input, select, textarea, [contenteditable], dialog';
/** Radio buttons and boxes take no letters. */
const NOT_TYPING = 'input[type="radio"], input[type="checkbox"]';

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false;
  if (target.closest('dialog') !== null) return true;
  return target.closest(TYPING) !== null && !target.matches(NOT_TYPING);
}

const ACTIONS: Readonly<Record<string, () => boolean>> = {
  b: () => side('buy'),
  s: () => side('sell'),
  p() {
    if (draft.type.value === 'market') chooseType('limit');
    return focus('price');
  },
  z: () => focus('size'),
  c: cancelFocused,
  i() {
    announce(marketSummary.peek());
    return true;
  },
  '?'() {
    helpOpen.value = true;
    return true;
  },
};

function side(chosen: 'buy' | 'sell'): boolean {
  chooseSide(chosen);
  announce(`${chosen === 'buy' ? 'Buy' : 'Sell'} side.`);
  return true;
}

function focus(field: 'price' | 'size'): boolean {
  focusRequest.value = field;
  return true;
}

function cancelFocused(): boolean {
  const button = document.activeElement?.closest('tr')?.querySelector<HTMLElement>('.cancel-order');
  button?.click();
  return button != null;
}

function onKeyDown(event: KeyboardEvent): void {
  if (shortcuts.value === 'off' || event.defaultPrevented || event.repeat) return;
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  // The form and its keys exist only where a market is shown.
  if (event.key !== '?' && document.getElementById('order-form') === null) return;
  if (ACTIONS[event.key]?.() === true) event.preventDefault();
}

/** Listens for as long as the page is open. */
export function startShortcuts(): void {
  document.addEventListener('keydown', onKeyDown);
}
