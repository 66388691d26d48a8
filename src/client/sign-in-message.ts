/** Texts that a wallet signs: the message of EIP-4361, and typed data as browser wallets take it. */

import type { LoginTypedData } from './replies.ts';

export interface SignInMessageOptions {
  /** A web host of the service, like `redbook.example`. The service checks it, and wallets show it. */
  readonly host: string;
  /** `https://` and the host unless given. */
  readonly uri?: string;
  /** 1 unless given. */
  readonly chainId?: number;
  readonly statement?: string;
  /** Time until which the message may be used, ISO 8601. */
  readonly expirationTime?: string;
}

interface SignInMessageFacts extends SignInMessageOptions {
  readonly address: string;
  readonly nonce: string;
  readonly issuedAt: string;
}

/** Returns the text of EIP-4361: lines separated by a single LF, with none after the last. */
export const signInMessage = (facts: SignInMessageFacts): string =>
  [
    `${facts.host} wants you to sign in with your Ethereum account:`,
    facts.address,
    '',
    facts.statement ?? 'Sign in to trade.',
    '',
    `URI: ${facts.uri ?? `https://${facts.host}`}`,
    'Version: 1',
    `Chain ID: ${facts.chainId ?? 1}`,
    `Nonce: ${facts.nonce}`,
    `Issued At: ${facts.issuedAt}`,
    ...(facts.expirationTime === undefined ? [] : [`Expiration Time: ${facts.expirationTime}`]),
  ].join('\n');

/**
 * Returns the second parameter of `eth_signTypedData_v4`: typed data as JSON with the type of its domain, which
 * libraries add by themselves. Without it, wallets sign another digest, and the signature does not verify.
 */
export const walletTypedData = (typedData: LoginTypedData): string =>
  JSON.stringify({
    ...typedData,
    types: {
      EIP712Domain: [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
      ],
      ...typedData.types,
    },
  });
