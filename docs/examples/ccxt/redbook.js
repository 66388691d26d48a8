/**
 * Redbook as an exchange of CCXT: `new Redbook({ privateKey, urls: { api: 'http://localhost:8080' } })`. Needs the packages
 * `ccxt` and `ethers`. Amounts go out as decimal strings.
 */

import ccxt from 'ccxt';
import { Wallet } from 'ethers';

const LOGIN = ['address', 'nonce', 'issuedAt'].map((name) => ({
  name,
  type: name === 'address' ? 'address' : 'string',
}));
/** CCXT's checks of structures know only these three; `info.status` has the service's own word. */
const STATUS = {
  open: 'open',
  resting: 'open',
  partially_filled: 'open',
  filled: 'closed',
  cancelled: 'canceled',
  partially_filled_cancelled: 'canceled',
  failed: 'canceled',
  expired: 'canceled',
  rejected: 'canceled',
};

/** Methods of CCXT that this class has. */
const METHODS = [
  'fetchMarkets',
  'fetchTicker',
  'fetchTickers',
  'fetchOrderBook',
  'fetchTrades',
  'fetchOHLCV',
  'fetchBalance',
  'fetchMyTrades',
  'fetchOrder',
  'fetchOrders',
  'fetchOpenOrders',
  'fetchClosedOrders',
  'createOrder',
  'editOrder',
  'cancelOrder',
  'cancelOrders',
];

/** Most orders of which this object remembers what it told. */
const MAX_REMEMBERED = 10_000;

export default class Redbook extends ccxt.Exchange {
  /** The filled amounts that the caller was last told, by order id. */
  filledSizes = new Map();

  describe() {
    return this.deepExtend(super.describe(), {
      id: 'redbook',
      name: 'Redbook',
      version: 'v1',
      rateLimit: 200,
      precisionMode: ccxt.TICK_SIZE,
      has: { spot: true, ...Object.fromEntries(METHODS.map((name) => [name, true])) },
      urls: { api: 'http://localhost:8080' },
      timeframes: {
        '1m': '1m',
        '5m': '5m',
        '15m': '15m',
        '1h': '1h',
        '4h': '4h',
        '1d': '1D',
        '1w': '1W',
        '1M': '1M',
      },
      requiredCredentials: { apiKey: false, secret: false, privateKey: true },
      exceptions: {
        exact: {
          INSUFFICIENT_BALANCE: ccxt.InsufficientFunds,
          MARKET_NOT_FOUND: ccxt.BadSymbol,
          ORDER_NOT_FOUND: ccxt.OrderNotFound,
          NOT_FOUND: ccxt.OrderNotFound,
          FORBIDDEN: ccxt.PermissionDenied,
          UNAUTHORIZED: ccxt.AuthenticationError,
          RATE_LIMITED: ccxt.RateLimitExceeded,
          OPERATIONAL_PAUSED: ccxt.OnMaintenance,
          SERVICE_UNAVAILABLE: ccxt.ExchangeNotAvailable,
          MARKET_NOT_TRADING: ccxt.MarketClosed,
          VALIDATION_ERROR: ccxt.BadRequest,
          INVALID_ORDER: ccxt.InvalidOrder,
          CONFLICT: ccxt.InvalidOrder,
          PRICE_TICK: ccxt.InvalidOrder,
          SIZE_STEP: ccxt.InvalidOrder,
        },
      },
    });
  }

  /** Sends a request, with a session if `api` is `private`. Numbers of the reply stay as the service writes them. */
  async call(method, path, params = {}, api = 'private') {
    if (api === 'private' && !(this.expiresMs > this.milliseconds())) await this.signIn();
    return this.request(path, api, method, params);
  }

  sign(path, api, method, params) {
    const query = method === 'POST' || Object.keys(params).length === 0 ? '' : `?${this.urlencode(params)}`;
    const headers = { ...(api === 'private' && { Authorization: `Bearer ${this.token}` }) };
    if (method === 'POST') headers['Content-Type'] = 'application/json';
    const body = method === 'POST' ? this.json(params) : undefined;
    return { url: this.urls.api + path + query, method, headers, body };
  }

  handleErrors(status, reason, _url, _method, _headers, _body, response) {
    if (status < 400) return;
    const { code, error } = response ?? {};
    const message = `${this.id} ${code ?? status}: ${error ?? reason}`;
    this.throwExactlyMatchedException(this.exceptions.exact, code, message);
    if (status < 500) throw new ccxt.InvalidOrder(message);
  }

  /** Signs a login that is built here: only the name, the nonce and the time come from the service. */
  async signIn() {
    const wallet = new Wallet(this.privateKey);
    const address = wallet.address.toLowerCase();
    const { typedData } = await this.call('POST', '/v1/auth/challenge', { address }, 'public');
    const { nonce, issuedAt } = typedData.message;
    const domain = { name: typedData.domain.name, version: '1' };
    const signature = await wallet.signTypedData(domain, { Login: LOGIN }, { address, nonce, issuedAt });
    const { token } = await this.call('POST', '/v1/auth/verify', { address, signature }, 'public');
    Object.assign(this, { token, walletAddress: address, expiresMs: this.milliseconds() + 7 * 3_600_000 });
  }

  async fetchMarkets() {
    const { markets } = await this.call('GET', '/v1/markets', {}, 'public');
    return markets.map((market) => this.parseMarket(market));
  }

  parseMarket(market) {
    const { symbol, status, tradingEnabled, baseToken, quoteToken, takerFeeBps, makerFeeBps } = market;
    const { priceIncrement, sizeIncrement, minOrderSize, maxOrderSize, minNotional } = market;
    const least = minOrderSize ?? sizeIncrement;
    const leastCost = minNotional ?? ccxt.Precise.stringMul(String(least), String(priceIncrement));
    return this.safeMarketStructure({
      id: symbol,
      symbol,
      base: baseToken,
      quote: quoteToken,
      baseId: baseToken,
      quoteId: quoteToken,
      type: 'spot',
      spot: true,
      margin: false,
      swap: false,
      future: false,
      option: false,
      contract: false,
      active: status === 'active' && tradingEnabled,
      taker: takerFeeBps / 10_000,
      maker: makerFeeBps / 10_000,
      percentage: true,
      tierBased: false,
      precision: { price: this.parseNumber(priceIncrement), amount: this.parseNumber(sizeIncrement) },
      limits: {
        amount: { min: this.parseNumber(least), max: this.parseNumber(maxOrderSize ?? undefined) },
        price: { min: this.parseNumber(priceIncrement), max: undefined },
        cost: { min: this.parseNumber(leastCost), max: undefined },
      },
      info: market,
    });
  }

  /** Returns a ticker of each active market; one that never traded has no prices. */
  async fetchTickers(symbols, params = {}) {
    await this.loadMarkets();
    const traded = await this.call('GET', '/v1/market-data/tickers', params, 'public');
    const active = Object.values(this.markets).filter((market) => market.active);
    const tickers = this.indexBy(
      [...active.map(({ id }) => ({ ticker_id: id.replace('/', '_') })), ...traded],
      'ticker_id',
    );
    return this.filterByArrayTickers(
      Object.values(tickers).map((ticker) => this.parseTicker(ticker)),
      'symbol',
      symbols,
    );
  }

  async fetchTicker(symbol, params = {}) {
    const tickers = await this.fetchTickers([symbol], params);
    if (tickers[symbol] === undefined) throw new ccxt.BadSymbol(`${this.id} has no ticker of ${symbol}`);
    return tickers[symbol];
  }

  parseTicker(ticker) {
    const timestamp = this.milliseconds();
    return this.safeTicker({
      symbol: ticker.ticker_id.replace('_', '/'),
      timestamp,
      datetime: this.iso8601(timestamp),
      info: ticker,
      high: ticker.high,
      low: ticker.low,
      bid: ticker.bid,
      ask: ticker.ask,
      last: ticker.last_price,
      baseVolume: ticker.base_volume,
      quoteVolume: ticker.target_volume,
    });
  }

  async fetchOrderBook(symbol, limit, params = {}) {
    const path = await this.tickerPath('orderbook', symbol);
    const query = { ...(limit !== undefined && { depth: 2 * limit }), ...params };
    const book = await this.call('GET', path, query, 'public');
    return this.parseOrderBook(book, symbol, this.safeInteger(book, 'timestamp'));
  }

  async fetchTrades(symbol, since, limit, params = {}) {
    const path = await this.tickerPath('trades', symbol);
    const start = since === undefined ? {} : { start_time: Math.floor(since / 1_000) };
    const { buy, sell } = await this.call('GET', path, { ...start, ...params }, 'public');
    return this.parseTrades([...buy, ...sell], this.market(symbol), since, limit);
  }

  async fetchOHLCV(symbol, timeframe = '1m', since, limit, params = {}) {
    const path = await this.tickerPath('candles', symbol);
    const range = {
      ...(since !== undefined && { start_time: Math.ceil(since / 1_000) }),
      ...(limit && { limit }),
    };
    const query = { tf: this.timeframes[timeframe], ...range, ...params };
    const { candles } = await this.call('GET', path, query, 'public');
    return this.parseOHLCVs(candles, this.market(symbol), timeframe, since, limit);
  }

  parseOHLCV({ time, open, high, low, close, base_volume }) {
    return [
      Number(time) * 1_000,
      ...[open, high, low, close, base_volume].map((text) => this.parseNumber(text)),
    ];
  }

  async tickerPath(list, symbol) {
    await this.loadMarkets();
    return `/v1/market-data/${list}/${this.market(symbol).id.replace('/', '_')}`;
  }

  async fetchBalance() {
    await this.loadMarkets();
    if (this.walletAddress === undefined) await this.signIn();
    const portfolio = await this.call('GET', `/v1/portfolio/${this.walletAddress}`);
    const result = { info: portfolio };
    for (const { asset, available, reserved, total } of portfolio.balances)
      result[asset] = { free: String(available), used: String(reserved), total: String(total) };
    return this.safeBalance(result);
  }

  /** `params` may have `clientOrderId`, `postOnly`, `timeInForce`, `expiresAfter`, and `cost` in place of the amount. */
  async createOrder(symbol, type, side, amount, price, params = {}) {
    await this.loadMarkets();
    return this.parseOrder(
      await this.call('POST', '/v1/orders', this.orderOf(symbol, type, side, amount, price, params)),
    );
  }

  /**
   * Replaces what is left of an order by one of `amount`. Fails with `InvalidOrder` and changes nothing if the order has
   * filled another amount than `params.filledSize`, which is by default what this object last told of it.
   */
  async editOrder(id, symbol, type, side, amount, price, params = {}) {
    await this.loadMarkets();
    const order = this.orderOf(symbol, type, side, amount, price, params);
    if (!this.filledSizes.has(id)) await this.fetchOrder(id);
    const old = { orderId: id, filledSize: this.filledSizes.get(id) };
    return this.parseOrder(await this.call('POST', '/v1/orders/replace', { ...old, ...order }));
  }

  orderOf(symbol, type, side, amount, price, { cost, ...params }) {
    const size =
      cost === undefined ? { size: this.amountToPrecision(symbol, amount) } : { quoteAmount: String(cost) };
    const limit = type === 'limit' ? { price: this.priceToPrecision(symbol, price) } : {};
    return {
      market: this.market(symbol).id,
      type,
      side,
      ...size,
      ...limit,
      clientOrderId: this.uuid(),
      ...params,
    };
  }

  async cancelOrder(id) {
    return this.parseOrder(await this.call('DELETE', `/v1/orders/${encodeURIComponent(id)}`));
  }

  async cancelOrders(ids) {
    const { results } = await this.call('POST', '/v1/orders/cancel-batch', { orderIds: ids });
    return results.flatMap(({ order }) => (order === undefined ? [] : [this.parseOrder(order)]));
  }

  async fetchOrder(id) {
    await this.loadMarkets();
    return this.parseOrder((await this.call('GET', `/v1/orders/${encodeURIComponent(id)}`)).order);
  }

  async fetchOrders(symbol, since, limit = 100, params = {}) {
    await this.loadMarkets();
    const query = { ...(symbol !== undefined && { market: this.market(symbol).id }), limit, ...params };
    const { orders } = await this.call('GET', '/v1/orders', query);
    return this.parseOrders(orders, undefined, since, limit);
  }

  fetchOpenOrders(symbol, since, limit, params = {}) {
    return this.fetchOrders(symbol, since, limit, { status: 'live', ...params });
  }

  fetchClosedOrders(symbol, since, limit, params = {}) {
    return this.fetchOrders(symbol, since, limit, { status: 'closed', ...params });
  }

  async fetchMyTrades(symbol, since, limit = 100, params = {}) {
    await this.loadMarkets();
    const query = { ...(symbol !== undefined && { market: this.market(symbol).id }), limit, ...params };
    const { trades } = await this.call('GET', '/v1/trades', query);
    return this.parseTrades(trades, undefined, since, limit);
  }

  /** Remembers what the caller is told that an order has filled. */
  remember({ id, filledSize }) {
    if (filledSize === undefined) return;
    this.filledSizes.delete(id);
    this.filledSizes.set(id, filledSize);
    if (this.filledSizes.size > MAX_REMEMBERED) this.filledSizes.delete(this.filledSizes.keys().next().value);
  }

  /** An order of a reply, or the item of a cancel, which has no amounts. */
  parseOrder(order) {
    this.remember(order);
    const { id, clientOrderId, market: symbol, type, side, timeInForce, postOnly, status } = order;
    const timestamp = this.parse8601(order.createdAt);
    return this.safeOrder({
      id,
      clientOrderId: clientOrderId ?? undefined,
      symbol,
      type,
      side,
      timeInForce,
      postOnly,
      timestamp,
      datetime: this.iso8601(timestamp),
      lastUpdateTimestamp: this.parse8601(order.updatedAt),
      price: order.price ?? undefined,
      amount: order.size,
      filled: order.filledSize,
      remaining: order.remainingSize,
      status: STATUS[status],
      reduceOnly: false,
      info: order,
      trades: (order.fills ?? []).map((fill) => ({ ...fill, market: symbol, side, orderType: type })),
    });
  }

  /** An own trade, a fill of an order, or an execution of the market. */
  parseTrade(trade, market) {
    const isOwn = trade.role !== undefined;
    const timestamp = isOwn ? this.parse8601(trade.createdAt) : Number(trade.trade_timestamp) * 1_000;
    return this.safeTrade({
      id: String(isOwn ? trade.id : trade.trade_id),
      timestamp,
      datetime: this.iso8601(timestamp),
      info: trade,
      symbol: trade.market ?? market?.symbol,
      side: trade.side ?? trade.type,
      type: trade.orderType,
      order: trade.orderId,
      takerOrMaker: trade.role,
      price: trade.price,
      amount: trade.size ?? trade.base_volume,
      cost: trade.notional ?? trade.target_volume,
      fee: isOwn ? { cost: trade.feeAmount, currency: trade.feeAsset } : undefined,
    });
  }
}
