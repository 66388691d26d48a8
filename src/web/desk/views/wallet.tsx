/** A wallet: balances, live orders, custody hold and its statement of the last days. */

import { signal } from '@preact/signals';
import type { Account, GetStatement, GetWallet, HoldWallet, ReleaseWallet } from '../operations.ts';
import { ask, type Given } from '../operators.ts';
import { useAnswer } from '../use-answer.ts';
import { usePages } from '../use-pages.ts';
import { askForAct, type Changes } from './act-dialog.tsx';
import { Facts, Listing, Panel, shownTime, Trouble } from './listing.tsx';
import { Search } from './search.tsx';

/** The wallet that is shown. */
const asked = signal('');

const DAY_MS = 86_400_000;
/** The longest statement of one request. */
const STATEMENT_DAYS = 31;

/** Whole days, so that the request stays the same for a while. */
function statementOf(wallet: string): Given<GetStatement> {
  const end = (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS;
  const day = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);
  return { wallet, from: day(end - STATEMENT_DAYS * DAY_MS), to: day(end), order: 'desc' };
}

export function Wallet() {
  return (
    <>
      <Search id="wallet" label="Address" placeholder="0x…" button="Show" asked={asked} />
      {asked.value !== '' && <Shown key={asked.value} address={asked.value} />}
    </>
  );
}

function Shown({ address }: { readonly address: string }) {
  const { answer, trouble } = useAnswer<GetWallet>('getWallet', { wallet: address });
  return (
    <>
      <Trouble text={trouble} />
      {answer !== undefined && (
        <>
          <Hold account={answer} />
          <Listing
            title="Balances"
            columns={['Asset', 'Total', 'Available', 'Reserved', 'Owed']}
            rows={answer.balances.map((one) => [
              one.asset,
              [one.asset, one.total, one.available, one.reserved, one.receivable],
            ])}
            empty="The wallet has no balances."
          />
          <Listing
            title="Live orders"
            columns={['Order', 'Market', 'Side', 'Price', 'Size', 'Remaining']}
            rows={answer.liveOrders.map((one) => [
              one.id,
              [one.id, one.market, one.side, one.price, one.size, one.remaining],
            ])}
            empty="The wallet has no live orders."
          />
          <Statement address={answer.wallet} />
        </>
      )}
    </>
  );
}

function Hold({ account: { wallet, held, terms } }: { readonly account: Account }) {
  const changesFrom = (isHeld: boolean): Changes => [
    ['custody hold', isHeld ? 'on' : 'off', held ? 'off' : 'on'],
  ];
  const change = (): void =>
    askForAct<HoldWallet | ReleaseWallet>({
      operation: held ? 'releaseWallet' : 'holdWallet',
      given: { wallet },
      title: held ? 'Release the wallet' : 'Hold the wallet',
      facts: [['Wallet', wallet]],
      changes: changesFrom(held),
      again: async () => changesFrom((await ask<GetWallet>('getWallet', { wallet })).held),
      done: `${wallet} is ${held ? 'released' : 'on hold, and its live orders are cancelled'}.`,
    });
  const button = (
    <button type="button" class={`button small ${held ? '' : 'danger'}`} onClick={change}>
      {held ? 'Release' : 'Hold'}
    </button>
  );
  return (
    <Panel title="Account" aside={button}>
      <Facts
        facts={[
          ['Wallet', wallet],
          ['Custody hold', held ? 'on: orders and withdrawals are refused' : 'off'],
          ['Accepted terms', terms.accepted ?? 'none'],
        ]}
      />
    </Panel>
  );
}

function Statement({ address }: { readonly address: string }) {
  const { answer, trouble, pages } = usePages<GetStatement>('getWalletStatement', statementOf(address));
  return (
    <Listing
      title={`Statement of the last ${STATEMENT_DAYS} days, newest first`}
      columns={['Time (UTC)', 'Kind', 'Asset', 'Amount', 'Market', 'Reference or order']}
      rows={answer?.lines.map((line, at) => [
        at,
        [
          shownTime(line.time),
          line.kind.replaceAll('_', ' '),
          line.asset,
          line.amount,
          line.market ?? '–',
          line.reference ?? line.orderId ?? '–',
        ],
      ])}
      empty="Nothing changed the balances."
      trouble={trouble}
      pages={pages}
    />
  );
}
