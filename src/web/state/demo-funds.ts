/** Play money from the service's faucet, where it offers one. */

import { type Signal, signal } from '@preact/signals';
import { RedbookError, requestFunds } from '../../client/index.ts';
import { refreshAccount } from './account.ts';
import { announce } from './announcements.ts';
import { currentMarket, markets } from './markets.ts';
import { shown } from './number-style.ts';
import { endAfter, session } from './session.ts';

export const isRequesting: Signal<boolean> = signal(false);

/** Result of the last request; null before. */
export const fundsNotice: Signal<string | null> = signal(null);

/** Returns both assets of the selected market, or those of all markets. */
function wantedAssets(): string[] {
  const of = currentMarket.peek() === null ? markets.peek() : [currentMarket.peek()!];
  return [...new Set(of.flatMap(({ quoteToken, baseToken }) => [quoteToken, baseToken]))];
}

/** Requests each asset once. The faucet has only the assets of the demo markets, and refuses any other. */
export async function getDemoFunds(): Promise<void> {
  const asked = session.peek();
  if (asked === null || isRequesting.peek()) return;
  isRequesting.value = true;
  const credited: string[] = [];
  let refusal: string | null = null;
  for (const asset of wantedAssets()) {
    try {
      const credit = await requestFunds(asked, asset);
      credited.push(shown(`${credit.amount} ${credit.asset}`));
    } catch (thrown) {
      if (endAfter(thrown, asked)) break;
      refusal = thrown instanceof RedbookError ? thrown.message : 'the service did not answer';
    }
  }
  isRequesting.value = false;
  const text =
    credited.length > 0 ? `Credited ${credited.join(' and ')}.` : `No demo funds: ${refusal ?? 'no asset'}.`;
  fundsNotice.value = text;
  announce(text, credited.length > 0 ? 'status' : 'alert');
  await refreshAccount();
}
