/** Pending withdrawals: confirms and returns them. */

import type { ConfirmWithdrawal, GetWithdrawals, ReturnWithdrawal, Withdrawal } from '../operations.ts';
import { useAnswer } from '../use-answer.ts';
import { askForAct } from './act-dialog.tsx';
import { Listing, shownTime } from './listing.tsx';

const EVERY_MS = 10_000;

export function Withdrawals() {
  const { answer, trouble } = useAnswer<GetWithdrawals>(
    'listWithdrawals',
    { state: 'pending', limit: 100 },
    EVERY_MS,
  );
  return (
    <Listing
      title="Pending withdrawals"
      columns={['Requested (UTC)', 'Reference', 'Wallet', 'Amount', 'Hold', 'Actions']}
      rows={answer?.withdrawals.map((one) => [
        one.reference,
        [
          shownTime(one.requestedAt),
          one.reference,
          one.wallet,
          `${one.amount} ${one.asset}`,
          one.held ? 'on hold: do not pay' : '–',
          <WithdrawalActions key="actions" withdrawal={one} />,
        ],
      ])}
      empty="No withdrawal is pending."
      trouble={trouble}
      more={answer?.nextCursor ? `the oldest ${answer.withdrawals.length}` : undefined}
    />
  );
}

function WithdrawalActions({ withdrawal }: { readonly withdrawal: Withdrawal }) {
  const { reference, wallet, amount, asset } = withdrawal;
  const facts = [
    ['Reference', reference],
    ['Wallet', wallet],
    ['Amount', `${amount} ${asset}`],
  ] as const;
  const confirm = (): void =>
    askForAct<ConfirmWithdrawal>({
      operation: 'confirmWithdrawal',
      given: { reference },
      title: 'Confirm the withdrawal',
      facts,
      changes: [['state', 'pending', 'confirmed']],
      done: `The withdrawal ${reference} is confirmed.`,
    });
  const giveBack = (): void =>
    askForAct<ReturnWithdrawal>({
      operation: 'returnWithdrawal',
      given: { reference },
      title: 'Return the withdrawal',
      facts,
      changes: [['state', 'pending', 'returned']],
      done: `The withdrawal ${reference} is returned to ${wallet}.`,
    });
  return (
    <span class="desk-actions">
      <button type="button" class="button small" onClick={confirm}>
        Confirm<span class="visually-hidden"> {reference}</span>
      </button>
      <button type="button" class="button small danger" onClick={giveBack}>
        Return<span class="visually-hidden"> {reference}</span>
      </button>
    </span>
  );
}
