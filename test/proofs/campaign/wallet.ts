/** A wallet of the driver: its key comes from the seed, so a campaign that goes on has the same wallets. */

import { createHash } from 'node:crypto';
import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import type { LoginTypedData } from '../../../src/auth/index.ts';
import { ethersSigner, type Signer } from '../../auth/signers.ts';
import { Broken, type Caller, exchange, type Reply } from '../../support/http-exchange.ts';
import { type Random, random } from '../../support/seed.ts';

/** Longer than the time limits of a replica: its own answer is what counts. */
const PATIENCE_MS = 15_000;

export interface Wallet extends Caller {
  readonly index: number;
  readonly signer: Signer;
  /** In lower case. */
  readonly address: string;
  readonly dice: Random;
  /** Ids of orders that rested when a reply last showed them. */
  readonly resting: string[];
  token: string;
}

/** Each wallet calls from an address of its own, because sign-in is limited by address. */
export function walletOf(seed: number, index: number): Wallet {
  const key = createHash('sha256').update(`campaign ${seed} ${index}`).digest('hex');
  const signer = ethersSigner(`0x${key}`);
  const localAddress = addressOf(1, index);
  return {
    index,
    signer,
    address: signer.address.toLowerCase(),
    resting: [],
    token: '',
    agent: new Agent({ keepAlive: true, localAddress }),
    dice: random(seed + index * 7_919),
  };
}

export const addressOf = (block: number, index: number): string =>
  `127.${block}.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`;

/** A request, and what came of it. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly tookMs: number;
  /** `address:port` of the client's end of the connection. */
  readonly connection: string;
  /** The error is a connection that broke: the outcome is unknown. */
  readonly reply: Reply | Broken;
}

/** @throws Broken */
export async function ask(
  port: number,
  caller: Caller,
  method: string,
  path: string,
  body?: object,
  onAsked: (asked: Asked) => void = () => undefined,
): Promise<Reply> {
  const begunMs = performance.now();
  let connection = '';
  const onSocket = ({ localAddress, localPort }: Socket): void => {
    connection = `${localAddress}:${localPort}`;
  };
  const tell = (reply: Reply | Broken): void =>
    onAsked({ method, path, tookMs: performance.now() - begunMs, connection, reply });
  try {
    const reply = await exchange(port, caller, { method, path, body, patienceMs: PATIENCE_MS, onSocket });
    tell(reply);
    return reply;
  } catch (error) {
    if (error instanceof Broken) tell(error);
    throw error;
  }
}

/** The reply, or undefined when none came. */
export const unlessBroken = (asking: Promise<Reply>): Promise<Reply | undefined> =>
  asking.catch((error) => {
    if (error instanceof Broken) return undefined;
    throw error;
  });

/** Returns true when the wallet has a new session. */
export async function signIn(
  wallet: Wallet,
  port: number,
  onAsked?: (asked: Asked) => void,
): Promise<boolean> {
  const { address } = wallet.signer;
  const post = (path: string, body: object): Promise<Reply | undefined> =>
    unlessBroken(ask(port, wallet, 'POST', path, body, onAsked));
  const challenge = await post('/v1/auth/challenge', { address });
  if (challenge?.status !== 200) return false;
  const signature = await wallet.signer.signTyped(challenge.body.typedData as LoginTypedData);
  const verified = await post('/v1/auth/verify', { address, signature });
  if (verified?.status !== 200) return false;
  wallet.token = String(verified.body.token);
  return true;
}
