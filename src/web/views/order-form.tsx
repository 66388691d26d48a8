/** Takes an order and shows, to the atom, its cost before it is sent. */

import { computed, effect } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Market as Rules } from '../../domain/market.ts';
import type { OrderType, Side } from '../../domain/order.ts';
import { announce } from '../state/announcements.ts';
import { problemAt, tellsMissing } from '../state/form-problems.ts';
import { currentMarket, stopOf } from '../state/markets.ts';
import { type AmountField, chooseSide, chooseType, draft, focusRequest } from '../state/order-draft.ts';
import { orderWords, reading, rules, sendable } from '../state/order-preview.ts';
import { ask, confirmedAct, type Question, question } from '../state/question.ts';
import { selectedTicker } from '../state/selected-market.ts';
import { serviceStatus } from '../state/service-status.ts';
import { session } from '../state/session.ts';
import { isSecondPress, isSending, serverProblem, submitOrder, unsettledLike } from '../state/submissions.ts';
import { ProblemText } from './amount-field.tsx';
import { Amounts, Shares } from './order-amounts.tsx';
import { Conditions } from './order-conditions.tsx';
import { OrderPreview } from './order-preview.tsx';
import { openSignIn } from './sign-in.tsx';
import { Submissions } from './submissions.tsx';

// The problems are those of another market.
effect(() => {
  void selectedTicker.value;
  tellsMissing.value = false;
  serverProblem.value = null;
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
            void send();
          }}
        >
          <div class="form-fields">
            <Kind />
            <Amounts market={market} />
            <Shares market={market} />
            <Conditions />
            <OrderPreview />
          </div>
          <Submissions />
          <Submit market={market} />
        </form>
      )}
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
  const side = draft.side.value;
  const type = draft.type.value;
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
      <div class="segments sides" translate={false} role="radiogroup" aria-label="Side">
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

/** Reason why no order is accepted now, in the market or anywhere; null when there is none. */
const tradingStop = computed(() => {
  if (serviceStatus.value?.trading === 'paused') return 'Trading is paused.';
  return currentMarket.value && stopOf(currentMarket.value);
});

// A refusal for the state of the market is over when the market has another one.
effect(() => {
  void tradingStop.value;
  const code = serverProblem.peek()?.code;
  if (code === 'MARKET_NOT_TRADING' || code === 'OPERATIONAL_PAUSED' || code === 'MARKET_PRE_OPEN')
    serverProblem.value = null;
});

function Submit({ market }: { market: Rules }) {
  const isBuy = draft.side.value === 'buy';
  const isSignedIn = session.value !== null;
  const problem = problemAt('form');
  const impact = orderWords.value?.impact;
  const side = isBuy ? 'Buy' : 'Sell';
  const stop = tradingStop.value;
  const words =
    stop ?? orderWords.value?.sentence ?? `${side} ${market.base.symbol}: the order is not complete.`;
  return (
    <div class="submit">
      <ProblemText id="order-form-problem" problem={problem} />
      {impact && <p class={`impact ${impact.alarm}`}>{impact.text}</p>}
      <p id="order-sentence" class="sentence" translate={false}>
        {words}
      </p>
      <button
        type="submit"
        translate={false}
        class={stop === null ? `button ${isBuy ? 'buy' : 'sell'}` : 'button'}
        aria-describedby="order-sentence"
        aria-busy={isSending.value}
        aria-disabled={isSending.value}
      >
        {isSignedIn ? side : `Sign in to ${side.toLowerCase()}`}
      </button>
    </div>
  );
}

const FIELDS: readonly AmountField[] = ['price', 'size', 'amount'];

async function send(): Promise<void> {
  if (session.value === null) return openSignIn();
  if (isSending.value || isSecondPress() || question.peek() !== null) return;
  const stop = tradingStop.peek();
  if (stop !== null) return announce(`Not sent: ${stop}`, 'alert');
  const read = reading.value;
  const [first] = read?.problems ?? [];
  if (read === null || first !== undefined) {
    tellsMissing.value = true;
    focusRequest.value = FIELDS.find((field) => field === first?.field) ?? null;
    return announce(`Not sent: ${first?.message ?? 'the market is not known yet'}.`, 'alert');
  }
  const drafted = sendable.value;
  if (drafted === null) return announce('Not sent: the book has no order that it could meet.', 'alert');
  const { likeness } = drafted;
  if (!(await isWanted(likeness))) return;
  const order = await confirmedAct(() => (sendable.value?.likeness === likeness ? sendable.value : null));
  if (order === 'gone') return announce('Not sent: the form has another order now.', 'alert');
  if (order === 'no') return;
  tellsMissing.value = false;
  await submitOrder(order);
}

/** Words of the choice between a second order and the first one again. */
const SECOND = { title: 'Send a second order?', second: 'Send a second one' };
const AGAIN = 'Send the same order again (never places two)';

/** Returns the question before a second order; null once the outcome of the first one is known. */
function secondQuestion(likeness: string): Question | null {
  const unsettled = unsettledLike(likeness);
  if (unsettled === undefined) return null;
  const text = `The outcome of the same order is not known yet: ${unsettled.words} A second order may place two.`;
  const { title, second } = SECOND;
  return unsettled.open === null
    ? { title, text, action: second }
    : { title, text, isSafe: true, action: AGAIN, other: second };
}

/** Asks before a second order of the same draft. The offer is to send the first one again, which is safe. */
async function isWanted(likeness: string): Promise<boolean> {
  const unsettled = unsettledLike(likeness);
  if (unsettled === undefined) return true;
  const given = await ask(() => secondQuestion(likeness));
  if (given === 'gone') announce('Not sent: the outcome of the first order is known now.', 'alert');
  const { open } = unsettledLike(likeness) ?? {};
  if (given === 'action' && open) void open.sendAgain();
  return given === 'other' || (given === 'action' && !open);
}
