/** `/operator/v1/markets`, `/assets` and `/orders`: publishes and changes markets, clears them and voids orders. */

import { clearMarket, operatorsRecord } from '../../books/markets.ts';
import {
  assetRequest,
  type assetSchema,
  changeMarketRequest,
  type clearedSchema,
  createMarketRequest,
  type endedOrderSchema,
  type operatorsMarketSchema,
  type operatorsMarketsSchema,
  orderRequest,
  reasonRequest,
  symbolRequest,
} from '../../contract/operator.ts';
import { Refusal } from '../../domain/errors.ts';
import { checked } from '../checked.ts';
import { json } from '../replies/reply.ts';
import { actBy, type OperatorEndpoint } from './services.ts';

export const getMarkets: OperatorEndpoint = {
  async handle({ services }) {
    const markets = await services.engine.markets.all();
    return json<typeof operatorsMarketsSchema>({ markets: markets.map(operatorsRecord) });
  },
};

export const postMarket: OperatorEndpoint = {
  request: createMarketRequest,
  readsBody: true,
  async handle({ services, key, body }) {
    const { reason, networkId = services.networkId, ...spec } = checked(createMarketRequest, body);
    const market = await services.engine.markets.create({ ...spec, networkId }, actBy(key, reason));
    services.wakeSettlement();
    return json<typeof operatorsMarketSchema>(operatorsRecord(market));
  },
};

export const postMarketChange: OperatorEndpoint = {
  request: changeMarketRequest,
  readsBody: true,
  async handle({ services, key, params, body }) {
    const { symbol } = checked(symbolRequest, params);
    const { reason, ...given } = checked(changeMarketRequest, body);
    const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    if (Object.keys(change).length === 0) throw new Refusal('VALIDATION_ERROR', 'no rule was given');
    const market = await services.engine.markets.change(symbol, change, actBy(key, reason));
    services.wakeSettlement();
    return json<typeof operatorsMarketSchema>(operatorsRecord(market));
  },
};

export const postClear: OperatorEndpoint = {
  request: reasonRequest,
  readsBody: true,
  async handle({ services, key, params, body }) {
    const { symbol: market } = checked(symbolRequest, params);
    const act = actBy(key, checked(reasonRequest, body).reason);
    const cancelled = await clearMarket(services, market, act);
    services.wakeSettlement();
    return json<typeof clearedSchema>({ market, cancelled, count: cancelled.length });
  },
};

export const postAsset: OperatorEndpoint = {
  request: assetRequest,
  readsBody: true,
  async handle({ services, key, body }) {
    const { reason, ...asset } = checked(assetRequest, body);
    const set = await services.engine.assets.set(asset, actBy(key, reason));
    services.wakeSettlement();
    return json<typeof assetSchema>(set);
  },
};

export const postVoid: OperatorEndpoint = {
  request: reasonRequest,
  readsBody: true,
  async handle({ services, key, params, body }) {
    const { orderId } = checked(orderRequest, params);
    const act = actBy(key, checked(reasonRequest, body).reason);
    const order = await services.engine.orders.void(orderId, act);
    services.wakeSettlement();
    return json<typeof endedOrderSchema>(order);
  },
};
