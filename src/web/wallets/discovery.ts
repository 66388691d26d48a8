/**
 * Browser wallets that announce themselves (EIP-6963), else the one that the browser has put into the page, as the
 * browsers of phone wallets do.
 */

import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { type DiscoveredWallet, injectedWallet, readAnnouncement } from './announcement.ts';

const MAX_WALLETS = 20;

const found = signal<readonly DiscoveredWallet[]>([]);

const injected = signal<readonly DiscoveredWallet[]>([]);

/** Wallets in the order they announced themselves. */
export const discoveredWallets: ReadonlySignal<readonly DiscoveredWallet[]> = computed(() =>
  found.value.length > 0 ? found.value : injected.value,
);

function readInjected(): void {
  const wallet = injectedWallet((globalThis as { readonly ethereum?: unknown }).ethereum);
  if (wallet !== null && injected.value.length === 0) injected.value = [wallet];
}

function onAnnouncement(event: Event): void {
  const wallet = readAnnouncement((event as CustomEvent<unknown>).detail);
  if (wallet === null) return;
  // Wallets announce themselves again on each request; the first announcement of an id is kept.
  if (found.value.some(({ uuid }) => uuid === wallet.uuid)) return;
  if (found.value.length < MAX_WALLETS) found.value = [...found.value, wallet];
}

let isListening = false;

/** Asks the wallets of the browser to announce themselves; those that come later are added. */
export function discoverWallets(): void {
  if (!isListening) {
    addEventListener('eip6963:announceProvider', onAnnouncement);
    // Some wallets come later than the page.
    addEventListener('ethereum#initialized', readInjected);
  }
  isListening = true;
  readInjected();
  dispatchEvent(new Event('eip6963:requestProvider'));
}
