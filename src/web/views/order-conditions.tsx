/** The conditions of the order form: time in force, post-only and the client order id. */

import { useState } from 'preact/hooks';
import type { TimeInForce } from '../../domain/order.ts';
import { problemAt } from '../state/form-problems.ts';
import { choosePostOnly, chooseTimeInForce, draft } from '../state/order-draft.ts';
import { serverProblem } from '../state/submissions.ts';
import { ProblemText } from './amount-field.tsx';

const TIMES: readonly (readonly [TimeInForce, string])[] = [
  ['GTC', 'Good till cancelled (GTC)'],
  ['IOC', 'Immediate or cancel (IOC)'],
  ['FOK', 'Fill or kill (FOK)'],
];

export function Conditions() {
  const problem = problemAt('timeInForce');
  return (
    <div class="conditions">
      <div class="field">
        <label for="order-time-in-force">Time in force</label>
        <select
          id="order-time-in-force"
          value={draft.timeInForce.value}
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? undefined : 'order-time-problem'}
          onChange={(event) => {
            serverProblem.value = null;
            chooseTimeInForce(event.currentTarget.value as TimeInForce);
          }}
        >
          {TIMES.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
        <ProblemText id="order-time-problem" problem={problem} />
      </div>
      {draft.type.value === 'limit' && (
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
