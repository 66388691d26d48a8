/** A form that asks for one thing by its name. */

import { useState } from 'preact/hooks';

interface SearchProps {
  readonly id: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly button: string;
  /** Asked before. */
  readonly asked: string;
  /** Takes the text without spaces around it. */
  readonly onAsk: (text: string) => void;
}

export function Search({ id, label, placeholder, button, asked, onAsk }: SearchProps) {
  const [typed, setTyped] = useState(asked);
  return (
    <form
      class="panel desk-search"
      onSubmit={(event) => {
        event.preventDefault();
        onAsk(typed.trim());
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
