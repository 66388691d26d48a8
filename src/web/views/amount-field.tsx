/** A field for an amount: reads a point or a comma, and the arrow keys step on the market's grid. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Grid } from '../../domain/units.ts';
import type { Problem } from '../figures/draft-request.ts';
import { stepped } from '../figures/stepping.ts';
import { withoutUnit } from '../figures/typed-amount.ts';
import { numberStyle, written } from '../state/number-style.ts';
import { type AmountField, draft, focusRequest, typeInto } from '../state/order-draft.ts';
import { serverProblem } from '../state/submissions.ts';

interface AmountFieldProps {
  readonly name: AmountField;
  /** The accessible name only. */
  readonly label: string;
  readonly unit: string;
  readonly grid: Grid;
  /** Value from which the arrow keys step in an empty field, in units of the grid. */
  readonly start: bigint;
  readonly problem: Problem | undefined;
  /** Shown in the empty field. */
  readonly hint?: string;
  /** Buttons beside the label. */
  readonly tools?: ComponentChildren;
}

export function AmountInput({ name, label, unit, grid, start, problem, hint, tools }: AmountFieldProps) {
  const input = useRef<HTMLInputElement>(null);
  const id = `order-${name}`;
  const isWanted = focusRequest.value === name;
  useEffect(() => {
    if (!isWanted) return;
    focusRequest.value = null;
    input.current?.focus();
    input.current?.select();
  });
  const type = (text: string): void => {
    if (serverProblem.value?.field === name) serverProblem.value = null;
    typeInto(name, text);
  };
  return (
    <div class="field">
      <div class="field-head">
        <label for={id}>{label}</label>
        {tools}
        <span class="muted unit-name" aria-hidden="true">
          {unit}
        </span>
      </div>
      <input
        ref={input}
        id={id}
        class="input"
        type="text"
        inputMode="decimal"
        autoComplete="off"
        spellcheck={false}
        placeholder={hint}
        value={draft[name].value}
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : `${id}-problem`}
        onInput={(event) => type(withoutUnit(event.currentTarget.value, unit))}
        onKeyDown={(event) => {
          const direction = event.key === 'ArrowUp' ? 1 : event.key === 'ArrowDown' ? -1 : null;
          if (direction === null || event.altKey || event.ctrlKey || event.metaKey) return;
          event.preventDefault();
          type(written(stepped(draft[name].value, numberStyle.value, grid, direction, start)));
        }}
      />
      <ProblemText id={`${id}-problem`} problem={problem} />
    </div>
  );
}

/** Shows a problem in words. Its code is there for those who ask for help. */
export function ProblemText({ id, problem }: { id: string; problem: Problem | undefined }) {
  if (problem === undefined) return null;
  return (
    <p id={id} class="problem" title={problem.code}>
      {problem.message}
    </p>
  );
}
