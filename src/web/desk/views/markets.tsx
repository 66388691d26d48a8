/** Markets: halts, resumes and changes them. */

import { useState } from 'preact/hooks';
import { Dialog } from '../../views/dialog.tsx';
import type { ChangeMarket, GetMarkets, Market } from '../operations.ts';
import { ask, type Field, membersOfAct } from '../operators.ts';
import { useAnswer } from '../use-answer.ts';
import { askForAct, type Changes } from './act-dialog.tsx';
import { FieldInput } from './field-input.tsx';
import { Listing } from './listing.tsx';

/** A rule that can change: a member of the act, which the record of a market has too. */
interface Rule extends Field {
  readonly name: keyof Market;
}

const changeableRules = (): Rule[] =>
  membersOfAct('changeMarket').filter((field): field is Rule => field.name !== 'reason');

/** Writes a rule as text. A rule that is not enforced is empty. */
const shownRule = (value: Market[keyof Market]): string => (value === null ? '' : String(value));

/** Reads a rule. Decimals stay text, so that they stay exact. */
const readRule = ({ isSwitch }: Rule, text: string): unknown =>
  isSwitch ? text === 'true' : text.trim() || null;

/** Returns a function that reads the changes of a market as it is then. */
const again =
  ({ symbol }: Market, changesOf: (market: Market) => Changes) =>
  async (): Promise<Changes> => {
    const { markets } = await ask<GetMarkets>('getMarkets', {});
    return changesOf(markets.find((one) => one.symbol === symbol)!);
  };

function setStatus(market: Market, status: string, verb: string): void {
  const changesOf = (present: Market): Changes => [['status', present.status, status]];
  askForAct<ChangeMarket>({
    operation: 'changeMarket',
    given: { symbol: market.symbol, status },
    title: `${verb} ${market.symbol}`,
    changes: changesOf(market),
    again: again(market, changesOf),
    done: `${market.symbol} is ${status}.`,
  });
}

export function Markets() {
  const { answer, trouble } = useAnswer<GetMarkets>('getMarkets', {});
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
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const rules = changeableRules();
  const textOf = ({ name }: Rule): string => texts[name] ?? shownRule(market[name]);
  const changed = rules.filter((rule) => textOf(rule) !== shownRule(market[rule.name]));
  const review = (): void => {
    const changesOf = (present: Market): Changes =>
      changed.map((rule) => [rule.name, shownRule(present[rule.name]) || 'none', textOf(rule) || 'none']);
    onDone();
    askForAct<ChangeMarket>({
      operation: 'changeMarket',
      given: {
        symbol: market.symbol,
        ...Object.fromEntries(changed.map((rule) => [rule.name, readRule(rule, textOf(rule))])),
      },
      title: `Change ${market.symbol}`,
      changes: changesOf(market),
      again: again(market, changesOf),
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
      {rules.map((rule) => (
        <div class="field" key={rule.name}>
          <label for={`rule-${rule.name}`}>{rule.name}</label>
          <FieldInput
            id={`rule-${rule.name}`}
            field={rule}
            inputMode="decimal"
            text={textOf(rule)}
            onText={(text) => setTexts((before) => ({ ...before, [rule.name]: text }))}
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
