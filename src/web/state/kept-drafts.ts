/** Keeps the order form of each market while the reader looks at another one, and across reloads of the tab. */

import { batch, effect, untracked } from '@preact/signals';
import { draft } from './order-draft.ts';
import { selectedTicker } from './selected-market.ts';
import { readStored, store } from './storage.ts';

const KEY = 'redbook:drafts';
const MAX_DRAFTS = 20;

/** A client order id is used once, so it is not kept. */
const KEPT = ['side', 'type', 'price', 'size', 'amount', 'timeInForce', 'postOnly'] as const;

type Texts = { [Name in (typeof KEPT)[number]]: (typeof draft)[Name]['value'] };

const present = (): Texts => Object.fromEntries(KEPT.map((name) => [name, draft[name].value])) as Texts;

const UNTOUCHED: Texts = untracked(present);

function readDrafts(): Map<string, Texts> {
  try {
    return new Map(JSON.parse(readStored('tab', KEY) ?? '[]') as [string, Texts][]);
  } catch {
    return new Map();
  }
}

function restore(texts: Texts): void {
  batch(() => {
    for (const name of KEPT) {
      const field: { value: unknown } = draft[name];
      if (typeof texts[name] === typeof field.value) field.value = texts[name];
    }
    draft.clientOrderId.value = '';
  });
}

/** Follows the selected market for as long as the page is open. */
export function startKeptDrafts(): void {
  const drafts = readDrafts();
  let shown: string | null = null;
  effect(() => {
    shown = selectedTicker.value;
    untracked(() => restore((shown !== null && drafts.get(shown)) || UNTOUCHED));
  });
  effect(() => {
    const texts = present();
    if (shown === null) return;
    // The newest stands last, and the oldest goes.
    drafts.delete(shown);
    drafts.set(shown, texts);
    const [oldest] = drafts.keys();
    if (drafts.size > MAX_DRAFTS) drafts.delete(oldest!);
    store('tab', KEY, JSON.stringify([...drafts]));
  });
}
