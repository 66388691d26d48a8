/** Sign-in by EIP-712 typed data: contract 2.1, 4.1 and 4.2. */

import { randomBytes } from 'node:crypto';
import { TypedDataEncoder } from 'ethers';
import { Refusal } from '../domain/errors.ts';
import type { Challenges } from './challenges.ts';
import { recoverSigner } from './signature.ts';

/** What a wallet signs. No chain id, so that the login does not depend on the selected network. */
export interface LoginTypedData {
  readonly domain: { readonly name: string; readonly version: '1' };
  readonly types: { readonly Login: readonly { readonly name: string; readonly type: string }[] };
  readonly primaryType: 'Login';
  readonly message: LoginMessage;
}

export interface LoginMessage {
  /** The wallet, lower case. */
  readonly address: string;
  /** 32 hex digits, single use. */
  readonly nonce: string;
  /** ISO 8601, UTC, milliseconds. */
  readonly issuedAt: string;
}

export interface Challenge {
  readonly typedData: LoginTypedData;
  readonly expiresIn: '5m';
}

const LOGIN = [
  { name: 'address', type: 'address' },
  { name: 'nonce', type: 'string' },
  { name: 'issuedAt', type: 'string' },
];

/** 32 hex digits: 128 random bits. */
export const randomNonce = (): string => randomBytes(16).toString('hex');

/** Issues the challenge of a wallet; it replaces any earlier one of this flow. */
export async function issueChallenge(
  challenges: Challenges,
  serviceName: string,
  wallet: string,
  nowMs: number,
): Promise<Challenge> {
  const message = { address: wallet, nonce: randomNonce(), issuedAt: new Date(nowMs).toISOString() };
  await challenges.issue('eip712', wallet, recordOf(message));
  return { typedData: typedDataOf(serviceName, message), expiresIn: '5m' };
}

/**
 * Passes if `signature` is the wallet's, over the typed data it was issued, and uses the challenge up.
 * Throws one and the same `BAD_REQUEST` for a wrong signature and for a missing, replaced, used or expired
 * challenge: whether a wallet is about to sign in is nobody else's business.
 */
export async function answerChallenge(
  challenges: Challenges,
  serviceName: string,
  wallet: string,
  signature: string,
): Promise<void> {
  const record = await challenges.find('eip712', wallet);
  const signer =
    record === null ? undefined : recoverSigner(digestOf(serviceName, wallet, record), signature);
  if (
    record === null ||
    signer !== wallet ||
    (await challenges.consume('eip712', wallet, record)) !== 'current'
  ) {
    throw new Refusal('BAD_REQUEST', 'the signature does not answer the current challenge of this address');
  }
}

/** All that the message does not share with every other one of the wallet; the reverse of `messageOf`. */
const recordOf = (message: LoginMessage): string => `${message.nonce} ${message.issuedAt}`;

/** The message exactly as it was issued: nothing the client sends takes part in what is verified. */
function messageOf(wallet: string, record: string): LoginMessage {
  const [nonce = '', issuedAt = ''] = record.split(' ');
  return { address: wallet, nonce, issuedAt };
}

function digestOf(serviceName: string, wallet: string, record: string): string {
  const { domain, types, message } = typedDataOf(serviceName, messageOf(wallet, record));
  return TypedDataEncoder.hash(domain, { Login: [...types.Login] }, message);
}

const typedDataOf = (serviceName: string, message: LoginMessage): LoginTypedData => ({
  domain: { name: serviceName, version: '1' },
  types: { Login: LOGIN },
  primaryType: 'Login',
  message,
});
