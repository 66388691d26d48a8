/** Signs in with a browser wallet: asks for an account, then for a signature over typed data. */

import { type TypedDataSigner, walletTypedData } from '../../client/index.ts';
import type { DiscoveredWallet, Provider } from './announcement.ts';

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

const firstAddress = (accounts: unknown): string | null => {
  const [first] = Array.isArray(accounts) ? (accounts as readonly unknown[]) : [];
  return typeof first === 'string' && ADDRESS.test(first) ? first : null;
};

/** Returns the account that the wallet gives this page. A locked wallet asks to be unlocked. */
export async function connectWallet({ name, provider }: DiscoveredWallet): Promise<TypedDataSigner> {
  const address = firstAddress(await provider.request({ method: 'eth_requestAccounts' }));
  if (address === null) throw new Error(`${name} gave no account: unlock it and choose an account`);
  return {
    address,
    prompts: true,
    async signTypedData(typedData) {
      // The wallet finds the key by the address exactly as it returned it.
      const params = [address, walletTypedData(typedData)];
      const signature = await provider.request({ method: 'eth_signTypedData_v4', params });
      if (typeof signature !== 'string') throw new Error(`${name} answered without a signature`);
      return signature;
    },
  };
}

interface AccountWatch {
  onOther(): void;
  /** The wallet is locked, or the reader has disconnected this page. */
  onNone(): void;
}

/**
 * Calls back when the wallet gives this page another account, or none.
 * @param address the account that is signed in, in any case
 * @returns a function that ends the watch
 */
export function watchAccount(provider: Provider, address: string, watch: AccountWatch): () => void {
  const listener = (accounts: unknown): void => {
    const first = firstAddress(accounts);
    if (first === null) watch.onNone();
    else if (first.toLowerCase() !== address.toLowerCase()) watch.onOther();
  };
  provider.on?.('accountsChanged', listener);
  return () => provider.removeListener?.('accountsChanged', listener);
}
