/** Asks for the reason of an act, shows what it changes, and carries it out. */

import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { shown } from '../../../domain/text.ts';
import type { Operation } from '../../../operator/operation.ts';
import { Dialog } from '../../views/dialog.tsx';
import { type Answer, ask, type Field, type Given, membersOfAct, Refused } from '../operators.ts';
import { acts } from '../use-answer.ts';
import { Facts, Trouble } from './listing.tsx';

/** Name of each change, what there is, and what there will be. */
export type Changes = readonly (readonly [name: string, old: string, next: string])[];

interface Act<Asked extends Operation> {
  readonly operation: Asked['id'];
  /** Parts of the path, and members of the body. The operator fills in its other required members. */
  readonly given: Given<Asked>;
  readonly title: string;
  readonly facts?: readonly (readonly [name: string, value: string])[];
  readonly changes?: Changes;
  /** Reads what there is once more, right before the act is sent: it may have changed while the dialog was open. */
  readonly again?: () => Promise<Changes>;
  /** A word that must be typed. It is not sent. */
  readonly word?: string;
  /** Sentence for the operator once it is done, by its answer. */
  readonly done: string | ((answer: Answer<Asked>) => string);
}

const asked = signal<Act<Operation> | null>(null);
/** Sentence about the last act that was done. */
export const told = signal<string | null>(null);

export function askForAct<Asked extends Operation>(act: Act<Asked>): void {
  told.value = null;
  asked.value = act as Act<Operation>;
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

const isAsked = ({ name, isRequired }: Field, given: object): boolean =>
  name === 'reason' || (isRequired && !(name in given));

/** Fields by their labels: those of the operation, each act has a reason, and the word that must be typed. */
function labelsOf({ operation, given, word }: Act<Operation>): [name: string, label: string][] {
  const fields = membersOfAct(operation).filter((field) => isAsked(field, given));
  const labels = fields.map(({ name, label }): [string, string] => [
    name,
    name === 'reason' ? 'Reason' : label,
  ]);
  return word === undefined ? labels : [['word', `Type ${word}`], ...labels];
}

function ActForm({ act, onDone }: { readonly act: Act<Operation>; readonly onDone: () => void }) {
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [trouble, setTrouble] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const [changes, setChanges] = useState(act.changes);
  const labels = labelsOf(act);
  const textOf = (name: string): string => (texts[name] ?? '').trim();
  const isReady = labels.every(([name]) =>
    name === 'word' ? textOf(name) === act.word : textOf(name) !== '',
  );
  const send = async (): Promise<void> => {
    setSending(true);
    const filled = labels.filter(([name]) => name !== 'word').map(([name]) => [name, textOf(name)]);
    try {
      const present = await act.again?.();
      if (present !== undefined && JSON.stringify(present) !== JSON.stringify(changes)) {
        setChanges(present);
        setTrouble(
          'It was changed while this dialog was open, and nothing was sent. Look at the changes again.',
        );
        return setSending(false);
      }
      const answer = await ask(act.operation, { ...act.given, ...Object.fromEntries(filled) });
      told.value = shown(typeof act.done === 'string' ? act.done : act.done(answer));
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
      {labels.map(([name, label]) => (
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
          <th scope="row">{shown(name)}</th>
          <td>{shown(old)}</td>
          <td>
            <strong>{shown(next)}</strong>
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
