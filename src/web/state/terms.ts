/** The terms that the service requires before a wallet may place orders. */

import { type Signal, signal } from '@preact/signals';
import { acceptTerms, getStatus, RedbookError } from '../../client/index.ts';
import { announce } from './announcements.ts';
import { connection } from './connection.ts';
import { endAfter, session } from './session.ts';

/** Version that the dialog asks to accept; null: it is closed. */
export const askedTerms: Signal<string | null> = signal(null);

/** Reason why accepting failed; null otherwise. */
export const termsFault: Signal<string | null> = signal(null);

const textOf = (thrown: unknown): string =>
  thrown instanceof RedbookError ? thrown.message : 'the service did not answer';

/** Opens the dialog with the version that the service requires now. */
export async function askForTerms(): Promise<void> {
  termsFault.value = null;
  try {
    const { termsVersion } = await getStatus(connection);
    askedTerms.value = termsVersion;
    if (termsVersion === null) announce('The service requires no terms any more. Send the order again.');
  } catch (thrown) {
    announce(`The required terms could not be read: ${textOf(thrown)}.`, 'alert');
  }
}

export function closeTerms(): void {
  askedTerms.value = null;
}

/** Accepts the version of the dialog. The order is not sent again automatically. */
export async function acceptAskedTerms(): Promise<void> {
  const asked = session.peek();
  const version = askedTerms.peek();
  if (asked === null || version === null) return;
  try {
    await acceptTerms(asked, version);
    askedTerms.value = null;
    announce(`Terms version ${version} accepted. Your order is still in the form: send it again.`);
  } catch (thrown) {
    if (endAfter(thrown, asked)) askedTerms.value = null;
    else termsFault.value = textOf(thrown);
  }
}
