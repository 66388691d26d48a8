/** The list of keys, and the switch for them. */

import { FIXED_KEYS, helpOpen, KEYS, shortcuts } from '../state/shortcuts.ts';
import { Dialog } from './dialog.tsx';

export function ShortcutsDialog() {
  const close = (): void => {
    helpOpen.value = false;
  };
  return (
    <Dialog open={helpOpen.value} title="Keys" onClose={close}>
      <label class="check">
        <input
          type="checkbox"
          checked={shortcuts.value === 'on'}
          onChange={(event) => {
            shortcuts.value = event.currentTarget.checked ? 'on' : 'off';
          }}
        />
        Single keys act outside fields
      </label>
      <KeyList keys={KEYS} />
      <h3>Always</h3>
      <KeyList keys={FIXED_KEYS} />
    </Dialog>
  );
}

function KeyList({ keys }: { keys: typeof KEYS }) {
  return (
    <dl class="keys">
      {keys.map(([key, what]) => (
        <div key={key} class="figure">
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Opens the list of keys, for readers who have switched the keys off or have no keyboard at hand. */
export function ShortcutsButton() {
  return (
    <button
      type="button"
      class="button quiet small"
      onClick={() => {
        helpOpen.value = true;
      }}
    >
      Keys
    </button>
  );
}
