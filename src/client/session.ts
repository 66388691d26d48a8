/** Sessions: their token and its renewal, and requests as a session. */

import { ask } from './asking.ts';
import type { Connection } from './connection.ts';
import { RedbookError } from './errors.ts';
import {
  type Answer,
  bounded,
  type Call,
  type CallOptions,
  exchange,
  inTime,
  isSuccess,
  replyOf,
} from './exchange.ts';
import { guessedTime, runningTime, shownTime } from './own-clock.ts';
import {
  type MessageSigner,
  readToken,
  type SigningIn,
  type Token,
  type TypedDataSigner,
  tokenByMessage,
  tokenByTypedData,
} from './sign-in.ts';
import type { SignInMessageOptions } from './sign-in-message.ts';

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
  /** Unix milliseconds by the connection's clock as it is set now. */
  readonly expiresAt: number;
}

interface Credentials {
  token: Token;
  /** Signs in again; undefined for a session that was restored from its token alone, and after `signOut`. */
  signIn: ((signingIn: SigningIn) => Promise<Token>) | undefined;
  readonly prompts: boolean;
  renewal: Promise<void> | undefined;
  /** Running time of the last signature that no caller asked for, and the time until another one may follow. */
  signedAt: number;
  pauseMs: number;
  /** Failure of the last renewal; undefined once one has succeeded. */
  failure: unknown;
  isSignedOut: boolean;
}

/**
 * Shortest and longest pause between two renewals that no caller asks for. The pause doubles until a renewed token is
 * accepted, so that a service which refuses every token gets few signatures and a mended one finds the session again.
 */
const MIN_PAUSE_MS = 60_000;
const MAX_PAUSE_MS = 3_600_000;

/** Ends a renewal that an answer of the service has shown to be needless. */
class Needless extends Error {}

const credentialsOf = /* @__PURE__ */ new WeakMap<Session, Credentials>();

function openSession(
  connection: Connection,
  token: Token,
  signer: Pick<Credentials, 'signIn' | 'prompts'>,
): Session {
  const credentials: Credentials = {
    token,
    ...signer,
    renewal: undefined,
    signedAt: 0,
    pauseMs: 0,
    failure: undefined,
    isSignedOut: false,
  };
  const session: Session = {
    connection,
    wallet: token.wallet,
    get token() {
      return credentials.token.text;
    },
    get expiresAt() {
      return shownTime(connection) + credentials.token.expiresAt - guessedTime(connection);
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
  options: CallOptions = {},
): Promise<Session> {
  const again = (signingIn: SigningIn): Promise<Token> => tokenByTypedData(connection, signer, signingIn);
  const token = await bounded(connection, options, (signal) => again({ signal }));
  return openSession(connection, token, { signIn: again, prompts: signer.prompts });
}

/** Signs in by a message (EIP-4361). `host` must be a web host of the service. */
export async function signInWithMessage(
  connection: Connection,
  signer: MessageSigner,
  options: SignInMessageOptions & CallOptions,
): Promise<Session> {
  const again = (signingIn: SigningIn): Promise<Token> =>
    tokenByMessage(connection, signer, options, signingIn);
  const token = await bounded(connection, options, (signal) => again({ signal }));
  return openSession(connection, token, { signIn: again, prompts: signer.prompts });
}

/**
 * Returns the session of a token that was kept. Without its signer it cannot be renewed.
 * @throws RedbookError `UNREADABLE_ANSWER` when the text is no token
 */
export function restoreSession(connection: Connection, token: string, signer?: TypedDataSigner): Session {
  const read = readToken(connection, token, undefined);
  if (signer === undefined) return openSession(connection, read, { signIn: undefined, prompts: false });
  const again = (signingIn: SigningIn): Promise<Token> => tokenByTypedData(connection, signer, signingIn);
  return openSession(connection, read, { signIn: again, prompts: signer.prompts });
}

/**
 * Signs in again with the session's signer. A wallet that prompts does so now.
 * @throws RedbookError `NO_SIGNER` for a session that was restored from its token alone
 */
export function renew(session: Session, options: CallOptions = {}): Promise<void> {
  return bounded(session.connection, options, (signal) => renewed(credentialsOf.get(session)!, { signal }));
}

/**
 * Ends a session here: forgets its token and its signer, so that every further call of it throws `SIGNED_OUT`. The
 * service keeps no list of sessions, so a copy of the token stays valid until it expires. Orders stay.
 */
export function signOut(session: Session): void {
  const credentials = credentialsOf.get(session)!;
  credentials.isSignedOut = true;
  credentials.signIn = undefined;
  credentials.token = { ...credentials.token, text: '', expiresAt: guessedTime(session.connection) };
}

const signedOut = (): RedbookError =>
  new RedbookError({ code: 'SIGNED_OUT', message: 'the session was ended', outcome: 'refused' });

/** @throws RedbookError `SIGNED_OUT` */
function assertSignedIn({ isSignedOut }: Credentials): void {
  if (isSignedOut) throw signedOut();
}

/** Signs in again, unless that is under way. */
function renewed(credentials: Credentials, signingIn: SigningIn): Promise<void> {
  if (credentials.isSignedOut) return Promise.reject(signedOut());
  if (credentials.signIn === undefined) {
    const message = 'the session was restored from its token: sign in again';
    return Promise.reject(new RedbookError({ code: 'NO_SIGNER', message, outcome: 'refused' }));
  }
  credentials.renewal ??= credentials
    .signIn(signingIn)
    .then(
      (token) => {
        assertSignedIn(credentials);
        credentials.token = token;
        credentials.failure = undefined;
      },
      (error: unknown) => {
        if (error instanceof Needless) return;
        credentials.failure = error;
        throw error;
      },
    )
    .finally(() => {
      credentials.renewal = undefined;
    });
  // Those who wait for it see its failure, and it may be that nobody waits any more.
  credentials.renewal.catch(() => undefined);
  return credentials.renewal;
}

/**
 * Renews a session that renews itself.
 * @param isNeeded asked again before a signature, when the service's time is known
 * @returns undefined when it does not renew itself, or when its last signature is too recent
 */
function renewedByItself(
  connection: Connection,
  credentials: Credentials,
  isNeeded: () => boolean,
): Promise<void> | undefined {
  const { signIn, prompts, renewal, signedAt, pauseMs } = credentials;
  if (signIn === undefined || prompts) return undefined;
  if (renewal !== undefined) return renewal;
  if (runningTime(connection) - signedAt < pauseMs) return undefined;
  const nextMs = Math.min(Math.max(2 * pauseMs, MIN_PAUSE_MS), MAX_PAUSE_MS);
  const onSign = (): void => {
    if (!isNeeded()) throw new Needless();
    credentials.signedAt = runningTime(connection);
    credentials.pauseMs = nextMs;
  };
  return renewed(credentials, { signal: undefined, onSign });
}

type Wait = Pick<Call, 'signal' | 'answerWithinMs'>;
const RENEWAL = 'the renewal of the session';

/**
 * Renews the token of a session that renews itself: in the background when the token is old, and before this returns
 * when it has expired.
 * @param wait bounds the wait, as for the answer to a request
 */
export async function freshen(session: Session, wait: Wait): Promise<void> {
  const { connection } = session;
  const credentials = credentialsOf.get(session)!;
  assertSignedIn(credentials);
  const { renewsAt, expiresAt } = credentials.token;
  const isOld = (): boolean => guessedTime(connection) >= renewsAt;
  const isOver = (): boolean => guessedTime(connection) >= expiresAt;
  if (!isOld()) return;
  const renewal = renewedByItself(connection, credentials, isOld);
  if (!isOver()) return;
  if (renewal === undefined && credentials.failure !== undefined) throw credentials.failure;
  // An answer to the renewal tells the service's time, and then the token may be good after all.
  await inTime(connection, RENEWAL, wait, async () => renewal).catch((error: unknown) => {
    if (isOver() || wait.signal?.aborted) throw error;
  });
}

/**
 * After a 401: renews a session that renews itself, unless another request has done so.
 * @param token token that was refused
 * @param wait bounds the wait, as for the answer to a request
 * @returns true if there is another token now
 */
export async function renewRefused(session: Session, token: string, wait: Wait): Promise<boolean> {
  const { connection } = session;
  const credentials = credentialsOf.get(session)!;
  const isRefused = (): boolean => credentials.token.text === token;
  const renewal = isRefused() ? renewedByItself(connection, credentials, isRefused) : undefined;
  if (renewal !== undefined) await inTime(connection, RENEWAL, wait, () => renewal);
  return credentials.token.text !== token;
}

/** Sends a request with the session's token, once. */
export async function exchangeOnce(session: Session, call: Call): Promise<Answer> {
  const credentials = credentialsOf.get(session)!;
  assertSignedIn(credentials);
  const answer = await exchange(session.connection, { ...call, token: credentials.token.text });
  if (isSuccess(answer)) credentials.pauseMs = Math.min(credentials.pauseMs, MIN_PAUSE_MS);
  return answer;
}

/**
 * Sends a request with a session, and once more after a 401 that a renewal fixes: a 401 means that the request had no
 * effect.
 */
export async function exchangeAs(session: Session, call: Call): Promise<Answer> {
  await freshen(session, call);
  const { token } = session;
  const answer = await exchangeOnce(session, call);
  if (answer.status !== 401 || !(await renewRefused(session, token, call))) return answer;
  return await exchangeOnce(session, call);
}

/**
 * Asks with a session.
 * @param repeatable true if the request may be sent again after a lost answer
 */
export const askAs = async <Value extends object>(
  session: Session,
  call: Call,
  repeatable: boolean,
): Promise<Value> => replyOf<Value>(await answerAs(session, call, repeatable));

/** Asks with a session, and returns an answer that is not JSON as it came. */
export const answerAs = (session: Session, call: Call, repeatable: boolean): Promise<Answer> =>
  ask(session.connection, call, { repeatable }, (signal) => exchangeAs(session, { ...call, signal }));

/** Sends a request with a session, once. */
export async function sendAs<Value extends object>(session: Session, call: Call): Promise<Value> {
  const send = (signal: Call['signal']): Promise<Answer> => exchangeAs(session, { ...call, signal });
  return replyOf<Value>(await bounded(session.connection, call, send));
}
