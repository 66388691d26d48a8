/** Markets: halts, resumes and changes them. */

import { useState } from 'preact/hooks';
import { Dialog } from '../../views/dialog.tsx';
import type { Market } from '../answers.ts';
import { ask } from '../operators.ts';
import { useAnswer } from '../use-answer.ts';
import { askForAct, type Changes } from './act-dialog.tsx';
import { Listing } from './listing.tsx';

const pathOf = ({ symbol }: Market): string => `/markets/${encodeURIComponent(symbol)}`;

const SWITCH = ['true', 'false'] as const;

/** Rules that can change, with their choices. A rule without choices is a decimal. */
const RULES = {
  status: ['active', 'pre_open', 'halted', 'delisted'],
  tradingEnabled: SWITCH,
  sellEnabled: SWITCH,
  visible: SWITCH,
  selfTrade: ['expire_taker', 'expire_maker', 'expire_both'],
  feeBps: null,
  minOrderSize: null,
  maxOrderSize: null,
  minNotional: null,
  referencePrice: null,
} as const;

type Rule = keyof typeof RULES;
const RULE_NAMES = Object.keys(RULES) as Rule[];

/** Writes a rule as text. A rule that is not enforced is empty. */
const shownRule = (value: Market[Rule]): string => (value === null ? '' : String(value));

/** Reads a rule. Decimals stay text, so that they stay exact. */
const readRule = (rule: Rule, text: string): unknown =>
  RULES[rule] === SWITCH ? text === 'true' : text.trim() || null;

/** Returns a function that reads the changes of a market as it is then. */
const again =
  ({ symbol }: Market, changesOf: (market: Market) => Changes) =>
  async (): Promise<Changes> => {
    const { markets } = await ask<{ readonly markets: readonly Market[] }>('/markets');
    return changesOf(markets.find((one) => one.symbol === symbol)!);
  };

function setStatus(market: Market, status: string, verb: string): void {
  const changesOf = (present: Market): Changes => [['status', present.status, status]];
  askForAct({
    title: `${verb} ${market.symbol}`,
    changes: changesOf(market),
    again: again(market, changesOf),
    path: pathOf(market),
    body: { status },
    done: `${market.symbol} is ${status}.`,
  });
}

export function Markets() {
  const { answer, trouble } = useAnswer<{ markets: readonly Market[] }>('/markets');
  const [edited, setEdited] = useState<Market | null>(null);
  return (
    <>
      <Listing
        title="Markets"
        columns={['Market', 'Status', 'Trading', 'Sells', 'Visible', 'Fee', 'Actions']}
        rows={answer?.markets.map((market) => [
          market.symbol,
          [
            market.symbol,
            market.status,
            market.tradingEnabled ? 'on' : 'off',
            market.sellEnabled ? 'on' : 'off',
            market.visible ? 'yes' : 'no',
            `${market.feeBps} bps`,
            <MarketActions key="actions" market={market} onEdit={() => setEdited(market)} />,
          ],
        ])}
        empty="There is no market."
        trouble={trouble}
      />
      <Dialog open={edited !== null} title={`Edit ${edited?.symbol ?? ''}`} onClose={() => setEdited(null)}>
        {edited !== null && <RulesForm market={edited} onDone={() => setEdited(null)} />}
      </Dialog>
    </>
  );
}

interface MarketActionsProps {
  readonly market: Market;
  readonly onEdit: () => void;
}

function MarketActions({ market, onEdit }: MarketActionsProps) {
  const isHalted = market.status === 'halted';
  const [verb, next] = isHalted ? ['Resume', 'active'] : ['Halt', 'halted'];
  return (
    <span class="desk-actions">
      <button
        type="button"
        class={`button small ${isHalted ? '' : 'danger'}`}
        onClick={() => setStatus(market, next!, verb!)}
      >
        {verb}
        <span class="visually-hidden"> {market.symbol}</span>
      </button>
      <button type="button" class="button small" onClick={onEdit}>
        Edit<span class="visually-hidden"> {market.symbol}</span>
      </button>
    </span>
  );
}

interface RulesFormProps {
  readonly market: Market;
  readonly onDone: () => void;
}

/** Collects the changed rules. The next dialog shows old and new before anything is sent. */
function RulesForm({ market, onDone }: RulesFormProps) {
  const [texts, setTexts] = useState<Readonly<Partial<Record<Rule, string>>>>({});
  const textOf = (rule: Rule): string => texts[rule] ?? shownRule(market[rule]);
  const changed = RULE_NAMES.filter((rule) => textOf(rule) !== shownRule(market[rule]));
  const review = (): void => {
    const changesOf = (present: Market): Changes =>
      changed.map((rule) => [rule, shownRule(present[rule]) || 'none', textOf(rule) || 'none']);
    onDone();
    askForAct({
      title: `Change ${market.symbol}`,
      changes: changesOf(market),
      again: again(market, changesOf),
      path: pathOf(market),
      body: Object.fromEntries(changed.map((rule) => [rule, readRule(rule, textOf(rule))])),
      done: `${market.symbol} has new rules from the next order on.`,
    });
  };
  return (
    <form
      class="desk-act"
      onSubmit={(event) => {
        event.preventDefault();
        if (changed.length > 0) review();
      }}
    >
      {RULE_NAMES.map((rule) => (
        <div class="field" key={rule}>
          <label for={`rule-${rule}`}>{rule}</label>
          <RuleInput
            rule={rule}
            text={textOf(rule)}
            onText={(text) => setTexts((before) => ({ ...before, [rule]: text }))}
          />
        </div>
      ))}
      <p class="muted">An empty decimal is no rule.</p>
      <div class="dialog-actions">
        <button type="submit" class="button primary" disabled={changed.length === 0}>
          Review changes
        </button>
      </div>
    </form>
  );
}

interface RuleInputProps {
  readonly rule: Rule;
  readonly text: string;
  readonly onText: (text: string) => void;
}

function RuleInput({ rule, text, onText }: RuleInputProps) {
  const choices = RULES[rule];
  const id = `rule-${rule}`;
  if (choices === null)
    return (
      <input
        id={id}
        class="input"
        inputMode="decimal"
        autocomplete="off"
        value={text}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
    );
  return (
    <select id={id} value={text} onChange={({ currentTarget }) => onText(currentTarget.value)}>
      {choices.map((choice) => (
        <option key={choice}>{choice}</option>
      ))}
    </select>
  );
}
