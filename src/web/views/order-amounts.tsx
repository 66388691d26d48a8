/** The amounts of the order form: price, size and quote amount, and parts of the available balance. */

import type { Market as Rules } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import { countOf, formatCount, formatScaled, parseDecimal } from '../../domain/units.ts';
import { isByAmount } from '../figures/draft-request.ts';
import { quotesOf } from '../figures/quotes.ts';
import { shareSteps } from '../figures/shares.ts';
import { readAmount } from '../figures/typed-amount.ts';
import { announce } from '../state/announcements.ts';
import { demoOffered } from '../state/connection.ts';
import { problemAt, tellsMissing } from '../state/form-problems.ts';
import { frame } from '../state/market-feed.ts';
import { shown, written } from '../state/number-style.ts';
import { draft, fillIn, focusRequest } from '../state/order-draft.ts';
import { availableAtoms, draftTexts, otherSide, worth } from '../state/order-preview.ts';
import { session } from '../state/session.ts';
import { serverProblem } from '../state/submissions.ts';
import { AmountInput } from './amount-field.tsx';
import { DemoFunds } from './wallet-dialog.tsx';

export function Amounts({ market }: { market: Rules }) {
  const { tick, step, minSteps } = marketGrid(market);
  const book = frame.value?.book;
  const near = (draft.side.value === 'buy' ? book?.asks : book?.bids)?.[0]?.price;
  const best = near === undefined ? 1n : countOf(parseDecimal(near)!, tick)!;
  const base = market.base.symbol;
  const quote = market.quote.symbol;
  const atom = { coefficient: 1n, places: market.quote.scale };
  const isAmount = isByAmount(draftTexts.value);
  return (
    <>
      <Available market={market} />
      {draft.type.value === 'limit' && (
        <AmountInput
          name="price"
          label="Price"
          unit={quote}
          grid={tick}
          start={best}
          problem={problemAt('price')}
          tools={<Quotes market={market} />}
        />
      )}
      <div class="sizes">
        <AmountInput
          name="size"
          label="Size"
          unit={base}
          grid={step}
          start={minSteps ?? 1n}
          problem={isAmount ? undefined : problemAt('size')}
          {...(isAmount && worth.value !== null && { hint: written(worth.value.size) })}
        />
        <AmountInput
          name="amount"
          label="Amount"
          unit={quote}
          grid={atom}
          start={1n}
          problem={isAmount ? problemAt('amount') : undefined}
          {...(!isAmount && worth.value !== null && { hint: written(worth.value.amount) })}
        />
      </div>
    </>
  );
}

function Quotes({ market }: { market: Rules }) {
  const { tick } = marketGrid(market);
  return (
    <span class="quotes">
      {quotesOf(frame.value, draft.side.value, tick).map(({ name, title, price }) => (
        <button
          key={name}
          type="button"
          class="button quiet small"
          aria-label={`Set the price to the ${title}`}
          title={`Set the price to the ${title}`}
          disabled={price === null}
          onClick={() => {
            serverProblem.value = null;
            fillIn('price', price!);
          }}
        >
          {name}
        </button>
      ))}
    </span>
  );
}

function Available({ market }: { market: Rules }) {
  if (availableAtoms.value === null) return null;
  const { symbol, scale } = draft.side.value === 'buy' ? market.quote : market.base;
  return (
    <>
      <p class="available">
        <span class="muted">Available</span> {shown(formatScaled(availableAtoms.value, scale))} {symbol}
      </p>
      {demoOffered && availableAtoms.value === 0n && <DemoFunds />}
    </>
  );
}

const SHARES = [25, 50, 75, 100] as const;

/** Fills the size that a part of the available balance pays for. */
export function Shares({ market }: { market: Rules }) {
  if (session.value === null) return null;
  const { share } = draft;
  return (
    <fieldset class="shares" aria-label="Part of what is available">
      <input
        type="range"
        min="0"
        max="100"
        aria-label="Per cent of what is available"
        aria-valuetext={`${share.value} per cent`}
        value={share.value}
        onInput={(event) => fillShare(market, Number(event.currentTarget.value))}
      />
      {SHARES.map((percent) => (
        <button key={percent} type="button" class="button small" onClick={() => fillShare(market, percent)}>
          {percent === 100 ? 'Max' : `${percent} %`}
        </button>
      ))}
    </fieldset>
  );
}

function fillShare(market: Rules, percent: number): void {
  const steps = stepsOfShare(market, percent);
  if (typeof steps === 'string') {
    announce(steps);
    return;
  }
  serverProblem.value = null;
  fillIn('size', steps === 0n ? '' : formatCount(steps, marketGrid(market).step));
  draft.share.value = percent;
}

/** Returns the steps that a part of the available balance pays for, or the reason why there are none. */
function stepsOfShare(market: Rules, percent: number): bigint | string {
  const available = availableAtoms.value;
  if (available === null) return 'Your balance is not known yet.';
  const texts = draftTexts.value;
  const price = readAmount(texts.price, texts.style);
  const ticks = price === undefined ? undefined : countOf(price, marketGrid(market).tick);
  if (texts.side === 'buy' && texts.type === 'limit' && ticks === undefined) {
    tellsMissing.value = true;
    focusRequest.value = 'price';
    return 'Type a price first.';
  }
  const limit = texts.type === 'limit' ? (ticks ?? null) : null;
  const steps = shareSteps(market, texts, limit, otherSide.value, available, percent);
  return steps > 0n || percent === 0 ? steps : `${percent} % of what is available does not pay for one step.`;
}
