/** New wallets from two independent signing libraries, and the messages that they sign. */

import { hexlify, randomBytes, Wallet } from 'ethers';
import { privateKeyToAccount } from 'viem/accounts';
import type { LoginTypedData } from '../../src/auth/index.ts';

export interface Signer {
  /** With the EIP-55 checksum. */
  readonly address: string;
  signText(text: string): Promise<string>;
  signTyped(typedData: LoginTypedData): Promise<string>;
}

export function ethersSigner(privateKey = hexlify(randomBytes(32))): Signer {
  const wallet = new Wallet(privateKey);
  return {
    address: wallet.address,
    signText: (text) => wallet.signMessage(text),
    signTyped: ({ domain, types, message }) =>
      wallet.signTypedData(domain, { Login: [...types.Login] }, message),
  };
}

export function viemSigner(): Signer {
  const account = privateKeyToAccount(hexlify(randomBytes(32)) as `0x${string}`);
  return {
    address: account.address,
    signText: (text) => account.signMessage({ message: text }),
    signTyped: ({ domain, types, primaryType, message }) =>
      account.signTypedData({ domain, types: { ...types }, primaryType, message: { ...message } }),
  };
}

export const SIGNERS = { ethers: ethersSigner, viem: viemSigner };

/** The fields of a message; undefined omits the line. */
export interface SiweFields {
  readonly domain?: string | undefined;
  readonly address?: string | undefined;
  readonly statement?: string | undefined;
  readonly uri?: string | undefined;
  readonly version?: string | undefined;
  readonly chainId?: string | number | undefined;
  readonly nonce?: string | undefined;
  readonly issuedAt?: string | undefined;
  readonly expirationTime?: string | undefined;
  readonly notBefore?: string | undefined;
  readonly requestId?: string | undefined;
  readonly resources?: readonly string[] | undefined;
}

/** Returns the text of an EIP-4361 message. */
export function siweText(fields: SiweFields): string {
  const labelled = {
    URI: fields.uri,
    Version: fields.version,
    'Chain ID': fields.chainId,
    Nonce: fields.nonce,
    'Issued At': fields.issuedAt,
    'Expiration Time': fields.expirationTime,
    'Not Before': fields.notBefore,
    'Request ID': fields.requestId,
  };
  const lines = Object.entries(labelled).flatMap(([label, value]) =>
    value === undefined ? [] : [`${label}: ${value}`],
  );
  const resources =
    fields.resources === undefined ? [] : ['Resources:', ...fields.resources.map((uri) => `- ${uri}`)];
  return [
    `${fields.domain ?? ''} wants you to sign in with your Ethereum account:`,
    fields.address ?? '',
    '',
    ...(fields.statement === undefined ? [] : [fields.statement]),
    '',
    ...lines,
    ...resources,
  ].join('\n');
}

/** Returns the message of an ordinary login with some fields changed. */
export const loginText = (fields: SiweFields): string =>
  siweText({
    domain: 'redbook.example',
    statement: 'Sign in to trade.',
    uri: 'https://redbook.example/login',
    version: '1',
    chainId: 1,
    issuedAt: '2025-01-01T00:00:00.000Z',
    ...fields,
  });
