/** The box that keeps the session of this tab across reloads. */

import { chooseStay, staysSignedIn } from '../state/session.ts';

export function StaySignedIn() {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={staysSignedIn.value}
        onChange={(event) => chooseStay(event.currentTarget.checked)}
      />
      Stay signed in in this tab
    </label>
  );
}
