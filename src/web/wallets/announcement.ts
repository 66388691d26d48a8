/**
 * Reads the announcements of browser wallets (EIP-6963). Nothing in them is trusted: any extension can announce
 * anything.
 */

/** The part of an EIP-1193 provider that is used. */
export interface Provider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
  on?(event: 'accountsChanged', listener: (accounts: unknown) => void): void;
  removeListener?(event: 'accountsChanged', listener: (accounts: unknown) => void): void;
}

/**
 * An announced wallet. Its name and icon are not trusted: they are shown as text nodes and as the source of an image,
 * never as markup.
 */
export interface DiscoveredWallet {
  readonly uuid: string;
  readonly name: string;
  /** A `data:image/` URL; null when the wallet gave none that may be shown. */
  readonly icon: string | null;
  /** Reverse domain name of the product, the same on each visit. */
  readonly rdns: string;
  readonly provider: Provider;
}

const MAX_NAME_LENGTH = 60;
const MAX_ICON_LENGTH = 100_000;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the wallet of a browser that has put one into the page without announcing it. */
export const injectedWallet = (provider: unknown): DiscoveredWallet | null =>
  readAnnouncement({
    info: { uuid: 'injected', name: 'Browser wallet', rdns: 'window.ethereum' },
    provider,
  });

/** Reads an announcement; returns null for anything else. */
export function readAnnouncement(detail: unknown): DiscoveredWallet | null {
  if (!isRecord(detail) || !isRecord(detail.info) || !isRecord(detail.provider)) return null;
  const { uuid, name, icon, rdns } = detail.info;
  const shown = textOf(name).trim();
  if (textOf(uuid) === '' || shown === '' || typeof detail.provider.request !== 'function') return null;
  const image = textOf(icon);
  return {
    uuid: textOf(uuid),
    name: shown.length > MAX_NAME_LENGTH ? `${shown.slice(0, MAX_NAME_LENGTH)}…` : shown,
    icon: /^data:image\//i.test(image) && image.length <= MAX_ICON_LENGTH ? image : null,
    rdns: textOf(rdns),
    provider: detail.provider as unknown as Provider,
  };
}
