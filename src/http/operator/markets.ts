/** `/operator/v1/markets`, `/assets` and `/orders`: publishes and changes markets, clears them and voids orders. */

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
import { type OperatorCode, Refusal } from '../../domain/errors.ts';
import { checked } from '../checked.ts';
import { actBy, operatorRoute } from './route.ts';

const OF_MARKETS: readonly OperatorCode[] = ['INVALID_MARKET', 'INVALID_ASSET', 'BOOK_NOT_EMPTY'];

export const getMarkets = operatorRoute({
  method: 'GET',
  path: '/markets',
  rights: ['read'],
  id: 'getMarkets',
  tag: 'Markets',
  summary: 'Returns all markets, hidden ones too',
  reply: operatorsMarketsSchema,
  async handle({ services }, write) {
    const markets = await services.engine.markets.all();
    return write.json({ markets: markets.map(operatorsRecord) });
  },
});

export const postMarket = operatorRoute({
  method: 'POST',
  path: '/markets',
  rights: ['market'],
  id: 'createMarket',
  tag: 'Markets',
  summary: 'Publishes a market',
  reply: operatorsMarketSchema,
  codes: [...OF_MARKETS, 'MARKET_EXISTS'],
  request: createMarketRequest,
  readsBody: true,
  async handle({ services, key, body }, write) {
    const { reason, networkId = services.networkId, ...spec } = checked(createMarketRequest, body);
    const market = await services.engine.markets.create({ ...spec, networkId }, actBy(key, reason));
    services.wakeSettlement();
    return write.json(operatorsRecord(market));
  },
});

export const postMarketChange = operatorRoute({
  method: 'POST',
  path: '/markets/:symbol',
  rights: ['market'],
  id: 'changeMarket',
  tag: 'Markets',
  summary: 'Changes the rules of a market from the next order on',
  description: 'Absent members stay as they are. Tick size and size step cannot change.',
  parameters: { symbol: symbolRequest.shape.symbol },
  reply: operatorsMarketSchema,
  codes: [...OF_MARKETS, 'MARKET_NOT_FOUND'],
  request: changeMarketRequest,
  readsBody: true,
  async handle({ services, key, params, body }, write) {
    const { symbol } = checked(symbolRequest, params);
    const { reason, ...given } = checked(changeMarketRequest, body);
    const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    if (Object.keys(change).length === 0) throw new Refusal('VALIDATION_ERROR', 'no rule was given');
    const market = await services.engine.markets.change(symbol, change, actBy(key, reason));
    services.wakeSettlement();
    return write.json(operatorsRecord(market));
  },
});

export const postClear = operatorRoute({
  method: 'POST',
  path: '/markets/:symbol/clear',
  rights: ['market'],
  id: 'clearMarket',
  tag: 'Markets',
  summary: 'Cancels all orders of a halted market',
  parameters: { symbol: symbolRequest.shape.symbol },
  reply: clearedSchema,
  codes: ['MARKET_NOT_FOUND', 'MARKET_NOT_HALTED'],
  request: reasonRequest,
  readsBody: true,
  async handle({ services, key, params, body }, write) {
    const { symbol: market } = checked(symbolRequest, params);
    const act = actBy(key, checked(reasonRequest, body).reason);
    const cancelled = await clearMarket(services, market, act);
    services.wakeSettlement();
    return write.json({ market, cancelled, count: cancelled.length });
  },
});

export const postAsset = operatorRoute({
  method: 'POST',
  path: '/assets',
  rights: ['market'],
  id: 'setAsset',
  tag: 'Markets',
  summary: 'Sets the decimals of an asset before its first use',
  reply: assetSchema,
  codes: ['INVALID_ASSET', 'ASSET_IN_USE'],
  request: assetRequest,
  readsBody: true,
  async handle({ services, key, body }, write) {
    const { reason, ...asset } = checked(assetRequest, body);
    const set = await services.engine.assets.set(asset, actBy(key, reason));
    services.wakeSettlement();
    return write.json(set);
  },
});

export const postVoid = operatorRoute({
  method: 'POST',
  path: '/orders/:orderId/void',
  rights: ['market'],
  id: 'voidOrder',
  tag: 'Markets',
  summary: 'Voids a live order: it ends as failed',
  parameters: { orderId: orderRequest.shape.orderId },
  reply: endedOrderSchema,
  codes: ['ORDER_NOT_FOUND'],
  request: reasonRequest,
  readsBody: true,
  async handle({ services, key, params, body }, write) {
    const { orderId } = checked(orderRequest, params);
    const act = actBy(key, checked(reasonRequest, body).reason);
    const order = await services.engine.orders.void(orderId, act);
    services.wakeSettlement();
    return write.json(order);
  },
});
