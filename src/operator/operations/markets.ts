/** Publishes markets, changes their rules, lists and clears them; sets assets, and voids single orders. */

import type { Command } from 'commander';
import { z } from 'zod';
import { setAsset } from '../../books/assets.ts';
import { clearMarket, operatorsRecord } from '../../books/markets.ts';
import { decimal, positiveDecimal } from '../../contract/decimals.ts';
import { flag, oneOf, optional, text } from '../../contract/fields.ts';
import { reason, reasonRequest } from '../../contract/operator.ts';
import { assetSymbol, decimalText, marketSymbol } from '../../contract/values.ts';
import type { Plain } from '../../contract/written.ts';
import type { AssetListing } from '../../domain/asset-listing.ts';
import { type OperatorCode, Refusal } from '../../domain/errors.ts';
import { MARKET_STATUSES, SELF_TRADE_POLICIES, type SelfTradePolicy } from '../../domain/market.ts';
import { MAX_FEE_BPS, MAX_SCALE, type MarketChange } from '../../domain/market-rules.ts';
import { formatDecimal, isWhole, toInteger } from '../../domain/units.ts';
import { column, renderTable } from '../../terminal/table.ts';
import type { ActOptions } from '../act-options.ts';
import { readRule, readSwitch, readWholeNumber, withNulls } from '../arguments.ts';
import { closedOrders, endedOrderSchema, endedOrders } from '../closed-orders.ts';
import { type Noun, operation, replyNames } from '../operation.ts';
import { type CommandResult, shortResult } from '../verb.ts';

const symbolRequest = z.object({ symbol: text.describe('market symbol, URL-encoded: `ETH%2FUSDC`') });

const rule = optional(positiveDecimal.transform(formatDecimal), null).describe('null: not enforced');
/** A whole number of a body, whose numbers come as they were written. */
const wholeNumber = (max: number) =>
  decimal
    .refine(isWhole, 'must be a whole number')
    .transform(toInteger)
    .refine((value) => value >= 0 && value <= max, `must be from 0 to ${max}`)
    .meta({ oneOf: undefined, type: 'integer', minimum: 0, maximum: max });

const feeBps = wholeNumber(MAX_FEE_BPS);
const kept = <Schema extends z.ZodType>(schema: Schema) => schema.optional();

const changedRule = kept(positiveDecimal.transform(formatDecimal).nullable());

const listing = {
  name: text.optional().describe('name for aggregators'),
  ucid: text.optional().describe('Unified Cryptoasset ID of CoinMarketCap'),
  canDeposit: z.boolean().optional(),
  canWithdraw: z.boolean().optional(),
  minWithdraw: text.optional().describe('smallest withdrawal, a decimal'),
};

const assetRequest = z.strictObject({
  symbol: text,
  scale: wholeNumber(MAX_SCALE).optional(),
  ...listing,
  reason,
});

const operatorsMarketSchema = z
  .strictObject({
    symbol: marketSymbol,
    status: z.enum(MARKET_STATUSES),
    tradingEnabled: z.boolean(),
    sellEnabled: z.boolean(),
    visible: z.boolean(),
    feeBps: z.int().min(0).max(MAX_FEE_BPS),
    tickSize: decimalText.nullable(),
    sizeStep: decimalText.nullable(),
    minOrderSize: decimalText.nullable(),
    maxOrderSize: decimalText.nullable(),
    minNotional: decimalText.nullable(),
    selfTrade: z.enum(SELF_TRADE_POLICIES),
    referencePrice: decimalText.nullable(),
    networkId: z.string(),
    tick: decimalText,
    step: decimalText,
    version: z.int().min(0),
    baseToken: assetSymbol,
    quoteToken: assetSymbol,
  })
  .register(replyNames, { id: 'Market' });

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

const createMarket = operation({
  id: 'createMarket',
  tag: 'Markets',
  summary: 'Publishes a market',
  method: 'POST',
  path: '/markets',
  rights: ['market'],
  body: z.strictObject({
    symbol: text,
    tickSize: rule,
    sizeStep: rule,
    minOrderSize: rule,
    maxOrderSize: rule,
    minNotional: rule,
    feeBps,
    status: oneOf(['active', 'pre_open']).default('active'),
    sellEnabled: flag.default(true),
    visible: flag.default(true),
    selfTrade: oneOf(SELF_TRADE_POLICIES).default('expire_taker'),
    referencePrice: rule,
    networkId: kept(text),
    reason,
  }),
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
  body: z.strictObject({
    status: kept(oneOf(MARKET_STATUSES)),
    tradingEnabled: kept(flag),
    sellEnabled: kept(flag),
    visible: kept(flag),
    feeBps: kept(feeBps),
    minOrderSize: changedRule,
    maxOrderSize: changedRule,
    minNotional: changedRule,
    selfTrade: kept(oneOf(SELF_TRADE_POLICIES)),
    referencePrice: changedRule,
    reason,
  }),
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

const clearOrders = operation({
  id: 'clearMarket',
  tag: 'Markets',
  summary: 'Cancels all orders of a halted market',
  method: 'POST',
  path: '/markets/:symbol/clear',
  rights: ['market'],
  params: symbolRequest,
  body: reasonRequest,
  reply: z.strictObject({ market: marketSymbol, ...endedOrders }).register(replyNames, { id: 'Cleared' }),
  codes: ['MARKET_NOT_FOUND', 'MARKET_NOT_HALTED'],
  async run(services, { symbol: market }, { act }) {
    const cancelled = await clearMarket(services, market, act);
    return { reply: { market, cancelled, count: cancelled.length } };
  },
  verbs: [
    {
      verb: 'clear',
      needsReason: true,
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
const shownRule = (text: string | null): string => text ?? '-';

const rowOf = (market: Market): string[] => [
  market.symbol,
  market.status,
  onOrOff(market.tradingEnabled),
  onOrOff(market.sellEnabled),
  onOrOff(market.visible),
  shownRule(market.tickSize),
  shownRule(market.sizeStep),
  shownRule(market.minOrderSize),
  shownRule(market.maxOrderSize),
  shownRule(market.minNotional),
  String(market.feeBps),
  market.selfTrade,
  shownRule(market.referencePrice),
  market.networkId,
];

export const getMarkets = operation({
  id: 'getMarkets',
  tag: 'Markets',
  summary: 'Returns all markets, hidden ones too',
  method: 'GET',
  path: '/markets',
  rights: ['read'],
  reply: z.strictObject({ markets: z.array(operatorsMarketSchema) }).register(replyNames, { id: 'Markets' }),
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

const setAssetOf = operation({
  id: 'setAsset',
  tag: 'Markets',
  summary: 'Sets the decimals of an asset before its first use, or what aggregators are told of it',
  description: 'Absent members stay as they are.',
  method: 'POST',
  path: '/assets',
  rights: ['market'],
  body: assetRequest,
  reply: z
    .strictObject({ symbol: assetSymbol, scale: z.int().min(0).max(MAX_SCALE), ...listing })
    .describe('the decimals, and what was set')
    .register(replyNames, { id: 'Asset' }),
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

const voidOrder = operation({
  id: 'voidOrder',
  tag: 'Markets',
  summary: 'Voids a live order: it ends as failed',
  method: 'POST',
  path: '/orders/:orderId/void',
  rights: ['market'],
  params: z.object({ orderId: text.describe('`id` of a live order') }),
  body: reasonRequest,
  reply: endedOrderSchema,
  codes: ['ORDER_NOT_FOUND'],
  run: async ({ engine }, { orderId }, { act }) => ({ reply: await engine.orders.void(orderId, act) }),
  verbs: [
    {
      verb: 'void',
      needsReason: true,
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

export const MARKET: Noun = {
  name: 'market',
  description: 'create and change markets',
  parts: [createMarket, changeMarket, clearOrders, getMarkets],
};

export const ASSET: Noun = { name: 'asset', description: 'register assets', parts: [setAssetOf] };

export const ORDER: Noun = { name: 'order', description: 'manage single orders', parts: [voidOrder] };
