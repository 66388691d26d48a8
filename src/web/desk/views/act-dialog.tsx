/** Asks for the reason of an act, shows what it changes, and carries it out. */

import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { Dialog } from '../../views/dialog.tsx';
import { ask, Refused } from '../operators.ts';
import { acts } from '../use-answer.ts';
import { Facts, Trouble } from './listing.tsx';

/** A further field that the operator fills in. */
interface Field {
  readonly name: string;
  readonly label: string;
  /** The only text that is accepted; it is not sent. */
  readonly must?: string;
}

/** Name of each change, what there is, and what there will be. */
export type Changes = readonly (readonly [name: string, old: string, next: string])[];

interface Act {
  readonly title: string;
  readonly facts?: readonly (readonly [name: string, value: string])[];
  readonly changes?: Changes;
  /** Reads what there is once more, right before the act is sent: it may have changed while the dialog was open. */
  readonly again?: () => Promise<Changes>;
  readonly fields?: readonly Field[];
  readonly path: string;
  readonly body?: object;
  /** Sentence for the operator once it is done, by its answer. */
  readonly done: string | ((answer: object) => string);
}

const asked = signal<Act | null>(null);
/** Sentence about the last act that was done. */
export const told = signal<string | null>(null);

export function askForAct(act: Act): void {
  told.value = null;
  asked.value = act;
}

export function ActDialog() {
  const act = asked.value;
  const close = (): void => {
    asked.value = null;
  };
  return (
    <Dialog open={act !== null} title={act?.title ?? ''} onClose={close}>
      {act !== null && <ActForm act={act} onDone={close} />}
    </Dialog>
  );
}

const REASON: Field = { name: 'reason', label: 'Reason' };

function ActForm({ act, onDone }: { readonly act: Act; readonly onDone: () => void }) {
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [trouble, setTrouble] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const [changes, setChanges] = useState(act.changes);
  const fields = [...(act.fields ?? []), REASON];
  const textOf = (name: string): string => (texts[name] ?? '').trim();
  const isReady = fields.every(({ name, must }) =>
    must === undefined ? textOf(name) !== '' : textOf(name) === must,
  );
  const send = async (): Promise<void> => {
    setSending(true);
    const sent = fields.filter(({ must }) => must === undefined).map(({ name }) => [name, textOf(name)]);
    try {
      const present = await act.again?.();
      if (present !== undefined && JSON.stringify(present) !== JSON.stringify(changes)) {
        setChanges(present);
        setTrouble(
          'It was changed while this dialog was open, and nothing was sent. Look at the changes again.',
        );
        return setSending(false);
      }
      const answer = await ask<object>(act.path, { body: { ...act.body, ...Object.fromEntries(sent) } });
      told.value = typeof act.done === 'string' ? act.done : act.done(answer);
      onDone();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      setTrouble(error.message);
      setSending(false);
    }
    // An act without an answer may have been done.
    acts.value += 1;
  };
  return (
    <form
      class="desk-act"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady && !isSending) void send();
      }}
    >
      {act.facts !== undefined && <Facts facts={act.facts} />}
      {changes !== undefined && <ChangesTable changes={changes} />}
      {fields.map(({ name, label }) => (
        <div class="field" key={name}>
          <label for={`act-${name}`}>{label}</label>
          <input
            id={`act-${name}`}
            class="input"
            autocomplete="off"
            maxLength={256}
            value={texts[name] ?? ''}
            onInput={({ currentTarget: { value } }) => setTexts((before) => ({ ...before, [name]: value }))}
          />
        </div>
      ))}
      <Trouble text={trouble} />
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onDone}>
          Cancel
        </button>
        <button type="submit" class="button primary" disabled={!isReady || isSending}>
          {act.title}
        </button>
      </div>
    </form>
  );
}

const ChangesTable = ({ changes }: { readonly changes: Changes }) => (
  <table>
    <thead>
      <tr>
        <th scope="col">Change</th>
        <th scope="col">Now</th>
        <th scope="col">New</th>
      </tr>
    </thead>
    <tbody>
      {changes.map(([name, old, next]) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          <td>{old}</td>
          <td>
            <strong>{next}</strong>
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
