/** Sessions: signing in by either flow, the token, and its renewal. */

import { ask, askPublicly } from './asking.ts';
import type { AbortSignalLike, Connection } from './connection.ts';
import { RedbookError } from './errors.ts';
import {
  type Answer,
  type Call,
  errorOf,
  exchange,
  isSuccess,
  replyOf,
  unreadable,
  untilAborted,
} from './exchange.ts';
import type { CallOptions } from './market-data.ts';
import type { LoginTypedData } from './replies.ts';
import { type SignInMessageOptions, signInMessage } from './sign-in-message.ts';

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
  /** Returns 65 bytes as `0x` and 130 hex digits. `walletTypedData` has the form that browser wallets take. */
  signTypedData(typedData: LoginTypedData): Promise<string>;
}

/** Signs a message (`personal_sign`, EIP-191). */
export interface MessageSigner extends Signer {
  /** Returns 65 bytes as `0x` and 130 hex digits. */
  signMessage(message: string): Promise<string>;
}

/**
 * A wallet that is signed in. Keep `token` secret: anybody who has it can trade for the wallet. The property is not
 * enumerable, so JSON, loggers and copies of the session leave it out.
 */
export interface Session {
  readonly connection: Connection;
  /** Lower case. */
  readonly wallet: string;
  /** Bearer token; changes with each renewal. */
  readonly token: string;
  /** Unix milliseconds by the connection's clock. */
  readonly expiresAt: number;
}

/** Part of a token's life after which it is renewed. */
const RENEWED_AT = 0.9;

interface Token {
  readonly text: string;
  readonly wallet: string;
  /** Time of renewal by the connection's clock. */
  readonly renewsAt: number;
  readonly expiresAt: number;
}

interface Credentials {
  token: Token;
  /** Signs in again; undefined for a session that was restored from its token alone. */
  readonly signIn: ((signal: AbortSignalLike | undefined) => Promise<Token>) | undefined;
  readonly prompts: boolean;
  renewal: Promise<void> | undefined;
}

const credentialsOf = /* @__PURE__ */ new WeakMap<Session, Credentials>();

function openSession(
  connection: Connection,
  token: Token,
  signer: Pick<Credentials, 'signIn' | 'prompts'>,
): Session {
  const credentials: Credentials = { token, ...signer, renewal: undefined };
  const session: Session = {
    connection,
    wallet: token.wallet,
    get token() {
      return credentials.token.text;
    },
    get expiresAt() {
      return credentials.token.expiresAt;
    },
  };
  Object.defineProperty(session, 'token', { enumerable: false });
  credentialsOf.set(session, credentials);
  return session;
}

/** Signs in by typed data (EIP-712). */
export async function signIn(
  connection: Connection,
  signer: TypedDataSigner,
  { signal }: CallOptions = {},
): Promise<Session> {
  const again = (until: AbortSignalLike | undefined): Promise<Token> =>
    inTurn(connection, signer.address, until, () => tokenByTypedData(connection, signer, until));
  return openSession(connection, await again(signal), { signIn: again, prompts: signer.prompts });
}

/** Signs in by a message (EIP-4361). `host` must be a web host of the service. */
export async function signInWithMessage(
  connection: Connection,
  signer: MessageSigner,
  options: SignInMessageOptions & CallOptions,
): Promise<Session> {
  const again = (until: AbortSignalLike | undefined): Promise<Token> =>
    inTurn(connection, signer.address, until, () => tokenByMessage(connection, signer, options, until));
  return openSession(connection, await again(options.signal), { signIn: again, prompts: signer.prompts });
}

/**
 * Returns the session of a token that was kept. Without its signer it cannot be renewed.
 * @throws RedbookError `UNREADABLE_ANSWER` when the text is no token
 */
export function restoreSession(connection: Connection, token: string, signer?: TypedDataSigner): Session {
  const read = readToken(connection, token, undefined);
  if (signer === undefined) return openSession(connection, read, { signIn: undefined, prompts: false });
  const again = (until: AbortSignalLike | undefined): Promise<Token> =>
    inTurn(connection, signer.address, until, () => tokenByTypedData(connection, signer, until));
  return openSession(connection, read, { signIn: again, prompts: signer.prompts });
}

/**
 * Signs in again with the session's signer. A wallet that prompts does so now.
 * @throws RedbookError `NO_SIGNER` for a session that was restored from its token alone
 */
export function renew(session: Session, { signal }: CallOptions = {}): Promise<void> {
  const credentials = credentialsOf.get(session)!;
  if (credentials.signIn === undefined) {
    const message = 'the session was restored from its token: sign in again';
    return Promise.reject(new RedbookError({ code: 'NO_SIGNER', message, outcome: 'refused' }));
  }
  credentials.renewal ??= credentials
    .signIn(signal)
    .then((token) => {
      credentials.token = token;
    })
    .finally(() => {
      credentials.renewal = undefined;
    });
  return credentials.renewal;
}

const renewsItself = ({ signIn, prompts }: Credentials): boolean => signIn !== undefined && !prompts;

/**
 * Renews the token of a session that renews itself: in the background when the token is old, and before this returns
 * when it has expired.
 */
export async function freshen(session: Session): Promise<void> {
  const credentials = credentialsOf.get(session)!;
  if (!renewsItself(credentials)) return;
  const now = session.connection.clock.now();
  if (now >= credentials.token.expiresAt) await renew(session);
  // A failure shows when the token has expired.
  else if (now >= credentials.token.renewsAt) renew(session).catch(() => undefined);
}

/**
 * After a 401: renews a session that renews itself, unless another request has done so.
 * @param token token that was refused
 * @returns true if there is another token now
 */
export async function renewRefused(session: Session, token: string): Promise<boolean> {
  const credentials = credentialsOf.get(session)!;
  if (renewsItself(credentials) && credentials.token.text === token) await renew(session);
  return credentials.token.text !== token;
}

/**
 * Sends a request with a session, and once more after a 401 that a renewal fixes: a 401 means that the request had no
 * effect.
 */
export async function exchangeAs(session: Session, call: Call): Promise<Answer> {
  await freshen(session);
  const { token } = session;
  const answer = await exchange(session.connection, { ...call, token });
  if (answer.status !== 401 || !(await renewRefused(session, token))) return answer;
  return await exchange(session.connection, { ...call, token: session.token });
}

/**
 * Asks with a session.
 * @param repeatable true if the request may be sent again after a lost answer
 */
export const askAs = async <Value extends object>(
  session: Session,
  call: Call,
  repeatable: boolean,
): Promise<Value> =>
  replyOf<Value>(await ask(session.connection, call, { repeatable }, () => exchangeAs(session, call)));

/** Sends a request with a session, once. */
export async function sendAs<Value extends object>(session: Session, call: Call): Promise<Value> {
  return replyOf<Value>(await exchangeAs(session, call));
}

const signingIn = /* @__PURE__ */ new WeakMap<Connection, Map<string, Promise<unknown>>>();

/** Runs the sign-ins of an address one at a time, because a new challenge replaces the previous one. */
async function inTurn<Result>(
  connection: Connection,
  address: string,
  signal: AbortSignalLike | undefined,
  run: () => Promise<Result>,
): Promise<Result> {
  const turns = signingIn.get(connection) ?? new Map<string, Promise<unknown>>();
  signingIn.set(connection, turns);
  const name = address.toLowerCase();
  const turn = (turns.get(name) ?? Promise.resolve()).then(run, run);
  turns.set(name, turn);
  const over = (): void => {
    if (turns.get(name) === turn) turns.delete(name);
  };
  turn.then(over, over);
  return untilAborted(turn, signal);
}

async function tokenByTypedData(
  connection: Connection,
  signer: TypedDataSigner,
  signal: AbortSignalLike | undefined,
): Promise<Token> {
  const { address } = signer;
  const challenge = { method: 'POST', path: '/v1/auth/challenge', body: { address }, signal } as const;
  const asked = await askPublicly(connection, challenge, { bucket: 'challenge', repeatable: true });
  const { typedData } = replyOf<{ typedData?: LoginTypedData }>(asked);
  if (typedData === undefined) throw unreadable('the answer has no challenge', asked);
  const signature = await signed(() => signer.signTypedData(typedData), signal);
  const verify = { method: 'POST', path: '/v1/auth/verify', body: { address, signature }, signal } as const;
  const verified = await askPublicly(connection, verify, { bucket: 'verify', repeatable: false });
  return readToken(connection, replyOf<{ token: string }>(verified).token, address);
}

async function tokenByMessage(
  connection: Connection,
  signer: MessageSigner,
  options: SignInMessageOptions,
  signal: AbortSignalLike | undefined,
): Promise<Token> {
  const { address } = signer;
  const nonceCall = { method: 'GET', path: '/api/auth/nonce', query: { address }, signal } as const;
  const asked = await askPublicly(connection, nonceCall, { bucket: 'challenge', repeatable: true });
  if (!isSuccess(asked)) throw errorOf(asked);
  const issuedAt = new Date(connection.clock.now()).toISOString();
  const message = signInMessage({ ...options, address, nonce: asked.text, issuedAt });
  const signature = await signed(() => signer.signMessage(message), signal);
  const body = { address, message, signature };
  const verify = { method: 'POST', path: '/api/auth/verify', body, signal } as const;
  const verified = await askPublicly(connection, verify, { bucket: 'verify', repeatable: false });
  return readToken(connection, replyOf<{ sessionToken: string }>(verified).sessionToken, address);
}

async function signed(sign: () => Promise<string>, signal: AbortSignalLike | undefined): Promise<string> {
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
function readToken({ clock }: Connection, text: string, address: string | undefined): Token {
  const { sub, iat, exp } = claimsOf(text);
  if (address !== undefined && sub.toLowerCase() !== address.toLowerCase())
    throw unreadable('the answer has the token of another wallet', { status: 200 });
  // The clocks of the service and of this machine may disagree; the lifetime of a new token is the same by both.
  const issuedAt = address === undefined ? iat * 1_000 : clock.now();
  const lifeMs = (exp - iat) * 1_000;
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
