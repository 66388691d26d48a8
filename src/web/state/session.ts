/** The session of the signed-in wallet: how it signed in, how long the session lasts, and why it ended. */

import { batch, type Signal, signal } from '@preact/signals';
import {
  RedbookError,
  restoreSession,
  type Session,
  signIn,
  type TypedDataSigner,
} from '../../client/index.ts';
import type { DiscoveredWallet } from '../wallets/announcement.ts';
import { connectWallet, watchAccount } from '../wallets/browser-signer.ts';
import type { DemoWallet } from '../wallets/demo-wallet.ts';
import { discoveredWallets } from '../wallets/discovery.ts';
import { isRefusal, walletFault } from '../wallets/wallet-fault.ts';
import { announce } from './announcements.ts';
import { connection } from './connection.ts';
import {
  followOtherTabs,
  forgetSession,
  type KeptSession,
  keepDemoKey,
  keepRenewed,
  keepSession,
  readDemoKey,
  readKeptSession,
  sessionKeeper,
  takeOver,
} from './kept-session.ts';
import type { Keeper } from './storage.ts';

export const session: Signal<Session | null> = signal(null);

/** Name of the wallet of the session; null when nobody is signed in. */
export const walletName: Signal<string | null> = signal(null);

/** True when the session belongs to the throw-away wallet of this browser. */
export const isDemoSession: Signal<boolean> = signal(false);

/** Reason why nobody is signed in, when the reader should know it. */
export const sessionNotice: Signal<string | null> = signal(null);

/** Name of the wallet that is asked to sign; null when none is. */
export const askedWallet: Signal<string | null> = signal(null);

/** Minutes that the session still lasts, once they are 10 or fewer and it does not renew itself; null before. */
export const minutesLeft: Signal<number | null> = signal(null);

const DEMO_NAME = 'Demo wallet';
const WARNED_MINUTES = 10;
const MINUTE_MS = 60_000;
const CHECK_MS = 5_000;

let origin = '';
let endWatch: () => void = () => {};
let attempt: AbortController | null = null;

const shortOf = (wallet: string): string => `${wallet.slice(0, 6)}…${wallet.slice(-4)}`;

function begin(opened: Session, name: string, from: string): void {
  endWatch();
  origin = from;
  batch(() => {
    session.value = opened;
    walletName.value = name;
    isDemoSession.value = from === 'demo';
    sessionNotice.value = null;
    minutesLeft.value = null;
  });
}

/** Returns the session as it is kept. */
const keptOf = ({ token, wallet }: Session): KeptSession => ({
  token,
  wallet,
  origin,
  name: walletName.value ?? '',
});

/** Chooses who keeps the session across reloads. Takes effect at once. @param keeper null keeps it in memory only */
export function chooseKeeper(keeper: Keeper | null): void {
  sessionKeeper.value = keeper;
  if (session.value !== null) keepSession(keptOf(session.value));
}

/** @param reason shown and spoken; none when the reader signed out, which the other tabs of the session follow */
export function signOut(reason?: string): void {
  attempt?.abort();
  endWatch();
  endWatch = () => {};
  batch(() => {
    session.value = null;
    walletName.value = null;
    isDemoSession.value = false;
    askedWallet.value = null;
    minutesLeft.value = null;
    sessionNotice.value = reason ?? null;
  });
  forgetSession(reason === undefined);
  announce(reason ?? 'Signed out. Open orders stay in the book.', reason === undefined ? 'status' : 'alert');
}

/**
 * Ends the session after an answer that says its token is not valid. All forms stay as they are.
 * @returns true when the error was such an answer
 */
export function endAfter(thrown: unknown, asked: Session): boolean {
  if (!(thrown instanceof RedbookError) || thrown.code !== 'UNAUTHORIZED') return false;
  if (session.value === asked) signOut('The session has ended. Sign in again; the order form is kept.');
  return true;
}

async function signInAs(
  name: string,
  from: string,
  connect: () => Promise<TypedDataSigner>,
): Promise<Session | null> {
  attempt?.abort();
  const own = new AbortController();
  attempt = own;
  batch(() => {
    askedWallet.value = name;
    sessionNotice.value = null;
  });
  announce(`Waiting for ${name}.`);
  try {
    const signer = await connect();
    const opened = await signIn(connection, signer, { signal: own.signal });
    if (own.signal.aborted) return null;
    begin(opened, name, from);
    keepSession(keptOf(opened));
    announce(`Signed in with ${name} as ${shortOf(opened.wallet)}.`);
    return opened;
  } catch (thrown) {
    if (own.signal.aborted) return null;
    const text = faultOf(thrown, name);
    sessionNotice.value = text;
    announce(text, isRefusal(thrown) ? 'status' : 'alert');
    return null;
  } finally {
    if (attempt === own) {
      attempt = null;
      askedWallet.value = null;
    }
  }
}

const faultOf = (thrown: unknown, name: string): string =>
  thrown instanceof RedbookError && thrown.code !== 'SIGNING_FAILED'
    ? `Signing in failed: ${thrown.message}.`
    : walletFault(thrown instanceof RedbookError ? thrown.cause : thrown, name);

/** Stops waiting for a wallet. A prompt that is open in the wallet stays open there. */
export function stopAsking(): void {
  attempt?.abort();
  attempt = null;
  batch(() => {
    askedWallet.value = null;
    sessionNotice.value = null;
  });
}

export async function signInWithWallet(wallet: DiscoveredWallet): Promise<void> {
  const opened = await signInAs(wallet.name, wallet.rdns, () => connectWallet(wallet));
  if (opened !== null) watchWallet(opened, wallet);
}

function watchWallet(opened: Session, { name, provider }: DiscoveredWallet): void {
  endWatch = watchAccount(provider, opened.wallet, {
    onOther() {
      if (session.value === opened)
        signOut(`${name} has changed to another account, so you were signed out.`);
    },
    onNone() {
      if (session.value === opened)
        announce(`${name} is locked, or shows this page no account any more. You stay signed in.`);
    },
  });
}

// --- the throw-away wallet --------------------------------------------------------------------------------

/** Loads the wallet's code, a chunk of its own that most readers never need. */
async function openDemo(): Promise<DemoWallet> {
  const { openDemoWallet } = await import('../wallets/demo-wallet.ts');
  const wallet = openDemoWallet(readDemoKey() ?? undefined);
  keepDemoKey(wallet.privateKey);
  return wallet;
}

const demoSigner = (wallet: DemoWallet): TypedDataSigner => ({
  address: wallet.address,
  prompts: false,
  signTypedData: (typedData) => Promise.resolve(wallet.signTypedData({ ...typedData })),
});

/** Signs in with the demo wallet of this browser. A reload keeps the session unless the reader chose otherwise. */
export async function signInWithDemoWallet(): Promise<void> {
  sessionKeeper.value ??= 'tab';
  await signInAs(DEMO_NAME, 'demo', async () => demoSigner(await openDemo()));
}

/** Forgets the demo wallet for good: nobody can sign for it again, and its funds stay where they are. */
export function burnDemoWallet(): void {
  keepDemoKey(null);
  signOut('The demo wallet was destroyed. Its key is gone.');
}

// --- reload and time --------------------------------------------------------------------------------------

async function restore({ token, name, origin: from }: KeptSession): Promise<void> {
  const signer = from === 'demo' && readDemoKey() !== null ? demoSigner(await openDemo()) : undefined;
  const restored = restoreSession(connection, token, signer);
  begin(restored, name, from);
  watchWhenFound(restored, from);
}

/** Watches a wallet once it announces itself, which after a reload takes some time. */
function watchWhenFound(opened: Session, rdns: string): void {
  endWatch = discoveredWallets.subscribe((wallets) => {
    const wallet = wallets.find((one) => one.rdns === rdns && rdns !== '');
    if (wallet !== undefined) queueMicrotask(() => session.value === opened && rewatch(opened, wallet));
  });
}

function rewatch(opened: Session, wallet: DiscoveredWallet): void {
  endWatch();
  watchWallet(opened, wallet);
}

/** Warns ten minutes before a session ends. Only the service ends it: the clock here may be wrong. */
function checkTime(): void {
  const { value: opened } = session;
  if (opened === null) return;
  keepRenewed(keptOf(opened));
  if (isDemoSession.value) return;
  const leftMs = opened.expiresAt - Date.now();
  if (leftMs <= WARNED_MINUTES * MINUTE_MS) warn(Math.max(0, Math.ceil(leftMs / MINUTE_MS)));
  else minutesLeft.value = null;
}

function warn(minutes: number): void {
  if (minutesLeft.value === null) {
    announce(`The session ends in ${minutes} minutes. Sign in again to go on.`, 'alert');
  }
  minutesLeft.value = minutes;
}

const restoreOrSay = (kept: KeptSession): void =>
  void restore(kept).catch(() => signOut('The session could not be restored. Sign in again.'));

/** Takes over a session that another tab keeps for all tabs. */
function followKept(kept: KeptSession): void {
  if (session.value !== null || askedWallet.value !== null) return;
  takeOver(kept, 'browser');
  restoreOrSay(kept);
}

/** Restores the session that was kept, and watches its time for as long as the page is open. */
export function startSession(): void {
  const kept = readKeptSession();
  if (kept !== null) restoreOrSay(kept);
  followOtherTabs({
    onKept: followKept,
    onEnd: () => session.value !== null && signOut('You signed out in another tab.'),
  });
  setInterval(checkTime, CHECK_MS);
}
