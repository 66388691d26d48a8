/** The desk: sign-in, and then one view at a time. */

import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { THEMES, theme } from '../../state/theme.ts';
import { key, signOut } from '../operators.ts';
import { ActDialog, told } from './act-dialog.tsx';
import { Acts } from './acts.tsx';
import { Approvals } from './approvals.tsx';
import { Books } from './books.tsx';
import { KillSwitch } from './kill-switch.tsx';
import { Markets } from './markets.tsx';
import { OtherActs } from './other-acts.tsx';
import { Reports } from './reports.tsx';
import { SignIn } from './sign-in.tsx';
import { StatusView } from './status.tsx';
import { Wallet } from './wallet.tsx';
import { Withdrawals } from './withdrawals.tsx';

const VIEWS: Readonly<Record<string, () => ComponentChildren>> = {
  Status: StatusView,
  Markets,
  Wallet,
  Withdrawals,
  Approvals,
  Acts,
  Books,
  Reports,
  'Kill switch': KillSwitch,
  More: OtherActs,
};

const chosen = signal('Status');

export function Desk() {
  const View = VIEWS[chosen.value]!;
  return (
    <>
      <header class="desk-bar">
        <h1>Desk</h1>
        {key.value !== null && <Views />}
        <ThemeChoice />
        {key.value !== null && (
          <button type="button" class="button" onClick={signOut}>
            Sign out
          </button>
        )}
      </header>
      <p class="note desk-told" role="status">
        {told.value}
      </p>
      <main class="desk">{key.value === null ? <SignIn /> : <View key={chosen.value} />}</main>
      <ActDialog />
    </>
  );
}

const Views = () => (
  <nav aria-label="Views">
    {Object.keys(VIEWS).map((name) => (
      <button
        key={name}
        type="button"
        class="button quiet"
        aria-current={name === chosen.value ? 'page' : undefined}
        onClick={() => {
          chosen.value = name;
          told.value = null;
        }}
      >
        {name}
      </button>
    ))}
  </nav>
);

const ThemeChoice = () => (
  <label class="desk-theme">
    Theme{' '}
    <select
      class="small"
      value={theme.value}
      onChange={({ currentTarget }) => {
        theme.value = THEMES.find((name) => name === currentTarget.value)!;
      }}
    >
      {THEMES.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  </label>
);
