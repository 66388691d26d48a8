/** Publishes markets, changes their rules, lists and clears them. */

import { type Command, Option } from 'commander';
import { clearMarket, operatorsRecord } from '../books/markets.ts';
import { MARKET_STATUSES, type Market, SELF_TRADE_POLICIES, type SelfTradePolicy } from '../domain/market.ts';
import type { MarketChange } from '../domain/market-rules.ts';
import { column, renderTable } from '../terminal/table.ts';
import { type ActOptions, actOf, withAct } from './acts.ts';
import { readRule, readSwitch, readWholeNumber, withNulls } from './arguments.ts';
import { closedOrders } from './closed-orders.ts';
import { addNoun, type CommandResult, type RunCommand, shortResult } from './verb.ts';

interface CreateOptions extends ActOptions {
  tickSize: string | null;
  sizeStep: string | null;
  minOrderSize: string | null;
  maxOrderSize: string | null;
  minNotional: string | null;
  feeBps: number;
  status: 'active' | 'pre_open';
  sellDisabled?: true;
  hidden?: true;
  selfTrade: SelfTradePolicy;
  referencePrice: string | null;
  networkId?: string;
}

const CHANGEABLE_RULES = ['minOrderSize', 'maxOrderSize', 'minNotional', 'referencePrice'] as const;
const RULES = ['tickSize', 'sizeStep', ...CHANGEABLE_RULES] as const;

export function addMarketCommands(program: Command, perform: RunCommand): void {
  const market = addNoun(program, 'market', 'create and change markets');
  addCreate(market, perform);
  addSet(market, perform);

  withAct(market.command('clear'))
    .argument('<symbol>', 'market symbol, like ETH/USDC')
    .description('cancel all orders of a halted market')
    .action((symbol: string, options: ActOptions) =>
      perform(async (services) =>
        closedOrders(`${symbol} is clear`, await clearMarket(services, symbol, actOf(options)), {
          market: symbol,
        }),
      ),
    );

  market
    .command('list')
    .description('list all markets')
    .action(() => perform(async ({ engine }) => listed(await engine.markets.all())));
}

const selfTrade = (): Option =>
  new Option(
    '--self-trade <policy>',
    'what to drop when an order meets an own order: the rest of the incoming one, the resting one, or both',
  ).choices(SELF_TRADE_POLICIES);

const NULL_NOTE = `
Use null for a rule that is not enforced. Tick size and size step cannot both be null.`;

function addCreate(market: Command, perform: RunCommand): void {
  withAct(market.command('create'))
    .argument('<symbol>', 'market symbol: BASE/QUOTE, upper-case')
    .requiredOption('--tick-size <decimal>', 'smallest price increment', readRule)
    .requiredOption('--size-step <decimal>', 'smallest size increment, in base units', readRule)
    .requiredOption('--min-order-size <decimal>', 'minimum order size, in base units', readRule)
    .requiredOption('--max-order-size <decimal>', 'maximum order size, in base units', readRule)
    .option('--min-notional <decimal>', 'minimum price x size, in quote units', readRule, null)
    .requiredOption('--fee-bps <n>', 'taker fee in basis points, 0 to 1000', readWholeNumber)
    .addOption(
      new Option('--status <status>', 'initial status').choices(['active', 'pre_open']).default('active'),
    )
    .option('--sell-disabled', 'refuse sell orders')
    .option('--hidden', 'hide the market from the public list of pairs')
    .addOption(selfTrade().default('expire_taker' satisfies SelfTradePolicy))
    .option('--reference-price <decimal>', 'mark price until the first trade', readRule, null)
    .option('--network-id <id>', 'network ID of the market (default: NETWORK_ID)')
    .addHelpText('after', NULL_NOTE)
    .description('create a market; rules that cannot be exact are refused')
    .action((symbol: string, options: CreateOptions) =>
      perform(async ({ engine, networkId }) => {
        const { sellDisabled, hidden, by, reason, ...rules } = withNulls(options, RULES);
        return published(
          await engine.markets.create(
            {
              ...rules,
              symbol,
              sellEnabled: !sellDisabled,
              visible: !hidden,
              networkId: options.networkId ?? networkId,
            },
            actOf({ by, reason }),
          ),
        );
      }),
    );
}

function addSet(market: Command, perform: RunCommand): void {
  withAct(market.command('set'))
    .argument('<symbol>', 'market symbol, like ETH/USDC')
    .addOption(
      new Option('--status <status>', 'new status; delisted needs an empty book').choices(MARKET_STATUSES),
    )
    .option('--trading-enabled <bool>', 'accept orders; cancels always work', readSwitch)
    .option('--sell-enabled <bool>', 'accept sell orders', readSwitch)
    .option('--visible <bool>', 'show the market in the public list of pairs', readSwitch)
    .option('--fee-bps <n>', 'taker fee in basis points, 0 to 1000', readWholeNumber)
    .option('--min-order-size <decimal>', 'minimum order size, in base units', readRule)
    .option('--max-order-size <decimal>', 'maximum order size, in base units', readRule)
    .option('--min-notional <decimal>', 'minimum price x size, in quote units', readRule)
    .addOption(selfTrade())
    .option('--reference-price <decimal>', 'mark price until the first trade', readRule)
    .addHelpText('after', '\nThe tick size and the size step of a market cannot change.')
    .description('change the rules of a market from the next order on')
    .action((symbol: string, options: MarketChange & ActOptions, command: Command) => {
      const { by, reason, ...change } = options;
      if (Object.keys(change).length === 0) command.error('error: no option was given');
      return perform(async ({ engine }) =>
        published(
          await engine.markets.change(symbol, withNulls(change, CHANGEABLE_RULES), actOf({ by, reason })),
        ),
      );
    });
}

const published = (market: Market): CommandResult =>
  shortResult(
    `${market.symbol}: ${market.status}, version ${market.version}, tick ${market.tick}, step ${market.step}`,
    operatorsRecord(market),
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
  column('MIN VALUE', 'point'),
  column('FEE BPS', 'right'),
  column('SELF-TRADE'),
  column('REFERENCE', 'point'),
  column('NETWORK'),
];

const listed = (markets: readonly Market[]): CommandResult => {
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
    rule(market.minNotional),
    String(market.feeBps),
    market.selfTrade,
    rule(market.referencePrice),
    market.networkId,
  ]);
  return {
    document: { markets: markets.map(operatorsRecord) },
    text: (paint) => renderTable(COLUMNS, rows, paint, '(no markets)'),
  };
};
