/** Asks to accept the terms version that the service requires before orders. */

import { acceptAskedTerms, askedTerms, closeTerms, termsFault } from '../state/terms.ts';
import { Dialog } from './dialog.tsx';

export function TermsDialog() {
  const version = askedTerms.value;
  return (
    <Dialog open={version !== null} title="Terms to accept" onClose={closeTerms}>
      <p>
        The service requires wallets to accept version <strong>{version}</strong> of its terms before they
        place orders. Reading and cancelling work without it. Your order stays in the form and is not sent by
        itself.
      </p>
      {termsFault.value !== null && (
        <p class="note error" role="alert">
          Not accepted: {termsFault.value}.
        </p>
      )}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={closeTerms}>
          Not now
        </button>
        <button type="button" class="button primary" onClick={() => void acceptAskedTerms()}>
          Accept version {version}
        </button>
      </div>
    </Dialog>
  );
}
