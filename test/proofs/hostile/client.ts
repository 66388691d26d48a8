/** Plain requests over a raw connection, behind the proxy that the service trusts. */

import type { LoginTypedData } from '../../../src/auth/index.ts';
import { ethersSigner, type Signer } from '../../auth/signers.ts';
import type { Line, WireReply } from './wire.ts';
import type { SignedIn } from './world.ts';

const PATIENCE_MS = 20_000;

/** An order that rests, since its price is far from every other. */
export const RESTING = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: 10, size: 1 };

export interface Plain {
  readonly method: string;
  readonly path: string;
  readonly token?: string | undefined;
  /** Sent as JSON; a text is sent as it is. */
  readonly body?: object | string | undefined;
  /** Address that the proxy appends; requests are limited by it. */
  readonly from?: string;
  /** Further header lines. */
  readonly headers?: readonly string[];
}

function plainBytes({ method, path, token, body, from, headers = [] }: Plain): Buffer {
  const text = typeof body === 'object' ? JSON.stringify(body) : body;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: redbook.example',
    ...headers,
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...(text === undefined
      ? []
      : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`]),
    ...(from === undefined ? [] : [`X-Forwarded-For: ${from}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(text ?? '')]);
}

/** @throws Error if no reply comes */
export async function ask(line: Line, plain: Plain): Promise<WireReply> {
  const { replies, isClosed } = await line.exchange([plainBytes(plain)], {
    replies: 1,
    patienceMs: PATIENCE_MS,
  });
  if (replies.length !== 1)
    throw new Error(`${plain.method} ${plain.path}: ${replies.length} replies${isClosed ? ', closed' : ''}`);
  return replies[0]!;
}

export const placeResting = (line: Line, token: string, clientOrderId?: string): Promise<WireReply> =>
  ask(line, { method: 'POST', path: '/v1/orders', token, body: { ...RESTING, clientOrderId } });

export const bodyOf = ({ text }: WireReply): Record<string, unknown> => JSON.parse(text);

/** An address for each number, so that no limit hides what a route answers. */
export const addressOf = (block: number, number: number): string =>
  `100.${64 + block}.${(number >> 8) & 255}.${number & 255}`;

/** Signs a wallet in by typed data. */
export async function signIn(line: Line, privateKey: string, from: string): Promise<SignedIn> {
  const signer: Signer = ethersSigner(privateKey);
  const { address } = signer;
  const challenge = await ask(line, {
    method: 'POST',
    path: '/v1/auth/challenge',
    body: { address },
    from,
  });
  const signature = await signer.signTyped(bodyOf(challenge).typedData as LoginTypedData);
  const body = { address, signature };
  const verified = await ask(line, { method: 'POST', path: '/v1/auth/verify', body, from });
  if (verified.status !== 200) throw new Error(`the sign-in was refused: ${verified.text}`);
  return { signer, address: address.toLowerCase(), token: String(bodyOf(verified).token) };
}
