/** Open orders, order history, fills, results and balances of the signed-in wallet. */

import { accountFault, moreOf, openOrders, shownTable } from '../state/account.ts';
import { demoOffered } from '../state/connection.ts';
import { session } from '../state/session.ts';
import { unseenFills } from '../state/tell.ts';
import { BalancesTable, FillsTable, HistoryTable, ListFilter, OpenOrdersTable } from './account-tables.tsx';
import { ResultsTable } from './results-table.tsx';
import { DemoFunds } from './wallet-dialog.tsx';

const TABS = [
  ['orders', 'Open orders'],
  ['history', 'History'],
  ['fills', 'Fills'],
  ['results', 'Results'],
  ['balances', 'Balances'],
] as const;

type Tab = (typeof TABS)[number][0];

const isListed = (tab: Tab): boolean => tab !== 'results' && tab !== 'balances';

export function Account() {
  return (
    <section class="panel account" aria-labelledby="account-heading">
      <h2 id="account-heading" class="visually-hidden">
        Your account
      </h2>
      <div class="account-head">
        <Tabs />
        {session.value !== null && isListed(shownTable.value) && <ListFilter />}
      </div>
      <div
        class="account-body"
        role="tabpanel"
        id="account-panel"
        aria-labelledby={`account-tab-${shownTable.value}`}
      >
        {session.value === null ? (
          <p class="empty-note muted">Sign in to see your orders, fills and balances.</p>
        ) : (
          <>
            {accountFault.value !== null && (
              <p class="note warn" role="status">
                Not up to date: {accountFault.value}. Trying again.
              </p>
            )}
            <Shown tab={shownTable.value} />
          </>
        )}
      </div>
    </section>
  );
}

/** The tabs. Arrow keys go from tab to tab, as in every list of tabs. */
function Tabs() {
  const choose = (tab: Tab): void => {
    shownTable.value = tab;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = TABS.findIndex(([tab]) => tab === shownTable.value);
    const [next] = TABS[(at + step + TABS.length) % TABS.length]!;
    choose(next);
    document.getElementById(`account-tab-${next}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Your account" onKeyDown={onKeyDown}>
      {TABS.map(([tab, name]) => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={`account-tab-${tab}`}
          aria-selected={shownTable.value === tab}
          aria-controls="account-panel"
          tabIndex={shownTable.value === tab ? 0 : -1}
          onClick={() => choose(tab)}
        >
          {name}
          {tab === 'fills' && unseenFills.value > 0 && (
            <span class="unseen">
              {' '}
              {unseenFills.value}
              <span class="visually-hidden"> new</span>
            </span>
          )}
          {tab === 'orders' && openOrders.value.length > 0 && (
            <span class="count">
              {' '}
              {openOrders.value.length}
              {moreOf('orders') && '+'}
            </span>
          )}
        </button>
      ))}
    </div>
  );
}

function Shown({ tab }: { tab: Tab }) {
  switch (tab) {
    case 'orders':
      return <OpenOrdersTable />;
    case 'history':
      return <HistoryTable />;
    case 'fills':
      return <FillsTable />;
    case 'results':
      return <ResultsTable />;
    case 'balances':
      return (
        <>
          {demoOffered && <DemoFunds />}
          <BalancesTable />
        </>
      );
  }
}
