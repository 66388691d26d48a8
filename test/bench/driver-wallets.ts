/** The wallets that a driver credits. */

export const WALLETS = 500;

export const walletOf = (index: number): string => `0x${(index % WALLETS).toString(16).padStart(40, 'b')}`;
