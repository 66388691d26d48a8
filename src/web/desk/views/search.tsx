/** A form that asks for one thing by its name. */

import type { Signal } from '@preact/signals';
import { useState } from 'preact/hooks';

interface SearchProps {
  readonly id: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly button: string;
  /** Gets the text without spaces around it, and has the one of before. */
  readonly asked: Signal<string>;
}

export function Search({ id, label, placeholder, button, asked }: SearchProps) {
  const [typed, setTyped] = useState(asked.value);
  return (
    <form
      class="panel desk-search"
      onSubmit={(event) => {
        event.preventDefault();
        asked.value = typed.trim();
      }}
    >
      <div class="field">
        <label for={id}>{label}</label>
        <input
          id={id}
          class="input"
          spellcheck={false}
          autocomplete="off"
          placeholder={placeholder}
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </div>
      <button type="submit" class="button primary">
        {button}
      </button>
    </form>
  );
}
