/** The session that this tab, or this browser, keeps across reloads, and the key of the demo wallet. */

import { type Signal, signal } from '@preact/signals';
import { type Keeper, readStored, store } from './storage.ts';

export interface KeptSession {
  readonly token: string;
  readonly name: string;
  /** Reverse domain name of a browser wallet, or `demo`. */
  readonly origin: string;
}

/** Keeper of the token, as the reader chose it; null keeps it in memory only. */
export const sessionKeeper: Signal<Keeper | null> = signal(null);

const KEY = 'redbook:session';
const DEMO_KEY = 'redbook:demo-key';

/** Keeps the session as the reader chose, and nowhere else. @param kept null forgets it everywhere */
export function keepSession(kept: KeptSession | null): void {
  for (const keeper of ['tab', 'browser'] as const) {
    const text = kept !== null && keeper === sessionKeeper.value ? JSON.stringify(kept) : null;
    if (text !== readStored(keeper, KEY)) store(keeper, KEY, text);
  }
}

function readFrom(keeper: Keeper): KeptSession | null {
  try {
    const kept = JSON.parse(readStored(keeper, KEY) ?? 'null') as KeptSession | null;
    return typeof kept?.token === 'string' ? kept : null;
  } catch {
    return null;
  }
}

/** Returns the kept session, and chooses its keeper. */
export function readKeptSession(): KeptSession | null {
  for (const keeper of ['tab', 'browser'] as const) {
    const kept = readFrom(keeper);
    if (kept === null) continue;
    sessionKeeper.value = keeper;
    return kept;
  }
  return null;
}

/** Calls back when another tab of this browser keeps a session for all tabs, or forgets it. */
export function followOtherTabs(onChange: (kept: KeptSession | null) => void): void {
  addEventListener('storage', ({ key }) => {
    if (key === KEY || key === null) onChange(readFrom('browser'));
  });
}

/** The private key of the demo wallet of this browser; null when there is none. */
export const readDemoKey = (): string | null => readStored('browser', DEMO_KEY);
/** @param key null forgets the wallet for good */
export const keepDemoKey = (key: string | null): void => store('browser', DEMO_KEY, key);
