/** The signed-in wallet: its address, the end of its session, and what belongs to a demo wallet. */

import { signal } from '@preact/signals';
import type { Session } from '../../client/index.ts';
import { momentText } from '../figures/clock-text.ts';
import { demoOffered } from '../state/connection.ts';
import { fundsNotice, getDemoFunds, isRequesting } from '../state/demo-funds.ts';
import { readDemoKey, sessionKeeper } from '../state/kept-session.ts';
import { confirmed } from '../state/question.ts';
import { burnDemoWallet, chooseKeeper, isDemoSession, signOut, walletName } from '../state/session.ts';
import { Dialog } from './dialog.tsx';

interface WalletDialogProps {
  readonly opened: Session;
  readonly open: boolean;
  readonly onClose: () => void;
}

const timeOf = (ms: number): string => momentText(new Date(ms), { hour: '2-digit', minute: '2-digit' });

export function WalletDialog({ opened, open, onClose }: WalletDialogProps) {
  return (
    <Dialog open={open} title="Your wallet" onClose={onClose}>
      <dl class="figures">
        <dt>Wallet</dt>
        <dd>{walletName.value}</dd>
        <dt>Address</dt>
        <dd>{opened.wallet}</dd>
        <dt>Session</dt>
        <dd>until {timeOf(opened.expiresAt)}</dd>
      </dl>
      <StaySignedIn />
      {demoOffered && <DemoFunds />}
      {isDemoSession.value && <DemoKey onDelete={onClose} />}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={() => signOut()}>
          Sign out of this page
        </button>
      </div>
    </Dialog>
  );
}

export function DemoFunds() {
  return (
    <div class="demo-funds">
      <button type="button" class="button" onClick={() => void getDemoFunds()}>
        Get demo funds
      </button>
      <span role="status">{isRequesting.value ? 'Asking…' : fundsNotice.value}</span>
    </div>
  );
}

const shownKey = signal<string | null>(null);

function DemoKey({ onDelete }: { onDelete: () => void }) {
  const burn = async (): Promise<void> => {
    const agreed = await confirmed({
      title: 'Destroy the demo wallet?',
      text: 'Its key is erased from this browser. Whatever it holds can never be moved again.',
      action: 'Destroy it',
    });
    if (!agreed) return;
    shownKey.value = null;
    onDelete();
    burnDemoWallet();
  };
  return (
    <div class="demo-key">
      <p class="note error">Throw-away: anyone with this browser has its key.</p>
      <div class="dialog-actions">
        <button
          type="button"
          class="button"
          aria-expanded={shownKey.value !== null}
          onClick={() => {
            shownKey.value = shownKey.value === null ? readDemoKey() : null;
          }}
        >
          Export the key
        </button>
        <button type="button" class="button danger" onClick={() => void burn()}>
          Delete this wallet
        </button>
      </div>
      {shownKey.value !== null && (
        <input
          class="input"
          type="text"
          readOnly
          aria-label="Private key of the demo wallet"
          value={shownKey.value}
          onFocus={(event) => event.currentTarget.select()}
        />
      )}
    </div>
  );
}

/** The boxes that keep the session across reloads, in this tab or in all tabs. */
export function StaySignedIn() {
  const keeper = sessionKeeper.value;
  return (
    <>
      <label class="check">
        <input
          type="checkbox"
          checked={keeper !== null}
          onChange={(event) => chooseKeeper(event.currentTarget.checked ? 'tab' : null)}
        />
        Stay signed in in this tab
      </label>
      {keeper !== null && (
        <label class="check">
          <input
            type="checkbox"
            checked={keeper === 'browser'}
            onChange={(event) => chooseKeeper(event.currentTarget.checked ? 'browser' : 'tab')}
          />
          Also in other tabs of this browser, until you sign out
        </label>
      )}
    </>
  );
}
