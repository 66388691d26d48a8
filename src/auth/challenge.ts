/** Sign-in by EIP-712 typed data: docs/api.md 2.1, 4.1 and 4.2. */

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

const LOGIN: LoginField[] = [
  { name: 'address', type: 'address' },
  { name: 'nonce', type: 'string' },
  { name: 'issuedAt', type: 'string' },
];

/** 32 hex digits: 128 random bits. */
export const randomNonce = (): string => randomBytes(16).toString('hex');

/** Issues the challenge of a wallet. It replaces any earlier one of this flow. */
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

/** Stands in for a missing record, so that judging a signature takes as long as with one. */
const NO_RECORD = `${'0'.repeat(32)} 1970-01-01T00:00:00.000Z`;

const NO_ANSWER =
  'the signature does not answer the current challenge of this address: request a challenge, sign its typedData ' +
  'unchanged with the key of this address, and send the signature within five minutes; each challenge opens one session';

const EXPIRED = 'the challenge is more than five minutes old: request a new one and sign that';

/** A wallet that is called directly takes the domain's type from the payload. Without one it signs an empty domain. */
const EMPTY_DOMAIN =
  'the typed data was signed with an empty EIP712Domain type: set types.EIP712Domain = ' +
  "[{name:'name',type:'string'},{name:'version',type:'string'}] in the payload of eth_signTypedData_v4 and sign again";

/**
 * Passes if `signature` is the wallet's, over the typed data it was issued, and consumes the challenge. Throws
 * `BAD_REQUEST` otherwise, and then consumes nothing. The messages reveal only to the holder of the wallet's key
 * whether a challenge exists: a missing one is judged like another wallet's.
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
  const standing = await challenges.consume('eip712', wallet, record);
  if (standing !== 'current') throw new Refusal('BAD_REQUEST', standing === 'expired' ? EXPIRED : NO_ANSWER);
}

/** Returns the parts of a message that change with each challenge of a wallet. The reverse of `messageOf`. */
const recordOf = (message: LoginMessage): string => `${message.nonce} ${message.issuedAt}`;

/** The message exactly as it was issued: nothing the client sends takes part in what is verified. */
function messageOf(wallet: string, record: string): LoginMessage {
  const [nonce = '', issuedAt = ''] = record.split(' ');
  return { address: wallet, nonce, issuedAt };
}

/** EIP-712 digest of the message under a domain; a domain without fields has the type `EIP712Domain()`. */
const digestOf = ({ types, message }: LoginTypedData, domain: TypedDataDomain): string =>
  TypedDataEncoder.hash(domain, { Login: [...types.Login] }, message);

const typedDataOf = (serviceName: string, message: LoginMessage): LoginTypedData => ({
  domain: { name: serviceName, version: '1' },
  types: { Login: LOGIN },
  primaryType: 'Login',
  message,
});
