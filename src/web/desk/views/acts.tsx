/** The acts of operators and keys since a day. */

import { signal } from '@preact/signals';
import type { GetActs } from '../operations.ts';
import type { Answer, Given } from '../operators.ts';
import { usePages } from '../use-pages.ts';
import { Listing, shownTime } from './listing.tsx';
import { Search } from './search.tsx';

const DAYS = 7;
/** An act is listed once it is settled. */
const EVERY_MS = 3_000;
const PAGE = 100;

const since = signal(new Date(Date.now() - DAYS * 86_400_000).toISOString().slice(0, 10));
/** A wallet, or the name of a person or of a key; empty: acts of and by all. */
const asked = signal('');

const WALLET = /^0x[0-9a-f]{40}$/i;

function filterOf(text: string): Pick<Given<GetActs>, 'by' | 'wallet'> {
  if (text === '') return {};
  return WALLET.test(text) ? { wallet: text } : { by: text };
}

const rowOf = (one: Answer<GetActs>['acts'][number]): [number, string[]] => [
  one.event,
  [
    shownTime(one.time),
    one.act,
    one.by,
    one.reason,
    [one.wallet, one.market, one.asset, one.subject].filter((text) => text !== null).join(' ') || '–',
  ],
];

export function Acts() {
  const given = { since: since.value, ...filterOf(asked.value), order: 'desc', limit: PAGE } as const;
  const { answer, trouble, pages } = usePages<GetActs>('listActs', given, EVERY_MS);
  return (
    <>
      <div class="panel desk-search">
        <div class="field">
          <label for="since">Since (UTC)</label>
          <input
            id="since"
            class="input"
            type="date"
            required
            value={since.value}
            onChange={({ currentTarget: { value } }) => {
              if (value !== '') since.value = value;
            }}
          />
        </div>
      </div>
      <Search id="of" label="By a person or key, or of a wallet" button="Find" asked={asked} />
      <Listing
        title="Acts, newest first"
        columns={['Time (UTC)', 'Act', 'By', 'Reason', 'Of']}
        rows={answer?.acts.map(rowOf)}
        empty="No changes yet."
        trouble={trouble}
        pages={pages}
      />
    </>
  );
}
