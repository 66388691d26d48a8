/** The conditions of the order form: time in force, post-only, the client order id, and choices that are kept. */

import type { Signal } from '@preact/signals';
import { useId, useState } from 'preact/hooks';
import type { TimeInForce } from '../../domain/order.ts';
import { ASK_AT, type AskAt } from '../figures/guard.ts';
import { problemAt } from '../state/form-problems.ts';
import { leaving } from '../state/leaving.ts';
import { NUMBER_STYLES, numbers } from '../state/number-style.ts';
import { choosePostOnly, chooseTimeInForce, draft } from '../state/order-draft.ts';
import { askAt, askMove, bookClick, SLIPPAGES, slippage } from '../state/order-settings.ts';
import { serverProblem } from '../state/submissions.ts';
import { chooseSigns, type SIGNALS, signs } from '../state/tell.ts';
import { ProblemText } from './amount-field.tsx';

const TIMES: readonly (readonly [TimeInForce, string])[] = [
  ['GTC', 'Good till cancelled (GTC)'],
  ['IOC', 'Immediate or cancel (IOC)'],
  ['FOK', 'Fill or kill (FOK)'],
];

/** A market order never rests. */
const MARKET_TIMES: typeof TIMES = [
  ['GTC', 'Immediate or cancel (IOC)'],
  ['FOK', 'Fill or kill (FOK)'],
];

export function Conditions() {
  const problem = problemAt('timeInForce');
  const isMarket = draft.type.value === 'market';
  const chosen = draft.timeInForce.value;
  return (
    <div class="conditions">
      <div class="field">
        <label for="order-time-in-force">Time in force</label>
        <select
          id="order-time-in-force"
          value={isMarket && chosen === 'IOC' ? 'GTC' : chosen}
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? undefined : 'order-time-problem'}
          onChange={(event) => {
            serverProblem.value = null;
            chooseTimeInForce(event.currentTarget.value as TimeInForce);
          }}
        >
          {(isMarket ? MARKET_TIMES : TIMES).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
        <ProblemText id="order-time-problem" problem={problem} />
      </div>
      {!isMarket && (
        <label class="check">
          <input
            type="checkbox"
            checked={draft.postOnly.value}
            onChange={(event) => {
              serverProblem.value = null;
              choosePostOnly(event.currentTarget.checked);
            }}
          />
          Post-only
        </label>
      )}
      <Advanced />
    </div>
  );
}

function Advanced() {
  const problem = problemAt('clientOrderId');
  // Once a problem has opened it, it stays open while the reader types.
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      class="advanced"
      open={isOpen || problem !== undefined}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>Advanced</summary>
      <Choices />
      <div class="field">
        <label for="order-client-id">Client order id (optional)</label>
        <input
          id="order-client-id"
          class="input"
          type="text"
          autoComplete="off"
          spellcheck={false}
          value={draft.clientOrderId.value}
          aria-invalid={problem !== undefined}
          aria-describedby="order-client-id-note"
          onInput={(event) => {
            if (serverProblem.value?.field === 'clientOrderId') serverProblem.value = null;
            draft.clientOrderId.value = event.currentTarget.value;
          }}
        />
        <ProblemText id="order-client-id-problem" problem={problem} />
        <p id="order-client-id-note" class="muted">
          An id that you used before stands for that order: no second one is placed.
        </p>
      </div>
    </details>
  );
}

/** Options that guard against slips. */
function Choices() {
  const lossText = (from: AskAt): string => NAMED[from] ?? `from a loss of ${from} % on`;
  const options = ASK_AT.map((from) => [from, lossText(from)] as const);
  return (
    <>
      <Choice label="Ask before a limit order that takes" choice={askAt.limit} options={options} />
      <Choice label="Ask before a market order" choice={askAt.market} options={options} />
      <Choice
        label="Ask before an order is moved"
        choice={askMove}
        options={[
          ['always', 'always'],
          ['losses', 'only where a limit order is asked about'],
        ]}
      />
      <Choice
        label="Slippage of market orders"
        choice={slippage}
        options={SLIPPAGES.map((percent) => [percent, `${percent} % beyond the worst price shown`])}
      />
      <div class="field">
        <label for="order-signs">When an own order is filled or ends, also</label>
        <select
          id="order-signs"
          value={signs.value}
          onChange={(event) => chooseSigns(event.currentTarget.value as (typeof SIGNALS)[number])}
        >
          <option value="none">nothing</option>
          <option value="sound">a sound</option>
          <option value="notice">a notification of the system</option>
          <option value="both">both</option>
        </select>
      </div>
      <Choice
        label="A click on the book"
        choice={bookClick}
        options={[
          ['takes', 'chooses the side that takes the order'],
          ['leaves', 'leaves the side as it is'],
        ]}
      />
      <Choice
        label="The last tab closes with open orders"
        choice={leaving}
        options={[
          ['asks', 'asks first: they stay in the book'],
          ['closes', 'closes at once: they stay in the book'],
        ]}
      />
      <Choice label="Figures of books and tables" choice={numbers} options={NUMBER_STYLES} />
    </>
  );
}

const NAMED: { readonly [Name in AskAt]?: string } = { always: 'always', never: 'never' };

interface SelectProps<Value extends string> {
  readonly label: string;
  readonly choice: Signal<Value>;
  readonly options: readonly (readonly [value: Value, text: string])[];
}

function Choice<Value extends string>({ label, choice, options }: SelectProps<Value>) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={choice.value}
        onChange={(event) => {
          choice.value = event.currentTarget.value as Value;
        }}
      >
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
