/** Signs a wallet in and out. */

import { type Signal, signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Session } from '../../client/index.ts';
import { demoOffered } from '../state/connection.ts';
import {
  askedWallet,
  isDemoSession,
  minutesLeft,
  session,
  sessionNotice,
  signInWithDemoWallet,
  signInWithWallet,
  signOut,
  stopAsking,
} from '../state/session.ts';
import type { DiscoveredWallet } from '../wallets/announcement.ts';
import { discoveredWallets, discoverWallets } from '../wallets/discovery.ts';
import { Dialog } from './dialog.tsx';
import { focusIfLost } from './lost-focus.ts';
import { StaySignedIn, WalletDialog } from './wallet-dialog.tsx';

/** True while the choice of wallets is open. */
const signInOpen: Signal<boolean> = signal(false);

const walletOpen = signal(false);

/** Opens the choice of wallets, also to renew a session that is about to end. */
export function openSignIn(): void {
  discoverWallets();
  signInOpen.value = true;
}

const shortAddress = (wallet: string): string => `${wallet.slice(0, 6)}…${wallet.slice(-4)}`;

export function SignIn() {
  const opened = session.value;
  const account = useRef<HTMLButtonElement>(null);
  const signIn = useRef<HTMLButtonElement>(null);
  const wasOpened = useRef(opened);
  useEffect(() => discoverWallets(), []);
  // The button that opened the dialog is gone after a change, so the browser cannot give the focus back to it.
  useEffect(() => {
    if (wasOpened.current === opened) return;
    wasOpened.current = opened;
    signInOpen.value = false;
    walletOpen.value = false;
    focusIfLost(() => (opened === null ? signIn : account).current);
  }, [opened]);
  return (
    <div class="sign-in">
      {opened === null ? (
        <button ref={signIn} type="button" class="button primary" onClick={openSignIn}>
          Sign in
        </button>
      ) : (
        <SignedIn opened={opened} account={account} />
      )}
      <SignInDialog />
      {opened !== null && (
        <WalletDialog
          opened={opened}
          open={walletOpen.value}
          onClose={() => {
            walletOpen.value = false;
          }}
        />
      )}
    </div>
  );
}

function SignedIn({ opened, account }: { opened: Session; account: RefObject<HTMLButtonElement | null> }) {
  return (
    <>
      {minutesLeft.value !== null && (
        <button type="button" class="button small danger" onClick={openSignIn}>
          Ends in {minutesLeft.value} min: sign in again
        </button>
      )}
      <button
        ref={account}
        type="button"
        class="button"
        onClick={() => {
          walletOpen.value = true;
        }}
      >
        <span class="visually-hidden">Wallet </span>
        {shortAddress(opened.wallet)}
        {isDemoSession.value && <span class="demo-tag">demo</span>}
      </button>
      <button type="button" class="button quiet sign-out" onClick={() => signOut()}>
        Sign out
      </button>
    </>
  );
}

function SignInDialog() {
  const asked = askedWallet.value;
  const close = (): void => {
    if (askedWallet.value !== null) stopAsking();
    signInOpen.value = false;
  };
  return (
    <Dialog open={signInOpen.value} title="Sign in with a wallet" onClose={close}>
      <p>
        The wallet signs a text that names this service and your address. Signing moves no funds and costs
        nothing.
      </p>
      <Wallets />
      {demoOffered && <DemoOffer />}
      <StaySignedIn />
      <p class="muted">
        Without the tick, a reload of the page asks for another signature. With it, the session is kept in
        this tab until it is closed.
      </p>
      <div role="status">
        {asked !== null && (
          <p class="note">
            Waiting for {asked}. Confirm in the wallet; its prompt may be behind this window.{' '}
            <button type="button" class="button small" onClick={stopAsking}>
              Stop waiting
            </button>
          </p>
        )}
        {sessionNotice.value !== null && <p class="note warn">{sessionNotice.value}</p>}
      </div>
    </Dialog>
  );
}

function Wallets() {
  const wallets = discoveredWallets.value;
  if (wallets.length === 0) {
    return (
      <p class="note">
        This browser has no wallet for this page. Install one, or open the page in the browser of your wallet
        app.
      </p>
    );
  }
  return (
    <ul class="wallets">
      {wallets.map((wallet) => (
        <li key={wallet.uuid}>
          <WalletButton wallet={wallet} />
        </li>
      ))}
    </ul>
  );
}

function WalletButton({ wallet }: { wallet: DiscoveredWallet }) {
  return (
    <button type="button" class="button wallet" onClick={() => void signInWithWallet(wallet)}>
      {wallet.icon !== null && <img src={wallet.icon} alt="" width="24" height="24" />}
      {wallet.name}
    </button>
  );
}

function DemoOffer() {
  return (
    <div class="demo-offer">
      <button type="button" class="button wallet" onClick={() => void signInWithDemoWallet()}>
        Demo wallet
      </button>
      <p class="note error">Throw-away: anyone with this browser has its key. Use it with play money only.</p>
    </div>
  );
}
