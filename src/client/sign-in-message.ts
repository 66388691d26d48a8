/** Texts that a wallet signs: the message of EIP-4361, and the typed data of EIP-712. No text of the service is in them. */

import { invalid } from './errors.ts';
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

/**
 * Returns the text of EIP-4361: lines separated by a single LF, with none after the last.
 * @throws RedbookError `INVALID_ARGUMENT` for a line break or another control character in an option
 */
export function signInMessage(facts: SignInMessageFacts): string {
  const lines = [
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
  ];
  const broken = lines.find((line) => /\p{Cc}/u.test(line));
  if (broken !== undefined)
    throw invalid(`a line of a sign-in message has a control character: ${JSON.stringify(broken)}`);
  return lines.join('\n');
}

/** Matches the nonce of either flow. */
export const NONCE = /^[0-9a-f]{32}$/;

/**
 * Returns the typed data of a login. Its types are fixed, and its domain has neither a chain nor a contract, so a
 * signature of it cannot be a permit, an order or anything else than a login.
 */
export const loginTypedData = (
  name: string,
  { address, nonce, issuedAt }: LoginTypedData['message'],
): LoginTypedData => ({
  domain: { name, version: '1' },
  types: {
    Login: [
      { name: 'address', type: 'address' },
      { name: 'nonce', type: 'string' },
      { name: 'issuedAt', type: 'string' },
    ],
  },
  primaryType: 'Login',
  message: { address, nonce, issuedAt },
});

/**
 * Returns the second parameter of `eth_signTypedData_v4`: a login as JSON with the type of its domain, which libraries
 * add by themselves. Without it, wallets sign another digest, and the signature does not verify. Types that the argument
 * names are left out: a login has its own.
 */
export function walletTypedData(typedData: LoginTypedData): string {
  const { domain, message } = typedData;
  const login = loginTypedData(domain.name, message);
  const EIP712Domain = [
    { name: 'name', type: 'string' },
    { name: 'version', type: 'string' },
  ];
  return JSON.stringify({ ...login, types: { EIP712Domain, ...login.types } });
}
