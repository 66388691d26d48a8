/** Withdrawals, pending or found by their reference: takes, releases, confirms and returns them. */

import { signal } from '@preact/signals';
import { shown } from '../../../domain/text.ts';
import type {
  ConfirmWithdrawal,
  GetWithdrawal,
  GetWithdrawals,
  ReleaseWithdrawal,
  ReturnWithdrawal,
  TakeWithdrawal,
  Withdrawal,
} from '../operations.ts';
import { useAnswer } from '../use-answer.ts';
import { usePages } from '../use-pages.ts';
import { askForAct } from './act-dialog.tsx';
import { Listing, shownTime } from './listing.tsx';
import { Search } from './search.tsx';

const EVERY_MS = 10_000;
const PAGE = 100;
/** A person pays within an hour. */
const TAKEN_FOR_MS = 3_600_000;

const NOBODY = '–';

/** The reference that is looked for. */
const asked = signal('');

function ownerOf({ taken }: Withdrawal): string {
  if (taken === null) return NOBODY;
  const isOverdue = Date.parse(taken.until) < Date.now();
  return `${taken.by} (${taken.key}) ${isOverdue ? 'overdue since' : 'until'} ${shownTime(taken.until)}`;
}

export function Withdrawals() {
  const { answer, trouble, pages } = usePages<GetWithdrawals>(
    'listWithdrawals',
    { state: 'pending', limit: PAGE },
    EVERY_MS,
  );
  return (
    <>
      <Search id="reference" label="Reference" button="Find" asked={asked} />
      {asked.value !== '' && <Found key={asked.value} reference={asked.value} />}
      <Listing
        title="Pending withdrawals, oldest first"
        columns={['Requested (UTC)', 'Reference', 'Wallet', 'Amount', 'Hold', 'Taken by', 'Actions']}
        rows={answer?.withdrawals.map((one) => [
          one.reference,
          [
            shownTime(one.requestedAt),
            one.reference,
            one.wallet,
            `${one.amount} ${one.asset}`,
            one.held ? 'on hold: do not pay' : NOBODY,
            ownerOf(one),
            <WithdrawalActions key="actions" withdrawal={one} />,
          ],
        ])}
        empty="No withdrawal is pending."
        trouble={trouble}
        pages={pages}
      />
    </>
  );
}

/** The withdrawal of a reference, whatever its state. */
function Found({ reference }: { readonly reference: string }) {
  const { answer, trouble } = useAnswer<GetWithdrawal>('getWithdrawal', { reference });
  return (
    <Listing
      title="Withdrawal of the reference"
      columns={['State', 'Wallet', 'Amount', 'Transaction', 'Hold', 'Taken by', 'Actions']}
      rows={
        answer && [
          [
            reference,
            [
              answer.state,
              answer.wallet,
              `${answer.amount} ${answer.asset}`,
              answer.txid ?? NOBODY,
              answer.held ? 'on hold: do not pay' : NOBODY,
              ownerOf(answer),
              answer.state === 'pending' ? <WithdrawalActions key="actions" withdrawal={answer} /> : NOBODY,
            ],
          ],
        ]
      }
      empty=""
      trouble={trouble}
    />
  );
}

const factsOf = ({ reference, wallet, amount, asset, taken }: Withdrawal) => [
  ['Reference', reference] as const,
  ['Wallet', wallet] as const,
  ['Amount', `${amount} ${asset}`] as const,
  ...(taken === null ? [] : [['Taken by', taken.by] as const]),
];

/** Whoever acts on a taken withdrawal names the one who took it. */
const givenOf = ({ reference, taken }: Withdrawal) => ({
  reference,
  ...(taken !== null && { by: taken.by }),
});

function take(withdrawal: Withdrawal): void {
  const { reference } = withdrawal;
  const until = new Date(Date.now() + TAKEN_FOR_MS).toISOString();
  askForAct<TakeWithdrawal>({
    operation: 'takeWithdrawal',
    given: { reference, until },
    title: 'Take the withdrawal',
    facts: factsOf(withdrawal),
    changes: [['taken until', NOBODY, shownTime(until)]],
    done: ({ taken }) => `The withdrawal ${reference} is taken by ${taken?.by}.`,
  });
}

function release(withdrawal: Withdrawal): void {
  askForAct<ReleaseWithdrawal>({
    operation: 'releaseWithdrawal',
    given: givenOf(withdrawal),
    title: 'Release the withdrawal',
    facts: factsOf(withdrawal),
    changes: [['taken by', ownerOf(withdrawal), 'nobody: no transaction pays it']],
    done: `The withdrawal ${withdrawal.reference} is released.`,
  });
}

function confirm(withdrawal: Withdrawal): void {
  askForAct<ConfirmWithdrawal>({
    operation: 'confirmWithdrawal',
    given: givenOf(withdrawal),
    title: 'Confirm the withdrawal',
    facts: factsOf(withdrawal),
    changes: [['state', 'pending', 'confirmed']],
    done: `The withdrawal ${withdrawal.reference} is confirmed.`,
  });
}

function giveBack(withdrawal: Withdrawal): void {
  const { reference, wallet } = withdrawal;
  askForAct<ReturnWithdrawal>({
    operation: 'returnWithdrawal',
    given: { reference },
    title: 'Return the withdrawal',
    facts: factsOf(withdrawal),
    changes: [['state', 'pending', 'returned']],
    done: `The withdrawal ${reference} is returned to ${wallet}.`,
  });
}

function WithdrawalActions({ withdrawal }: { readonly withdrawal: Withdrawal }) {
  const actions =
    withdrawal.taken === null
      ? ([
          ['Take', take],
          ['Confirm', confirm],
          ['Return', giveBack],
        ] as const)
      : ([
          ['Confirm', confirm],
          ['Release', release],
        ] as const);
  return (
    <span class="desk-actions">
      {actions.map(([name, act]) => (
        <button
          key={name}
          type="button"
          class={`button small${name === 'Return' || name === 'Release' ? ' danger' : ''}`}
          onClick={() => act(withdrawal)}
        >
          {name}
          <span class="visually-hidden"> {shown(withdrawal.reference)}</span>
        </button>
      ))}
    </span>
  );
}
