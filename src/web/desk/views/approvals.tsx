/** Movements that wait for the approval of a second person. */

import { shown } from '../../../domain/text.ts';
import type { ApproveMovement, GetApprovals, RefuseMovement, Waiting } from '../operations.ts';
import { ownKey } from '../operators.ts';
import { usePages } from '../use-pages.ts';
import { askForAct } from './act-dialog.tsx';
import { Listing, shownTime } from './listing.tsx';

const EVERY_MS = 3_000;
const PAGE = 50;

const COLUMNS = [
  'Asked (UTC)',
  'Asked by',
  'Kind',
  'Amount',
  'Wallet',
  'Reference',
  'Reason',
  'Until (UTC)',
  'Actions',
];

export function Approvals() {
  const { answer, trouble, pages } = usePages<GetApprovals>(
    'listWaitingMovements',
    { order: 'desc', limit: PAGE },
    EVERY_MS,
  );
  return (
    <Listing
      title="Movements that wait, newest first"
      columns={COLUMNS}
      rows={answer?.movements.map((one) => [
        `${one.kind} ${one.reference}`,
        [
          shownTime(one.askedAt),
          one.key,
          one.kind,
          `${one.amount} ${one.asset}`,
          one.wallet,
          one.reverses === null ? one.reference : `${one.reference}, which reverses ${one.reverses}`,
          one.reason,
          shownTime(one.expiresAt),
          <Decisions key="actions" waiting={one} />,
        ],
      ])}
      empty="No movement waits."
      trouble={trouble}
      pages={pages}
    />
  );
}

/** The right that a key needs to decide movements of a kind. */
const RIGHTS = { deposit: 'credit', withdrawal: 'debit' } as const;

function decide(waiting: Waiting, isApproval: boolean): void {
  const { reference, kind, askedAt, expiresAt, key, wallet, amount, asset, reason, reverses } = waiting;
  askForAct<ApproveMovement | RefuseMovement>({
    operation: isApproval ? 'approveMovement' : 'refuseMovement',
    given: { reference, kind, askedAt },
    title: isApproval ? 'Approve the movement' : 'Refuse the movement',
    facts: [
      ['Reference', reference],
      ...(reverses === null ? [] : [['Reverses', reverses] as const]),
      ['Wallet', wallet],
      ['Asked by', `${key}: ${reason}`],
      ['Asked (UTC)', shownTime(askedAt)],
      ['Until (UTC)', shownTime(expiresAt)],
    ],
    changes: [[`${kind} of ${amount} ${asset}`, 'waits', isApproval ? 'is booked' : 'is never booked']],
    done: `The ${kind} ${reference} is ${isApproval ? 'approved and booked' : 'refused'}.`,
  });
}

/** Nothing where the key may not decide: the one that asked, and one without the right. */
function Decisions({ waiting }: { readonly waiting: Waiting }) {
  const { name, rights } = ownKey.value!;
  if (name === waiting.key) return <>another key decides it</>;
  if (!rights.includes(RIGHTS[waiting.kind])) return <>–</>;
  return (
    <span class="desk-actions">
      {([true, false] as const).map((isApproval) => (
        <button
          key={`${isApproval}`}
          type="button"
          class={`button small${isApproval ? '' : ' danger'}`}
          onClick={() => decide(waiting, isApproval)}
        >
          {isApproval ? 'Approve' : 'Refuse'}
          <span class="visually-hidden"> {shown(waiting.reference)}</span>
        </button>
      ))}
    </span>
  );
}
