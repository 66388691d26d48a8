/** Takes an order and shows, to the atom, its cost before it is sent. */

import { computed, effect, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { NewOrder } from '../../client/index.ts';
import { marketGrid, type Market as Rules } from '../../domain/market.ts';
import type { OrderType, Side, TimeInForce } from '../../domain/order.ts';
import { countOf, formatCount, formatScaled, parseDecimal } from '../../domain/units.ts';
import {
  type DraftTexts,
  isQuoteOrder,
  type Place,
  type Problem,
  placeOf,
  plainAmount,
  readAmount,
} from '../figures/draft-request.ts';
import { orderSentence } from '../figures/order-words.ts';
import { shareSteps } from '../figures/shares.ts';
import { announce } from '../state/announcements.ts';
import { frame } from '../state/market-feed.ts';
import {
  type AmountField,
  choosePostOnly,
  chooseSide,
  chooseTimeInForce,
  chooseType,
  clearAmounts,
  draft,
  focusRequest,
  typeInto,
} from '../state/order-draft.ts';
import { availableAtoms, draftTexts, orderWords, otherSide, reading, rules } from '../state/order-preview.ts';
import { confirmed } from '../state/question.ts';
import { selectedTicker } from '../state/selected-market.ts';
import { session } from '../state/session.ts';
import { isLocked, isSending, serverProblem, submitOrder, unsettledLike } from '../state/submissions.ts';
import { AmountInput, ProblemText } from './amount-field.tsx';
import { OrderPreview } from './order-preview.tsx';
import { openSignIn } from './sign-in.tsx';
import { Submissions } from './submissions.tsx';

/** Whether empty fields are told about, as after a press of the button. */
const tellsMissing = signal(false);

// Another market has other prices.
effect(() => {
  void selectedTicker.value;
  clearAmounts();
  tellsMissing.value = false;
  serverProblem.value = null;
});

/**
 * The problem that a field shows: that of the form as typed, then the refusal of the service, then what the book and
 * the balance let expect. The last does not keep the order from being sent, for both may have changed meanwhile.
 */
function problemAt(place: Place): Problem | undefined {
  const own = reading.value?.problems.find((one) => one.place === place);
  if (own !== undefined && !(own.isMissing === true && !tellsMissing.value)) return own;
  return [serverProblem.value, expectedProblem.value].find((one) => one?.place === place) ?? undefined;
}

/** What the book and the balance let expect, as a refusal of the service would be shown. */
const expectedProblem = computed<Problem | null>(() => {
  const warning = orderWords.value?.warning ?? null;
  if (warning === null) return null;
  const { code, text } = warning;
  return { place: placeOf(code, text, isQuoteOrder(draftTexts.value)), code, message: text };
});

export function OrderForm() {
  const market = rules.value;
  return (
    <section class="panel order-form" id="order-form" aria-labelledby="order-form-heading">
      <div class="panel-head">
        <h2 id="order-form-heading">Place an order</h2>
      </div>
      {market !== null && (
        <form
          class="panel-body"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            void send(market);
          }}
        >
          <Kind />
          <Amounts market={market} />
          <Shares market={market} />
          <Conditions />
          <OrderPreview />
          <Submit market={market} />
        </form>
      )}
      <Submissions />
    </section>
  );
}

interface ChoiceProps<Value extends string> {
  readonly name: string;
  readonly value: Value;
  readonly chosen: Value;
  readonly onChoose: (value: Value) => void;
  readonly children: ComponentChildren;
}

/** A radio button that is drawn as a segment. */
function Choice<Value extends string>({ name, value, chosen, onChoose, children }: ChoiceProps<Value>) {
  return (
    <label class={`choice ${value}`}>
      <input type="radio" name={name} checked={value === chosen} onChange={() => onChoose(value)} />
      {children}
    </label>
  );
}

function Kind() {
  const [side, type] = [draft.side.value, draft.type.value];
  const setSide = (value: Side): void => {
    serverProblem.value = null;
    chooseSide(value);
  };
  const setType = (value: OrderType): void => {
    serverProblem.value = null;
    chooseType(value);
  };
  const problem = problemAt('side');
  return (
    <>
      <div class="segments sides" role="radiogroup" aria-label="Side">
        <Choice name="side" value="buy" chosen={side} onChoose={setSide}>
          Buy<span class="visually-hidden"> side</span>
        </Choice>
        <Choice name="side" value="sell" chosen={side} onChoose={setSide}>
          Sell<span class="visually-hidden"> side</span>
        </Choice>
      </div>
      <ProblemText id="order-side-problem" problem={problem} />
      <div class="segments" role="radiogroup" aria-label="Order type">
        <Choice name="type" value="limit" chosen={type} onChoose={setType}>
          Limit
        </Choice>
        <Choice name="type" value="market" chosen={type} onChoose={setType}>
          Market
        </Choice>
      </div>
    </>
  );
}

function Amounts({ market }: { market: Rules }) {
  const { tick, step, minSteps } = marketGrid(market);
  const isMarket = draft.type.value === 'market';
  const book = frame.value?.book;
  const near = (draft.side.value === 'buy' ? book?.asks : book?.bids)?.[0]?.price;
  const best = near === undefined ? 1n : countOf(parseDecimal(near)!, tick)!;
  const [base, quote] = [market.base.symbol, market.quote.symbol];
  const atom = { coefficient: 1n, places: market.quote.scale };
  return (
    <>
      <Available market={market} />
      {!isMarket && (
        <AmountInput
          name="price"
          label="Price"
          unit={quote}
          grid={tick}
          start={best}
          problem={problemAt('price')}
        />
      )}
      <AmountInput
        name="size"
        label="Size"
        unit={base}
        grid={step}
        start={minSteps ?? 1n}
        problem={isMarket && draft.amount.value !== '' ? undefined : problemAt('size')}
      />
      {isMarket && draft.side.value === 'buy' && (
        <AmountInput
          name="amount"
          label="Amount"
          unit={quote}
          grid={atom}
          start={1n}
          problem={problemAt('amount')}
        />
      )}
    </>
  );
}

function Available({ market }: { market: Rules }) {
  if (availableAtoms.value === null) return null;
  const { symbol, scale } = draft.side.value === 'buy' ? market.quote : market.base;
  return (
    <p class="available">
      <span class="muted">Available</span> {formatScaled(availableAtoms.value, scale)} {symbol}
    </p>
  );
}

const SHARES = [25, 50, 75, 100] as const;

/** Fills the size that a part of the available balance pays for. */
function Shares({ market }: { market: Rules }) {
  if (session.value === null) return null;
  return (
    <fieldset class="shares" aria-label="Part of what is available">
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
  if (typeof steps === 'string') announce(steps);
  else {
    serverProblem.value = null;
    typeInto('size', formatCount(steps, marketGrid(market).step));
  }
}

/** Steps that a part of the available balance pays for, or why there are none. */
function stepsOfShare(market: Rules, percent: number): bigint | string {
  const available = availableAtoms.value;
  if (available === null) return 'Your balance is not known yet.';
  const texts = draftTexts.value;
  const price = readAmount(texts.price);
  const ticks = price === undefined ? undefined : countOf(price, marketGrid(market).tick);
  if (texts.side === 'buy' && texts.type === 'limit' && ticks === undefined) {
    tellsMissing.value = true;
    focusRequest.value = 'price';
    return 'Type a price first.';
  }
  const limit = texts.type === 'limit' ? (ticks ?? null) : null;
  const steps = shareSteps(market, texts, limit, otherSide.value, available, percent);
  return steps > 0n ? steps : `${percent} % of what is available does not pay for one step.`;
}

const TIMES: readonly (readonly [TimeInForce, string])[] = [
  ['GTC', 'Good till cancelled (GTC)'],
  ['IOC', 'Immediate or cancel (IOC)'],
  ['FOK', 'Fill or kill (FOK)'],
];

function Conditions() {
  const problem = problemAt('timeInForce');
  return (
    <div class="conditions">
      <div class="field">
        <label for="order-time-in-force">Time in force</label>
        <select
          id="order-time-in-force"
          value={draft.timeInForce.value}
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? undefined : 'order-time-problem'}
          onChange={(event) => {
            serverProblem.value = null;
            chooseTimeInForce(event.currentTarget.value as TimeInForce);
          }}
        >
          {TIMES.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
        <ProblemText id="order-time-problem" problem={problem} />
      </div>
      {draft.type.value === 'limit' && (
        <label class="check">
          <input
            type="checkbox"
            checked={draft.postOnly.value}
            onChange={(event) => {
              serverProblem.value = null;
              choosePostOnly(event.currentTarget.checked);
            }}
          />
          Post-only
        </label>
      )}
      <Advanced />
    </div>
  );
}

function Advanced() {
  const problem = problemAt('clientOrderId');
  return (
    <details class="advanced" open={problem !== undefined || undefined}>
      <summary>Advanced</summary>
      <div class="field">
        <label for="order-client-id">Client order id (optional)</label>
        <input
          id="order-client-id"
          class="input"
          type="text"
          autoComplete="off"
          spellcheck={false}
          value={draft.clientOrderId.value}
          aria-invalid={problem !== undefined}
          aria-describedby="order-client-id-note"
          onInput={(event) => {
            draft.clientOrderId.value = event.currentTarget.value;
          }}
        />
        <ProblemText id="order-client-id-problem" problem={problem} />
        <p id="order-client-id-note" class="muted">
          An id that you used before stands for that order: no second one is placed.
        </p>
      </div>
    </details>
  );
}

function Submit({ market }: { market: Rules }) {
  const isBuy = draft.side.value === 'buy';
  const problem = problemAt('form');
  const words =
    orderWords.value?.sentence ??
    `${isBuy ? 'Buy' : 'Sell'} ${market.base.symbol}: the order is not complete.`;
  return (
    <div class="submit">
      <ProblemText id="order-form-problem" problem={problem} />
      <p id="order-sentence" class="sentence">
        {session.value === null ? 'Sign in to place orders.' : words}
      </p>
      <button
        type="submit"
        class={`button ${isBuy ? 'buy' : 'sell'}`}
        aria-describedby="order-sentence"
        aria-busy={isSending.value}
      >
        {isBuy ? 'Buy' : 'Sell'}
      </button>
    </div>
  );
}

const FIELDS: readonly AmountField[] = ['price', 'size', 'amount'];

async function send(market: Rules): Promise<void> {
  if (session.value === null) return openSignIn();
  if (isLocked()) return;
  const read = reading.value;
  const [first] = read?.problems ?? [];
  if (read === null || first !== undefined) {
    tellsMissing.value = true;
    focusRequest.value = FIELDS.find((field) => field === first?.place) ?? null;
    return announce(`Not sent: ${first?.message ?? 'the market is not known yet'}.`, 'alert');
  }
  const texts = draftTexts.value;
  const words = orderSentence(texts, market);
  if (unsettledLike(words) && !(await confirmed(secondTime(words)))) return;
  tellsMissing.value = false;
  await submitOrder(newOrder(texts, market), words);
}

const secondTime = (words: string) => ({
  title: 'Send a second order?',
  text: `The outcome of the same order is not known yet: ${words} Sending it again may place two.`,
  action: 'Send a second one',
});

function newOrder(texts: DraftTexts, market: Rules): NewOrder {
  const { side, type, timeInForce, postOnly, clientOrderId } = texts;
  return {
    ...{ market: market.symbol, side, type, timeInForce },
    ...(type === 'limit' && { price: plainAmount(texts.price), postOnly }),
    ...(isQuoteOrder(texts) ? { quoteAmount: plainAmount(texts.amount) } : { size: plainAmount(texts.size) }),
    ...(clientOrderId !== '' && { clientOrderId }),
  };
}
