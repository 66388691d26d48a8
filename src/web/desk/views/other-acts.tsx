/** Acts that have no view of their own: the members that each operation names, as a form. */

import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { type ActOfService, actsOfService, type Field, sentValue } from '../operators.ts';
import { askForAct } from './act-dialog.tsx';
import { FieldInput } from './field-input.tsx';
import { Panel } from './listing.tsx';

/** Acts of the other views. A month without entries is closed here, because another view asks for no choice. */
const ELSEWHERE = [
  'holdWallet',
  'releaseWallet',
  'changeMarket',
  'confirmWithdrawal',
  'releaseWithdrawal',
  'returnWithdrawal',
  'takeWithdrawal',
  'approveMovement',
  'refuseMovement',
  'pauseTrading',
  'resumeTrading',
  'reopenMonth',
];

const chosen = signal('');

export function OtherActs() {
  const acts = actsOfService().filter(({ id }) => !ELSEWHERE.includes(id));
  const act = acts.find(({ id }) => id === chosen.value) ?? acts[0];
  return (
    <>
      <div class="panel desk-search">
        <div class="field">
          <label for="other-act">Act</label>
          <select
            id="other-act"
            value={act?.id}
            onChange={({ currentTarget }) => {
              chosen.value = currentTarget.value;
            }}
          >
            {acts.map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        </div>
      </div>
      {act !== undefined && <MembersForm key={act.id} act={act} />}
    </>
  );
}

/** An empty choice leaves the member out. */
const withNone = (field: Field): Field =>
  field.choices === undefined ? field : { ...field, choices: ['', ...field.choices] };

/** Collects the members. The next dialog shows them, and asks for the reason, before anything is sent. */
function MembersForm({ act: { id, title, summary, fields } }: { readonly act: ActOfService }) {
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const filled = fields.filter(({ name }) => (texts[name] ?? '').trim() !== '');
  const review = (): void => {
    const textOf = ({ name }: Field): string => texts[name]!.trim();
    askForAct({
      operation: id,
      given: Object.fromEntries(filled.map((field) => [field.name, sentValue(field, textOf(field))])),
      title,
      facts: filled.map((field) => [field.name, textOf(field)]),
      done: `Done: ${title}.`,
    });
  };
  return (
    <Panel title={title}>
      <p>{summary}.</p>
      <form
        class="desk-act"
        onSubmit={(event) => {
          event.preventDefault();
          review();
        }}
      >
        {fields.map((field) => (
          <div class="field" key={field.name}>
            <label for={`member-${field.name}`}>
              {field.label === field.name ? field.name : `${field.name}: ${field.label}`}
            </label>
            <FieldInput
              id={`member-${field.name}`}
              field={withNone(field)}
              text={texts[field.name] ?? ''}
              onText={(text) => setTexts((before) => ({ ...before, [field.name]: text }))}
            />
          </div>
        ))}
        <p class="muted">An empty member is not sent.</p>
        <div class="dialog-actions">
          <button type="submit" class="button primary">
            Review the act
          </button>
        </div>
      </form>
    </Panel>
  );
}
