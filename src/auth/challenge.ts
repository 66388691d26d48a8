/** Sign-in with EIP-712 typed data: docs/api.md 2.1, 4.1 and 4.2. */

import { randomBytes } from 'node:crypto';
import { type TypedDataDomain, TypedDataEncoder } from 'ethers';
import { Refusal } from '../domain/errors.ts';
import type { Challenges } from './challenges.ts';
import { recoverSigner, signatureFault } from './signature.ts';

/** Typed data that a wallet signs. It has no chain id, so that the login does not depend on the selected network. */
export interface LoginTypedData {
  readonly domain: { readonly name: string; readonly version: '1' };
  readonly types: { readonly Login: readonly LoginField[] };
  readonly primaryType: 'Login';
  readonly message: LoginMessage;
}

interface LoginField {
  readonly name: keyof LoginMessage;
  readonly type: 'address' | 'string';
}

export interface LoginMessage {
  /** Wallet address in lower case. */
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

const LOGIN: LoginField[] = [
  { name: 'address', type: 'address' },
  { name: 'nonce', type: 'string' },
  { name: 'issuedAt', type: 'string' },
];

/** Issues a challenge for a wallet. It replaces any earlier one of this flow. */
export async function issueChallenge(
  challenges: Challenges,
  serviceName: string,
  wallet: string,
  nowMs: number,
): Promise<Challenge> {
  const message = {
    address: wallet,
    nonce: randomBytes(16).toString('hex'),
    issuedAt: new Date(nowMs).toISOString(),
  };
  await challenges.issue('eip712', wallet, recordOf(message));
  return { typedData: typedDataOf(serviceName, message), expiresIn: '5m' };
}

/** Replaces a missing record, so that checking a signature takes the same time with and without one. */
const NO_RECORD = `${'0'.repeat(32)} 1970-01-01T00:00:00.000Z`;

const NO_ANSWER =
  'the signature does not answer the current challenge of this address: request a challenge, sign its typedData ' +
  'unchanged with the key of this address, and send the signature within five minutes; each challenge opens one session';

/**
 * A directly called wallet takes the domain's type from the payload. If the type is missing, it signs an empty domain.
 */
const EMPTY_DOMAIN =
  'the typed data was signed with an empty EIP712Domain type: set types.EIP712Domain = ' +
  "[{name:'name',type:'string'},{name:'version',type:'string'}] in the payload of eth_signTypedData_v4 and sign again";

/**
 * Consumes the challenge if `signature` is the wallet's signature of the issued typed data. Otherwise throws
 * `BAD_REQUEST` and consumes nothing. A missing challenge is treated like another wallet's, so only the holder of the
 * wallet's key can learn from the messages whether a challenge exists.
 */
export async function answerChallenge(
  challenges: Challenges,
  serviceName: string,
  wallet: string,
  signature: string,
): Promise<void> {
  const record = (await challenges.find('eip712', wallet)) ?? NO_RECORD;
  const fault = signatureFault(signature);
  if (fault !== undefined) throw new Refusal('BAD_REQUEST', `signature: ${fault}`);
  const typedData = typedDataOf(serviceName, messageOf(wallet, record));
  if (recoverSigner(digestOf(typedData, typedData.domain), signature) !== wallet) {
    const isEmptyDomain = recoverSigner(digestOf(typedData, {}), signature) === wallet;
    throw new Refusal('BAD_REQUEST', isEmptyDomain ? EMPTY_DOMAIN : NO_ANSWER);
  }
  if (!(await challenges.consume('eip712', wallet, record))) throw new Refusal('BAD_REQUEST', NO_ANSWER);
}

/** Returns the parts of a message that differ between challenges of a wallet. The inverse of `messageOf`. */
const recordOf = (message: LoginMessage): string => `${message.nonce} ${message.issuedAt}`;

/** Rebuilds the message exactly as issued. No input from the client enters the verified message. */
function messageOf(wallet: string, record: string): LoginMessage {
  const [nonce = '', issuedAt = ''] = record.split(' ');
  return { address: wallet, nonce, issuedAt };
}

/** Returns the EIP-712 digest of the message under a domain. A domain without fields has the type `EIP712Domain()`. */
const digestOf = ({ types, message }: LoginTypedData, domain: TypedDataDomain): string =>
  TypedDataEncoder.hash(domain, { Login: [...types.Login] }, message);

const typedDataOf = (serviceName: string, message: LoginMessage): LoginTypedData => ({
  domain: { name: serviceName, version: '1' },
  types: { Login: LOGIN },
  primaryType: 'Login',
  message,
});
