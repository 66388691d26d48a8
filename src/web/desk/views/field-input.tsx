/** The input of a field of an act: a text, or one of its choices. */

import type { Field } from '../operators.ts';

interface FieldInputProps {
  readonly id: string;
  readonly field: Pick<Field, 'choices' | 'isRequired'>;
  readonly text: string;
  readonly inputMode?: 'decimal';
  readonly onText: (text: string) => void;
}

export function FieldInput({ id, field: { choices, isRequired }, text, inputMode, onText }: FieldInputProps) {
  if (choices === undefined)
    return (
      <input
        id={id}
        class="input"
        {...(inputMode && { inputMode })}
        autocomplete="off"
        required={isRequired}
        value={text}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
    );
  return (
    <select
      id={id}
      required={isRequired}
      value={text}
      onChange={({ currentTarget }) => onText(currentTarget.value)}
    >
      {choices.map((choice) => (
        <option key={choice}>{choice}</option>
      ))}
    </select>
  );
}
