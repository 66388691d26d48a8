/** The session that this tab, or this browser, keeps across reloads, and the key of the demo wallet. */

import { type Signal, signal } from '@preact/signals';
import { type Keeper, readStored, store } from './storage.ts';

export interface KeptSession {
  readonly token: string;
  /** Address of the wallet. */
  readonly wallet: string;
  readonly name: string;
  /** Reverse domain name of a browser wallet, or `demo`. */
  readonly origin: string;
}

/** Keeper of the token, as the reader chose it; null keeps it in memory only. */
export const sessionKeeper: Signal<Keeper | null> = signal(null);

const KEY = 'redbook:session';
const DEMO_KEY = 'redbook:demo-key';

/** The text that this tab has written, or taken over; null when this tab keeps nothing. */
let written: { readonly keeper: Keeper; readonly text: string } | null = null;

/** True unless another tab has written over the text of this one. */
const isStillThere = (): boolean => written !== null && readStored(written.keeper, KEY) === written.text;

/** Forgets what this tab has written, and nothing of another tab. */
function forget(): void {
  if (isStillThere()) store(written!.keeper, KEY, null);
  written = null;
}

/** Keeps a session that has begun, or whose keeper was chosen, and forgets the earlier one of this tab. */
export function keepSession(kept: KeptSession): void {
  forget();
  const { value: keeper } = sessionKeeper;
  if (keeper === null) return;
  written = { keeper, text: JSON.stringify(kept) };
  store(keeper, KEY, written.text);
}

/** Keeps the new token of a session that has renewed itself. */
export function keepRenewed(kept: KeptSession): void {
  if (isStillThere() && JSON.stringify(kept) !== written!.text) keepSession(kept);
}

/** Stands for a session that its reader ended, so that the other tabs of that session end too. */
const END = 'ended';

/** Forgets the session of this tab. @param isForAll true when the reader ended it, in all tabs that share it */
export function forgetSession(isForAll: boolean): void {
  if (isForAll && written?.keeper === 'browser' && isStillThere()) {
    store('browser', KEY, END);
    store('browser', KEY, null);
  }
  forget();
}

function parse(text: string | null): KeptSession | null {
  try {
    const kept = JSON.parse(text ?? 'null') as KeptSession | null;
    return typeof kept?.token === 'string' ? kept : null;
  } catch {
    return null;
  }
}

/** Returns the kept session, and chooses its keeper. */
export function readKeptSession(): KeptSession | null {
  for (const keeper of ['tab', 'browser'] as const) {
    const kept = parse(readStored(keeper, KEY));
    if (kept === null) continue;
    takeOver(kept, keeper);
    return kept;
  }
  return null;
}

/** Shares a session with the tab that has written it. */
export function takeOver(kept: KeptSession, keeper: Keeper): void {
  sessionKeeper.value = keeper;
  written = { keeper, text: JSON.stringify(kept) };
}

function keepHere(text: string): void {
  sessionKeeper.value = 'tab';
  written = { keeper: 'tab', text };
  store('tab', KEY, text);
}

interface OtherTabs {
  /** Another tab keeps a session for all tabs. */
  onKept(kept: KeptSession): void;
  /** Another tab has ended the session that it shared with this one. */
  onEnd(): void;
}

/** Follows what the other tabs of this browser keep for all tabs. */
export function followOtherTabs({ onKept, onEnd }: OtherTabs): void {
  addEventListener('storage', ({ key, oldValue, newValue }) => {
    if (key !== KEY) return;
    const kept = parse(newValue);
    const isShared = written?.keeper === 'browser' && written.text === oldValue;
    if (isShared && newValue === END) onEnd();
    // The tab that shares this session keeps it for itself from now on, and so does this one.
    if (isShared && newValue === null) keepHere(written!.text);
    // The tab that shares this session has renewed it.
    if (isShared && kept !== null && parse(oldValue)?.wallet === kept.wallet) takeOver(kept, 'browser');
    if (kept !== null) onKept(kept);
  });
}

/** The private key of the demo wallet of this browser; null when there is none. */
export const readDemoKey = (): string | null => readStored('browser', DEMO_KEY);
/** @param key null forgets the wallet for good */
export const keepDemoKey = (key: string | null): void => store('browser', DEMO_KEY, key);
