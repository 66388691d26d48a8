/** Signs wallets in by either flow, and reads session tokens. */

import { askPublicly, pauseAfter } from './asking.ts';
import { readChallenge } from './challenge.ts';
import type { AbortSignalLike, Connection } from './connection.ts';
import { invalid, RedbookError } from './errors.ts';
import { type Call, errorOf, isSuccess, replyOf, unreadable, untilAborted } from './exchange.ts';
import { guessedTime, noteServiceTime, serviceTime } from './own-clock.ts';
import type { LoginTypedData } from './replies.ts';
import { NONCE, type SignInMessageOptions, signInMessage } from './sign-in-message.ts';

interface Signer {
  /** `0x` and 40 hex digits, in any case. */
  readonly address: string;
  /**
   * True when each signature asks a person, as browser wallets do. Such a session is renewed only by a call of `renew`;
   * any other session renews itself.
   */
  readonly prompts: boolean;
}

/** Signs typed data (EIP-712): an ordinary wallet. */
export interface TypedDataSigner extends Signer {
  /**
   * Returns 65 bytes as `0x` and 130 hex digits. The typed data is always a login that this client has built.
   * `walletTypedData` has the form that browser wallets take.
   */
  signTypedData(typedData: LoginTypedData): Promise<string>;
}

/** Signs a message (`personal_sign`, EIP-191). */
export interface MessageSigner extends Signer {
  /** Returns 65 bytes as `0x` and 130 hex digits. The message is always one that this client has built. */
  signMessage(message: string): Promise<string>;
}

/** Part of a token's life after which it is renewed. */
const RENEWED_AT = 0.9;

export interface Token {
  readonly text: string;
  readonly wallet: string;
  /** Times of renewal and of the end, in Unix milliseconds by the service's clock. */
  readonly renewsAt: number;
  readonly expiresAt: number;
}

/** A sign-in under way. */
export interface SigningIn {
  readonly signal: AbortSignalLike | undefined;
  /** Called before each signature. An error that it throws ends the sign-in. */
  readonly onSign?: () => void;
}

/** Signs in by typed data (EIP-712). */
export function tokenByTypedData(
  connection: Connection,
  signer: TypedDataSigner,
  signingIn: SigningIn,
): Promise<Token> {
  const { address } = signer;
  const { signal } = signingIn;
  return inTurn(connection, signer, signal, async () => {
    const challenge = { method: 'POST', path: '/v1/auth/challenge', body: { address }, signal } as const;
    const asked = await askPublicly(connection, challenge, { bucket: 'challenge', repeatable: true });
    const typedData = readChallenge(connection, address, asked);
    const signature = await signed(() => signer.signTypedData(typedData), signingIn);
    return { method: 'POST', path: '/v1/auth/verify', body: { address, signature }, signal };
  });
}

/** Signs in by a message (EIP-4361). */
export function tokenByMessage(
  connection: Connection,
  signer: MessageSigner,
  options: SignInMessageOptions,
  signingIn: SigningIn,
): Promise<Token> {
  const { address } = signer;
  const { signal } = signingIn;
  return inTurn(connection, signer, signal, async () => {
    const call = { method: 'GET', path: '/api/auth/nonce', query: { address }, signal } as const;
    const asked = await askPublicly(connection, call, { bucket: 'challenge', repeatable: true });
    if (!isSuccess(asked)) throw errorOf(asked);
    const nonce = asked.text;
    if (!NONCE.test(nonce)) throw unreadable('the nonce was not signed: it is not 32 hex digits', asked);
    const issuedAt = new Date(guessedTime(connection)).toISOString();
    const message = signInMessage({ ...options, address, nonce, issuedAt });
    const signature = await signed(() => signer.signMessage(message), signingIn);
    return { method: 'POST', path: '/api/auth/verify', body: { address, message, signature }, signal };
  });
}

const ADDRESS = /^0x[0-9a-f]{40}$/i;

const turns = /* @__PURE__ */ new WeakMap<Connection, Map<string, Promise<unknown>>>();

/** Runs the sign-ins of an address one at a time, because a new challenge replaces the previous one. */
async function inTurn(
  connection: Connection,
  signer: Signer,
  signal: AbortSignalLike | undefined,
  answerChallenge: () => Promise<Call>,
): Promise<Token> {
  if (!ADDRESS.test(signer.address)) throw invalid(`${signer.address} is not an address of a wallet`);
  const ofConnection = turns.get(connection) ?? new Map<string, Promise<unknown>>();
  turns.set(connection, ofConnection);
  const name = signer.address.toLowerCase();
  const run = (): Promise<Token> => signedIn(connection, signer, signal, answerChallenge);
  const turn = (ofConnection.get(name) ?? Promise.resolve()).then(run, run);
  ofConnection.set(name, turn);
  const over = (): void => {
    if (ofConnection.get(name) === turn) ofConnection.delete(name);
  };
  turn.then(over, over);
  return untilAborted(turn, signal);
}

/** Maximum sign-ins, each from a new challenge on, while answers are lost. */
const SIGN_INS = 4;

/**
 * Signs in. A verification whose answer was lost may have used its challenge up, so it is not sent again: a signer that
 * does not prompt begins anew with another challenge.
 * @param answerChallenge gets a challenge and its signature, and returns the request that verifies the signature
 */
async function signedIn(
  connection: Connection,
  { address, prompts }: Signer,
  signal: AbortSignalLike | undefined,
  answerChallenge: () => Promise<Call>,
): Promise<Token> {
  for (let attempt = 1; ; attempt += 1) {
    const verify = await answerChallenge();
    const verified = await askPublicly(connection, verify, { bucket: 'verify', repeatable: false })
      .then((answer) => replyOf<{ token?: string; sessionToken?: string }>(answer))
      .catch((error: unknown) => {
        const isLost =
          error instanceof RedbookError && error.outcome === 'unknown' && error.code !== 'ABORTED';
        if (prompts || !isLost || attempt === SIGN_INS) throw error;
        return error;
      });
    if (verified instanceof RedbookError) await pauseAfter(connection, verified, attempt, signal);
    else return readToken(connection, verified.token ?? verified.sessionToken ?? '', address);
  }
}

async function signed(sign: () => Promise<string>, { signal, onSign }: SigningIn): Promise<string> {
  onSign?.();
  const signing = (async () => sign())().catch((cause: unknown) => {
    const message = cause instanceof Error ? cause.message : 'the signer did not sign';
    throw new RedbookError({ code: 'SIGNING_FAILED', message, cause, outcome: 'refused' });
  });
  return untilAborted(signing, signal);
}

interface Claims {
  readonly sub: string;
  readonly iat: number;
  readonly exp: number;
}

/** @param address address that has just signed in with the token; undefined for a token that was kept */
export function readToken(connection: Connection, text: string, address: string | undefined): Token {
  const { sub, iat, exp } = claimsOf(text);
  if (address !== undefined && sub.toLowerCase() !== address.toLowerCase())
    throw unreadable('the answer has the token of another wallet', { status: 200 });
  const issuedAt = iat * 1_000;
  const lifeMs = (exp - iat) * 1_000;
  if (address !== undefined && serviceTime(connection) === undefined) noteServiceTime(connection, issuedAt);
  const wallet = sub.toLowerCase();
  return { text, wallet, renewsAt: issuedAt + lifeMs * RENEWED_AT, expiresAt: issuedAt + lifeMs };
}

function claimsOf(token: string): Claims {
  try {
    const [, payload = ''] = token.split('.');
    const claims = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as Claims;
    if (typeof claims.sub === 'string' && claims.exp > claims.iat) return claims;
  } catch {
    // The error is thrown below.
  }
  throw unreadable('the text is not a session token', { status: 0 });
}
