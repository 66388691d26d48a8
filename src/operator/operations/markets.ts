/** Publishes markets, changes their rules, lists and clears them; sets assets, and voids single orders. */

import type { Command } from 'commander';
import { setAsset } from '../../books/assets.ts';
import { clearMarket, operatorsRecord } from '../../books/markets.ts';
import {
  assetRequest,
  assetSchema,
  changeMarketRequest,
  clearedSchema,
  createMarketRequest,
  endedOrderSchema,
  operatorsMarketSchema,
  operatorsMarketsSchema,
  orderRequest,
  reasonRequest,
  symbolRequest,
} from '../../contract/operator.ts';
import type { Plain } from '../../contract/written.ts';
import type { AssetListing } from '../../domain/asset-listing.ts';
import { type OperatorCode, Refusal } from '../../domain/errors.ts';
import { MARKET_STATUSES, SELF_TRADE_POLICIES, type SelfTradePolicy } from '../../domain/market.ts';
import type { MarketChange } from '../../domain/market-rules.ts';
import { column, renderTable } from '../../terminal/table.ts';
import type { ActOptions } from '../act-options.ts';
import { readRule, readSwitch, readWholeNumber, withNulls } from '../arguments.ts';
import { closedOrders } from '../closed-orders.ts';
import { operation } from '../operation.ts';
import { type CommandResult, shortResult } from '../verb.ts';

type Market = Plain<typeof operatorsMarketSchema>;

const OF_MARKETS: readonly OperatorCode[] = ['INVALID_MARKET', 'INVALID_ASSET', 'BOOK_NOT_EMPTY'];

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

const selfTrade = (command: Command) =>
  command
    .createOption(
      '--self-trade <policy>',
      'what to drop when an order meets an own order: the rest of the incoming one, the resting one, or both',
    )
    .choices(SELF_TRADE_POLICIES);

const NULL_NOTE = `
Use null for a rule that is not enforced. Tick size and size step cannot both be null.`;

const published = ({ reply: market }: { readonly reply: Market }): CommandResult =>
  shortResult(
    `${market.symbol}: ${market.status}, version ${market.version}, tick ${market.tick}, step ${market.step}`,
    market,
  );

export const createMarket = operation({
  id: 'createMarket',
  tag: 'Markets',
  summary: 'Publishes a market',
  method: 'POST',
  path: '/markets',
  rights: ['market'],
  body: createMarketRequest,
  reply: operatorsMarketSchema,
  codes: [...OF_MARKETS, 'MARKET_EXISTS'],
  async run({ engine, networkId: usual }, { networkId = usual, ...spec }, { act }) {
    return { reply: operatorsRecord(await engine.markets.create({ ...spec, networkId }, act)) };
  },
  verbs: [
    {
      verb: 'create',
      describe: (command) =>
        command
          .argument('<symbol>', 'market symbol: BASE/QUOTE, upper-case')
          .requiredOption('--tick-size <decimal>', 'smallest price increment', readRule)
          .requiredOption('--size-step <decimal>', 'smallest size increment, in base units', readRule)
          .requiredOption('--min-order-size <decimal>', 'minimum order size, in base units', readRule)
          .requiredOption('--max-order-size <decimal>', 'maximum order size, in base units', readRule)
          .option('--min-notional <decimal>', 'minimum price x size, in quote units', readRule, null)
          .requiredOption('--fee-bps <n>', 'taker fee in basis points, 0 to 1000', readWholeNumber)
          .addOption(
            command
              .createOption('--status <status>', 'initial status')
              .choices(['active', 'pre_open'])
              .default('active'),
          )
          .option('--sell-disabled', 'refuse sell orders')
          .option('--hidden', 'hide the market from the public list of pairs')
          .addOption(selfTrade(command).default('expire_taker' satisfies SelfTradePolicy))
          .option('--reference-price <decimal>', 'mark price until the first trade', readRule, null)
          .option('--network-id <id>', 'network ID of the market (default: NETWORK_ID)')
          .addHelpText('after', NULL_NOTE)
          .description('create a market; rules that cannot be exact are refused'),
      input(symbol: string, options: CreateOptions) {
        const { sellDisabled, hidden, by: _by, reason: _reason, ...rules } = withNulls(options, RULES);
        return { ...rules, symbol, sellEnabled: !sellDisabled, visible: !hidden };
      },
      answer: published,
    },
  ],
});

export const changeMarket = operation({
  id: 'changeMarket',
  tag: 'Markets',
  summary: 'Changes the rules of a market from the next order on',
  description: 'Absent members stay as they are. Tick size and size step cannot change.',
  method: 'POST',
  path: '/markets/:symbol',
  rights: ['market'],
  params: symbolRequest,
  body: changeMarketRequest,
  reply: operatorsMarketSchema,
  codes: [...OF_MARKETS, 'MARKET_NOT_FOUND'],
  async run({ engine }, { symbol, ...given }, { act }) {
    const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    if (Object.keys(change).length === 0) throw new Refusal('VALIDATION_ERROR', 'no rule was given');
    return { reply: operatorsRecord(await engine.markets.change(symbol, change, act)) };
  },
  verbs: [
    {
      verb: 'set',
      describe: (command) =>
        command
          .argument('<symbol>', 'market symbol, like ETH/USDC')
          .addOption(
            command
              .createOption('--status <status>', 'new status; delisted needs an empty book')
              .choices(MARKET_STATUSES),
          )
          .option('--trading-enabled <bool>', 'accept orders; cancels always work', readSwitch)
          .option('--sell-enabled <bool>', 'accept sell orders', readSwitch)
          .option('--visible <bool>', 'show the market in the public list of pairs', readSwitch)
          .option('--fee-bps <n>', 'taker fee in basis points, 0 to 1000', readWholeNumber)
          .option('--min-order-size <decimal>', 'minimum order size, in base units', readRule)
          .option('--max-order-size <decimal>', 'maximum order size, in base units', readRule)
          .option('--min-notional <decimal>', 'minimum price x size, in quote units', readRule)
          .addOption(selfTrade(command))
          .option('--reference-price <decimal>', 'mark price until the first trade', readRule)
          .addHelpText('after', '\nThe tick size and the size step of a market cannot change.')
          .description('change the rules of a market from the next order on'),
      input(symbol: string, options: MarketChange & ActOptions, command: Command) {
        const { by: _by, reason: _reason, ...change } = options;
        if (Object.keys(change).length === 0) command.error('error: no option was given');
        return { symbol, ...withNulls(change, CHANGEABLE_RULES) };
      },
      answer: published,
    },
  ],
});

export const clearOrders = operation({
  id: 'clearMarket',
  tag: 'Markets',
  summary: 'Cancels all orders of a halted market',
  method: 'POST',
  path: '/markets/:symbol/clear',
  rights: ['market'],
  params: symbolRequest,
  body: reasonRequest,
  reply: clearedSchema,
  codes: ['MARKET_NOT_FOUND', 'MARKET_NOT_HALTED'],
  async run(services, { symbol: market }, { act }) {
    const cancelled = await clearMarket(services, market, act);
    return { reply: { market, cancelled, count: cancelled.length } };
  },
  verbs: [
    {
      verb: 'clear',
      describe: (command) =>
        command
          .argument('<symbol>', 'market symbol, like ETH/USDC')
          .description('cancel all orders of a halted market'),
      input: (symbol: string) => ({ symbol }),
      answer: ({ reply: { market, cancelled } }) => closedOrders(`${market} is clear`, cancelled, { market }),
    },
  ],
});

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

const onOrOff = (on: boolean): string => (on ? 'on' : 'off');
const rule = (text: string | null): string => text ?? '-';

const rowOf = (market: Market): string[] => [
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
];

export const getMarkets = operation({
  id: 'getMarkets',
  tag: 'Markets',
  summary: 'Returns all markets, hidden ones too',
  method: 'GET',
  path: '/markets',
  rights: ['read'],
  reply: operatorsMarketsSchema,
  async run({ engine }) {
    const markets = await engine.markets.all();
    return { reply: { markets: markets.map(operatorsRecord) } };
  },
  verbs: [
    {
      verb: 'list',
      describe: (command) => command.description('list all markets'),
      answer: ({ reply }) => ({
        document: reply,
        text: (paint) => renderTable(COLUMNS, reply.markets.map(rowOf), paint, '(no markets)'),
      }),
    },
  ],
});

interface AssetOptions extends ActOptions, AssetListing {
  readonly scale?: number;
}

export const setAssetOf = operation({
  id: 'setAsset',
  tag: 'Markets',
  summary: 'Sets the decimals of an asset before its first use, or what aggregators are told of it',
  description: 'Absent members stay as they are.',
  method: 'POST',
  path: '/assets',
  rights: ['market'],
  body: assetRequest,
  reply: assetSchema,
  codes: ['INVALID_ASSET', 'UNKNOWN_ASSET', 'ASSET_IN_USE'],
  run: async ({ engine }, change, { act }) => ({ reply: await setAsset({ engine }, change, act) }),
  verbs: [
    {
      verb: 'set',
      describe: (command) =>
        command
          .argument('<symbol>', 'asset symbol: 1 to 16 upper-case letters and digits, like USDC')
          .option('--scale <n>', 'decimals, 0 to 9, before the first use (default: 8)', readWholeNumber)
          .option('--name <text>', 'name for aggregators')
          .option('--ucid <n>', 'Unified Cryptoasset ID of CoinMarketCap')
          .option('--can-deposit <bool>', 'tell aggregators if deposits are open', readSwitch)
          .option('--can-withdraw <bool>', 'tell aggregators if withdrawals are open', readSwitch)
          .option('--min-withdraw <decimal>', 'smallest withdrawal, for aggregators')
          .description('set the decimals of an asset, or what aggregators are told of it'),
      input(symbol: string, options: AssetOptions, command: Command) {
        const { by: _by, reason: _reason, ...change } = options;
        if (Object.keys(change).length === 0) command.error('error: no option was given');
        return { symbol, ...change };
      },
      answer: ({ reply }) => shortResult(`${reply.symbol} has ${reply.scale} decimals`, reply),
    },
  ],
});

export const voidOrder = operation({
  id: 'voidOrder',
  tag: 'Markets',
  summary: 'Voids a live order: it ends as failed',
  method: 'POST',
  path: '/orders/:orderId/void',
  rights: ['market'],
  params: orderRequest,
  body: reasonRequest,
  reply: endedOrderSchema,
  codes: ['ORDER_NOT_FOUND'],
  run: async ({ engine }, { orderId }, { act }) => ({ reply: await engine.orders.void(orderId, act) }),
  verbs: [
    {
      verb: 'void',
      describe: (command) =>
        command
          .argument('<id>', 'id of a live order, 34 hex digits')
          .description('void a live order: it ends as failed, and its reservation is released'),
      input: (orderId: string) => ({ orderId }),
      answer: ({ reply: order }) =>
        shortResult(`order ${order.id} of ${order.wallet} on ${order.market} is ${order.status}`, order),
    },
  ],
});
