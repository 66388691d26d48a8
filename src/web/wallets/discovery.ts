/** Browser wallets that announce themselves (EIP-6963). */

import { type ReadonlySignal, signal } from '@preact/signals';
import { type DiscoveredWallet, readAnnouncement } from './announcement.ts';

const MAX_WALLETS = 20;

const found = signal<readonly DiscoveredWallet[]>([]);

/** Wallets in the order they announced themselves. */
export const discoveredWallets: ReadonlySignal<readonly DiscoveredWallet[]> = found;

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
  if (!isListening) addEventListener('eip6963:announceProvider', onAnnouncement);
  isListening = true;
  dispatchEvent(new Event('eip6963:requestProvider'));
}
