/** Signs an operator in by a key, which stays in the memory of this page. */

import { useState } from 'preact/hooks';
import type { GetOwnKey } from '../operations.ts';
import { ask, key, ownKey, Refused, readRoutes } from '../operators.ts';
import { Trouble } from './listing.tsx';

export function SignIn() {
  const [typed, setTyped] = useState('');
  const [trouble, setTrouble] = useState<string | null>(null);
  const open = async (): Promise<void> => {
    try {
      await readRoutes();
      const own = await ask<GetOwnKey>('getOwnKey', {}, typed);
      if (!own.rights.includes('read'))
        return setTrouble('The key may not do this: it needs the right read.');
      ownKey.value = own;
      key.value = typed;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      setTrouble(error.status === 401 ? 'This key is unknown or revoked.' : error.message);
    }
  };
  return (
    <form
      class="panel desk-sign-in"
      onSubmit={(event) => {
        event.preventDefault();
        void open();
      }}
    >
      <h2>Sign in</h2>
      <div class="field">
        <label for="key">
          Key of <code>redbook key create</code>
        </label>
        <input
          id="key"
          class="input"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value.trim())}
        />
      </div>
      <p class="muted">The key needs the right to read. It is forgotten when this page closes.</p>
      <Trouble text={trouble} />
      <button type="submit" class="button primary">
        Sign in
      </button>
    </form>
  );
}
