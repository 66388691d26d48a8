/** The price alerts: a button beside the last price, and the dialog that sets and removes them. */

import { useSignal } from '@preact/signals';
import type { Market } from '../../client/index.ts';
import { countOf, formatCount } from '../../domain/units.ts';
import { momentText } from '../figures/clock-text.ts';
import type { PriceAlert } from '../figures/price-alerts.ts';
import { readAmount } from '../figures/typed-amount.ts';
import { currentMarket } from '../state/market-feed.ts';
import { gridOfMarket } from '../state/markets.ts';
import { numberStyle, shown } from '../state/number-style.ts';
import { addAlert, alerts, alertsOpen, removeAlert } from '../state/price-alerts.ts';
import { Dialog } from './dialog.tsx';

const BELL = 'M3 12h10l-1.5-2V7a3.5 3.5 0 0 0-7 0v3zM6.5 14h3';

export function AlertsButton() {
  const pending = alerts.value.filter(({ reachedAt }) => reachedAt === null).length;
  const name = `Price alerts${pending === 0 ? '' : `, ${pending} set`}`;
  return (
    <button
      type="button"
      class="button quiet small"
      aria-label={name}
      title={name}
      aria-haspopup="dialog"
      onClick={() => {
        alertsOpen.value = true;
      }}
    >
      <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d={BELL} />
      </svg>
      {pending > 0 && pending}
    </button>
  );
}

export function AlertsDialog() {
  const market = currentMarket.value;
  return (
    <Dialog
      open={alertsOpen.value}
      title="Price alerts"
      onClose={() => {
        alertsOpen.value = false;
      }}
    >
      {market !== null && <NewAlert market={market} />}
      <ul class="alerts" aria-label="Alerts">
        {alerts.value.map((alert) => (
          <Alert key={alert.id} alert={alert} />
        ))}
      </ul>
      <p class="muted">
        You are told while a tab of this page is open in this browser, also when you look at another one. The
        mark price is the middle of the book.
      </p>
    </Dialog>
  );
}

function NewAlert({ market }: { market: Market }) {
  const text = useSignal('');
  const problem = useSignal<string | null>(null);
  const { tick } = gridOfMarket(market);
  const add = (): void => {
    const price = readAmount(text.value, numberStyle.value);
    const ticks = price === undefined ? undefined : countOf(price, tick);
    problem.value =
      ticks === undefined || ticks <= 0n
        ? 'that is not a price of this market'
        : addAlert(market.symbol, formatCount(ticks, tick));
    if (problem.value === null) text.value = '';
  };
  return (
    <form
      class="field"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        add();
      }}
    >
      <label for="alert-price">Tell me when the mark price of {market.symbol} gets to</label>
      <div class="alert-entry">
        <input
          id="alert-price"
          class="input"
          type="text"
          inputMode="decimal"
          autoComplete="off"
          value={text.value}
          aria-invalid={problem.value !== null}
          aria-describedby="alert-problem"
          onInput={(event) => {
            text.value = event.currentTarget.value;
            problem.value = null;
          }}
        />
        <button type="submit" class="button primary">
          Set the alert
        </button>
      </div>
      <p id="alert-problem" class="problem" role="status">
        {problem.value !== null && `Not set: ${problem.value}.`}
      </p>
    </form>
  );
}

const timeOf = (ms: number): string => momentText(new Date(ms), { dateStyle: 'short', timeStyle: 'short' });

function Alert({ alert: { id, market, price, isRise, reachedAt } }: { alert: PriceAlert }) {
  const state =
    reachedAt === null ? `when it ${isRise ? 'rises' : 'falls'} there` : `reached ${timeOf(reachedAt)}`;
  return (
    <li>
      <span>
        {market} {shown(price)} <span class="muted">{state}</span>
      </span>
      <button
        type="button"
        class="button small"
        aria-label={`Remove the alert of ${market} at ${price}`}
        onClick={() => removeAlert(id)}
      >
        Remove
      </button>
    </li>
  );
}
