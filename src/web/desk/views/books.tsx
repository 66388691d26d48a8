/** The books: the last reconcile and the closed months. */

import type {
  CloseMonth,
  GetReconcile,
  GetStatus,
  ListClosings,
  ReopenMonth,
  Status,
} from '../operations.ts';
import type { Answer } from '../operators.ts';
import { useAnswer } from '../use-answer.ts';
import { askForAct } from './act-dialog.tsx';
import { Facts, Listing, Panel, shownTime, Trouble } from './listing.tsx';

export function Books() {
  const { answer, trouble } = useAnswer<GetStatus>('getServiceStatus', {});
  const reconcile = useAnswer<GetReconcile>('getLastReconcile', answer?.reconciled == null ? null : {});
  const closings = useAnswer<ListClosings>('listClosings', {});
  return (
    <>
      <Panel title="Last reconcile">
        <Trouble text={trouble} />
        {answer !== undefined && <LastReconcile last={answer.reconciled} />}
      </Panel>
      {answer?.reconciled !== null && (
        <Listing
          title="Checks"
          columns={['Check', 'Asset', 'Compared', 'Result']}
          rows={reconcile.answer && rowsOf(reconcile.answer)}
          empty="No results of single checks were kept."
          trouble={trouble ?? reconcile.trouble}
        />
      )}
      <Listing
        title="Closings"
        columns={['Month', 'Closed at (UTC)', 'Last event', 'Balances', 'Digest', 'State']}
        rows={closings.answer && rowsOfClosings(closings.answer)}
        empty="No month is closed."
        trouble={closings.trouble}
        aside={
          <button type="button" class="button small" onClick={() => closeMonth()}>
            Close month
          </button>
        }
      />
    </>
  );
}

/** The closings in force, of which the last can be withdrawn, and those that were. */
function rowsOfClosings({ closings, reopened }: Answer<ListClosings>) {
  const inForce = closings.map((one, at) => ({
    ...one,
    state: at === closings.length - 1 ? <Reopen key="state" closing={one} /> : 'in force',
  }));
  const withdrawn = reopened.map((one) => ({ ...one, state: `withdrawn ${shownTime(one.reopenedAt)}` }));
  return [...inForce, ...withdrawn].map(
    ({ month, closedAt, sequence, balances, digest, state }) =>
      [`${month} ${closedAt}`, [month, shownTime(closedAt), sequence, balances, digest, state]] as const,
  );
}

function Reopen({ closing }: { readonly closing: Answer<ListClosings>['closings'][number] }) {
  const { month, digest } = closing;
  const reopen = (): void =>
    askForAct<ReopenMonth>({
      operation: 'reopenMonth',
      given: { month },
      title: 'Reopen the month',
      facts: [
        ['Month', month],
        ['Withdrawn digest', `${digest}; its figures stay on record`],
      ],
      done: ({ isNew }) => `${month} ${isNew ? 'is open again' : 'was reopened before: nothing changed'}.`,
    });
  return (
    <button type="button" class="button small" onClick={reopen}>
      Reopen
    </button>
  );
}

/** @param month that is closed; absent: the dialog asks for it */
export const closeMonth = (month?: string): void =>
  askForAct<CloseMonth>({
    operation: 'closeMonth',
    given: month === undefined ? {} : { month },
    title: 'Close the month',
    facts: [
      ...(month === undefined ? [] : [['Month', month] as const]),
      ['Balances at its end (UTC)', 'are kept for good: a closed month stays as it is until it is reopened'],
    ],
    done: ({ month, isNew }) => `${month} ${isNew ? 'is closed' : 'was closed before: nothing changed'}.`,
  });

const rowsOf = ({ results }: Answer<GetReconcile>) =>
  (results ?? []).map(
    ({ name, asset, compared, differences }, at) =>
      [at, [name, asset ?? '', compared, <Result key="result" differences={differences} />]] as const,
  );

const Result = ({ differences }: { readonly differences: number }) =>
  differences === 0 ? <>holds</> : <strong>{differences} differences</strong>;

function LastReconcile({ last }: { readonly last: Status['reconciled'] }) {
  if (last === null) return <p class="note warn">The books were never reconciled.</p>;
  return (
    <>
      <p class={`note ${last.holds ? '' : 'error'}`}>
        {last.holds ? 'All checks hold.' : `${last.differences} differences were found.`}
      </p>
      <Facts
        facts={[
          ['Ended (UTC)', shownTime(last.at)],
          ['Up to event', `${last.sequence}`],
          ['Checks', `${last.checks}`],
          ['Failed checks', last.failedChecks.join(', ') || 'none'],
        ]}
      />
    </>
  );
}
