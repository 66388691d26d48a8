/** Publishes markets, changes their rules, lists and clears them. */

import { type Command, Option } from 'commander';
import { OperatorRefusal, Refusal } from '../domain/errors.ts';
import { MARKET_STATUSES, type Market, SELF_TRADE_POLICIES, type SelfTradePolicy } from '../domain/market.ts';
import type { MarketChange } from '../domain/market-rules.ts';
import type { ClosedOrder } from '../domain/order.ts';
import { readRule, readSwitch, readWholeNumber, withNulls } from './arguments.ts';
import { closedOrders } from './closed-orders.ts';
import type { OperatorServices } from './services.ts';
import { column, renderTable } from './table.ts';
import { type Answer, addNoun, type Perform, said } from './verb.ts';

interface CreateOptions {
  tickSize: string | null;
  sizeStep: string | null;
  minOrderSize: string | null;
  maxOrderSize: string | null;
  feeBps: number;
  status: 'active' | 'pre_open';
  sellDisabled?: true;
  hidden?: true;
  selfTrade: SelfTradePolicy;
  referencePrice: string | null;
  networkId?: string;
}

const CHANGEABLE_RULES = ['minOrderSize', 'maxOrderSize', 'referencePrice'] as const;
const RULES = ['tickSize', 'sizeStep', ...CHANGEABLE_RULES] as const;

export function addMarketCommands(program: Command, perform: Perform): void {
  const market = addNoun(program, 'market', 'publish markets and change their rules');
  addCreate(market, perform);
  addSet(market, perform);

  market
    .command('clear')
    .argument('<symbol>', 'BASE/QUOTE')
    .description('cancel every order of a halted market')
    .action((symbol: string) =>
      perform(async (services) =>
        closedOrders(`${symbol} is clear`, await clear(services, symbol), { market: symbol }),
      ),
    );

  market
    .command('list')
    .description('the market records')
    .action(() => perform(async ({ engine }) => listed(await engine.markets.all())));
}

const selfTrade = (): Option =>
  new Option(
    '--self-trade <policy>',
    'what is dropped when an incoming order meets an own one: the rest of it, the resting one, or both',
  ).choices(SELF_TRADE_POLICIES);

const NULL_NOTE = `
null stands for a rule that is not enforced; tick size and size step cannot both be null.`;

function addCreate(market: Command, perform: Perform): void {
  market
    .command('create')
    .argument('<symbol>', 'BASE/QUOTE, upper-case')
    .requiredOption('--tick-size <decimal>', 'prices are multiples of it', readRule)
    .requiredOption('--size-step <decimal>', 'sizes are multiples of it', readRule)
    .requiredOption('--min-order-size <decimal>', 'smallest order, in base units', readRule)
    .requiredOption('--max-order-size <decimal>', 'largest order, in base units', readRule)
    .requiredOption('--fee-bps <n>', 'taker fee in hundredths of a percent, 0 to 1000', readWholeNumber)
    .addOption(
      new Option('--status <status>', 'what it starts as').choices(['active', 'pre_open']).default('active'),
    )
    .option('--sell-disabled', 'take no sell orders')
    .option('--hidden', 'leave it out of the public lists of pairs')
    .addOption(selfTrade().default('expire_taker' satisfies SelfTradePolicy))
    .option('--reference-price <decimal>', 'mark price of a market that never traded', readRule, null)
    .option('--network-id <id>', 'network ID in its record (NETWORK_ID if not given)')
    .addHelpText('after', NULL_NOTE)
    .description('publish a market; rules that cannot be exact are refused, saying which to change')
    .action((symbol: string, options: CreateOptions) =>
      perform(async ({ engine, networkId }) => {
        const { sellDisabled, hidden, ...rules } = withNulls(options, RULES);
        return published(
          await engine.markets.create({
            ...rules,
            symbol,
            sellEnabled: !sellDisabled,
            visible: !hidden,
            networkId: options.networkId ?? networkId,
          }),
        );
      }),
    );
}

function addSet(market: Command, perform: Perform): void {
  market
    .command('set')
    .argument('<symbol>', 'BASE/QUOTE')
    .addOption(new Option('--status <status>', 'delisted needs an empty book').choices(MARKET_STATUSES))
    .option('--trading-enabled <bool>', 'false: take no orders; cancels always work', readSwitch)
    .option('--sell-enabled <bool>', 'false: take no sell orders', readSwitch)
    .option('--visible <bool>', 'false: leave it out of the public lists of pairs', readSwitch)
    .option('--fee-bps <n>', 'taker fee in hundredths of a percent, 0 to 1000', readWholeNumber)
    .option('--min-order-size <decimal>', 'smallest order, in base units', readRule)
    .option('--max-order-size <decimal>', 'largest order, in base units', readRule)
    .addOption(selfTrade())
    .option('--reference-price <decimal>', 'mark price of a market that never traded', readRule)
    .addHelpText('after', '\nThe next order meets the new rules. Tick size and size step never change.')
    .description('change a market’s rules, effective for the next order')
    .action((symbol: string, change: MarketChange, command: Command) => {
      if (Object.keys(change).length === 0) command.error('error: say what to change');
      return perform(async ({ engine }) =>
        published(await engine.markets.change(symbol, withNulls(change, CHANGEABLE_RULES))),
      );
    });
}

async function clear({ engine }: OperatorServices, symbol: string): Promise<ClosedOrder[]> {
  const market = (await engine.markets.all()).find((known) => known.symbol === symbol);
  if (market === undefined) throw new Refusal('MARKET_NOT_FOUND');
  if (market.status !== 'halted') {
    throw new OperatorRefusal(
      'MARKET_NOT_HALTED',
      `${symbol} is ${market.status}: halt it first (market set ${symbol} --status halted), or orders go on arriving`,
    );
  }
  return engine.orders.clear(symbol);
}

/** Returns a market as operators see it: the public record and the fields that are not public. */
const recordOf = (market: Market): object => {
  const { number, base, quote, baseAtomsPerStep, quoteAtomsPerLot, ...record } = market;
  return { ...record, baseToken: base.symbol, quoteToken: quote.symbol };
};

const published = (market: Market): Answer =>
  said(
    `${market.symbol}: ${market.status}, version ${market.version}, tick ${market.tick}, step ${market.step}`,
    recordOf(market),
  );

const COLUMNS = [
  column('MARKET'),
  column('STATUS'),
  column('TRADING'),
  column('SELLING'),
  column('VISIBLE'),
  column('TICK', 'point'),
  column('STEP', 'point'),
  column('MIN SIZE', 'point'),
  column('MAX SIZE', 'point'),
  column('FEE BPS', 'right'),
  column('SELF-TRADE'),
  column('REFERENCE', 'point'),
  column('NETWORK'),
];

const listed = (markets: readonly Market[]): Answer => {
  const onOrOff = (on: boolean): string => (on ? 'on' : 'off');
  const rule = (text: string | null): string => text ?? '-';
  const rows = markets.map((market) => [
    market.symbol,
    market.status,
    onOrOff(market.tradingEnabled),
    onOrOff(market.sellEnabled),
    onOrOff(market.visible),
    rule(market.tickSize),
    rule(market.sizeStep),
    rule(market.minOrderSize),
    rule(market.maxOrderSize),
    String(market.feeBps),
    market.selfTrade,
    rule(market.referencePrice),
    market.networkId,
  ]);
  return {
    document: { markets: markets.map(recordOf) },
    text: (paint) => renderTable(COLUMNS, rows, paint, '(no markets)'),
  };
};
