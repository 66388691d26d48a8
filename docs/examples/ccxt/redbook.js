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
  'fetchTime',
  'fetchStatus',
  'fetchMarkets',
  'fetchTradingFee',
  'fetchTradingFees',
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
  'fetchCanceledOrders',
  'fetchOrderTrades',
  'createOrder',
  'createOrders',
  'createPostOnlyOrder',
  'createMarketBuyOrderWithCost',
  'editOrder',
  'cancelOrder',
  'cancelOrders',
  'cancelAllOrders',
];

/** Maximum items of one reply, by list. */
const PAGE = { orders: 100, trades: 500, tape: 500, candles: 1_000, batch: 50, cancels: 100 };
const DEFAULT_LIMIT = 100;
const MAX_LEVELS = 250;
/** Maximum orders of which this object remembers what it told. */
const MAX_REMEMBERED = 10_000;
const DEFAULT_URL = 'http://localhost:8080';

/** Rejections that the service records: the order was not placed. */
const REJECTIONS = {
  POST_ONLY_WOULD_CROSS: ccxt.OrderImmediatelyFillable,
  FOK_NOT_FILLED: ccxt.OrderNotFillable,
};

const ERRORS = {
  INSUFFICIENT_BALANCE: ccxt.InsufficientFunds,
  MARKET_NOT_FOUND: ccxt.BadSymbol,
  MARKET_NOT_TRADING: ccxt.MarketClosed,
  MARKET_PRE_OPEN: ccxt.MarketClosed,
  ORDER_NOT_FOUND: ccxt.OrderNotFound,
  NOT_FOUND: ccxt.OrderNotFound,
  NO_LIQUIDITY: ccxt.OrderNotFillable,
  INVALID_ORDER: ccxt.InvalidOrder,
  PRICE_TICK: ccxt.InvalidOrder,
  SIZE_STEP: ccxt.InvalidOrder,
  ORDER_BELOW_MIN_SIZE: ccxt.InvalidOrder,
  ORDER_ABOVE_MAX_SIZE: ccxt.InvalidOrder,
  QUOTE_AMOUNT_TOO_SMALL: ccxt.InvalidOrder,
  NO_REFERENCE_PRICE: ccxt.InvalidOrder,
  SELL_DISABLED: ccxt.InvalidOrder,
  REDUCE_ONLY: ccxt.InvalidOrder,
  RISK_LIMIT: ccxt.InvalidOrder,
  CONFLICT: ccxt.InvalidOrder,
  SETTLEMENT_FAILED: ccxt.OperationRejected,
  CUSTODY_HOLD: ccxt.AccountSuspended,
  STALE_TERMS_VERSION: ccxt.ManualInteractionNeeded,
  RESTRICTED_JURISDICTION: ccxt.RestrictedLocation,
  FORBIDDEN: ccxt.PermissionDenied,
  UNAUTHORIZED: ccxt.AuthenticationError,
  RATE_LIMITED: ccxt.RateLimitExceeded,
  OPERATIONAL_PAUSED: ccxt.OnMaintenance,
  SERVICE_UNAVAILABLE: ccxt.ExchangeNotAvailable,
  VALIDATION_ERROR: ccxt.BadRequest,
  BAD_REQUEST: ccxt.BadRequest,
};

export default class Redbook extends ccxt.Exchange {
  /** The filled amounts that the caller was last told, by order id. */
  filledSizes = new Map();

  /** The sandbox is the same service, unless `urls.test` names another one. */
  constructor(config = {}) {
    super({ ...config, urls: { test: config.urls?.api ?? DEFAULT_URL, ...config.urls } });
  }

  describe() {
    return this.deepExtend(super.describe(), {
      id: 'redbook',
      name: 'Redbook',
      version: 'v1',
      rateLimit: 200,
      precisionMode: ccxt.TICK_SIZE,
      has: { spot: true, ...Object.fromEntries(METHODS.map((name) => [name, true])) },
      urls: { api: DEFAULT_URL, test: DEFAULT_URL },
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
      exceptions: { exact: { ...ERRORS, ...REJECTIONS } },
    });
  }

  /**
   * Sends a request, with a session if `api` is `private`. A 401 had no effect: the request is sent once more with a new
   * session. Numbers of the reply stay as the service writes them.
   */
  async call(method, path, params = {}, api = 'private') {
    if (api === 'public') return await this.request(path, api, method, params);
    if (this.token === undefined) await this.signIn();
    const { token } = this;
    try {
      return await this.request(path, api, method, params);
    } catch (error) {
      if (error.constructor !== ccxt.AuthenticationError) throw error;
      if (this.token === token) await this.signIn();
      return await this.request(path, api, method, params);
    }
  }

  sign(path, api, method, params) {
    const query = method === 'POST' || Object.keys(params).length === 0 ? '' : `?${this.urlencode(params)}`;
    const headers = { ...(api === 'private' && { Authorization: `Bearer ${this.token}` }) };
    if (method === 'POST') headers['Content-Type'] = 'application/json';
    const body = method === 'POST' ? this.json(params) : undefined;
    return { url: this.urls.api + path + query, method, headers, body };
  }

  handleErrors(status, reason, url, _method, _headers, _body, response) {
    if (status < 400) return;
    const { code, error } = response ?? {};
    const message = `${this.id} ${code ?? status}: ${error ?? reason}`;
    if (code === 'NOT_FOUND' && url.includes('/v1/market-data/')) throw new ccxt.BadSymbol(message);
    this.throwExactlyMatchedException(this.exceptions.exact, code, message);
    // Answers of other statuses, and those of proxies, are told by CCXT: the request may have had its effect.
    if (status < 500 && status !== 408 && status !== 429) throw new ccxt.BadRequest(message);
  }

  /** Signs in, once for all calls that wait for it: a new challenge replaces the one before. */
  signIn() {
    this.signingIn ??= this.newSession().finally(() => {
      this.signingIn = undefined;
    });
    return this.signingIn;
  }

  /** Signs a login that is built here: only the name, the nonce and the time come from the service. */
  async newSession() {
    const wallet = new Wallet(this.privateKey);
    const address = wallet.address.toLowerCase();
    const { typedData } = await this.call('POST', '/v1/auth/challenge', { address }, 'public');
    const { nonce, issuedAt } = typedData.message;
    const domain = { name: typedData.domain.name, version: '1' };
    const signature = await wallet.signTypedData(domain, { Login: LOGIN }, { address, nonce, issuedAt });
    const { token } = await this.call('POST', '/v1/auth/verify', { address, signature }, 'public');
    Object.assign(this, { token, walletAddress: address });
  }

  /** Returns the service's time in Unix milliseconds. */
  async fetchTime(params = {}) {
    return this.parse8601((await this.call('GET', '/v1/status', params, 'public')).time);
  }

  async fetchStatus(params = {}) {
    const info = await this.call('GET', '/v1/status', params, 'public');
    const status = info.trading === 'active' ? 'ok' : 'maintenance';
    return { status, updated: this.parse8601(info.time), eta: undefined, url: undefined, info };
  }

  async fetchTradingFees() {
    const markets = await this.fetchMarkets();
    const fees = markets.map(({ symbol, maker, taker, percentage, tierBased, info }) => ({
      ...{ symbol, maker, taker, percentage, tierBased, info },
    }));
    return this.indexBy(fees, 'symbol');
  }

  async fetchTradingFee(symbol) {
    await this.loadMarkets();
    return (await this.fetchTradingFees())[this.market(symbol).symbol];
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
    const query = { ...(limit !== undefined && { depth: 2 * Math.min(limit, MAX_LEVELS) }), ...params };
    const book = await this.call('GET', path, query, 'public');
    return this.parseOrderBook(book, symbol, this.safeInteger(book, 'timestamp'));
  }

  /**
   * Returns the newest executions, or with `since` the oldest from there on. Their times are whole seconds: a program that
   * follows the market goes on by `params.after_id`, the id of its last one. See `untilFull` for `limit`.
   */
  async fetchTrades(symbol, since, limit, params = {}) {
    const path = await this.tickerPath('trades', symbol);
    const { paginate, until, after_id: after = 0, ...rest } = params;
    const range = {
      ...(since !== undefined && { start_time: Math.ceil(since / 1_000) }),
      ...(until !== undefined && { end_time: Math.floor(until / 1_000) }),
    };
    const isForward = since !== undefined || after !== 0;
    const wanted = { limit: paginate ? Infinity : limit, isForward };
    const rows = await untilFull(wanted, PAGE.tape, async (size, last) => {
      const id = isForward ? { after_id: last?.trade_id ?? after } : last && { before_id: last.trade_id };
      const { buy, sell } = await this.call('GET', path, { ...range, ...id, limit: size, ...rest }, 'public');
      const items = [...buy, ...sell].sort((one, other) => Number(one.trade_id) - Number(other.trade_id));
      if (!isForward) items.reverse();
      return { items, isLast: items.length < size, timeOf: ({ trade_timestamp }) => trade_timestamp };
    });
    return this.parseTrades(rows, this.market(symbol));
  }

  /** Returns the newest candles, or with `since` the oldest from there on. An interval without executions has none. */
  async fetchOHLCV(symbol, timeframe = '1m', since, limit, params = {}) {
    const path = await this.tickerPath('candles', symbol);
    const { paginate, until, ...rest } = params;
    const isForward = since !== undefined;
    const rows = await untilFull(
      { limit: paginate ? Infinity : limit, isForward },
      PAGE.candles,
      async (size, last) => {
        const range = {
          ...(isForward && { start_time: last ? Number(last.time) + 1 : Math.ceil(since / 1_000) }),
          ...(until !== undefined && { end_time: Math.floor(until / 1_000) }),
          ...(!isForward && last && { end_time: Number(last.time) - 1 }),
        };
        const pick = isForward ? 'oldest' : 'newest';
        const query = { tf: this.timeframes[timeframe], ...range, pick, limit: size, ...rest };
        const { candles } = await this.call('GET', path, query, 'public');
        const items = isForward ? candles : candles.reverse();
        return { items, isLast: items.length < size, timeOf: ({ time }) => time };
      },
    );
    return this.parseOHLCVs(rows, this.market(symbol), timeframe);
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

  /**
   * Places an order. `params` may have `clientOrderId`, `postOnly`, `timeInForce`, `expiresAfter`, and `cost` in place of
   * the amount. After a lost answer the error has the `clientOrderId`: an order that is sent again under it is placed once
   * at most, and `fetchOrder` finds it.
   */
  async createOrder(symbol, type, side, amount, price, params = {}) {
    await this.loadMarkets();
    return await this.placed('/v1/orders', this.orderOf(symbol, type, side, amount, price, params));
  }

  /** Buys for an amount of the quote currency at most; the fee comes on top. */
  createMarketBuyOrderWithCost(symbol, cost, params = {}) {
    return this.createOrder(symbol, 'market', 'buy', undefined, undefined, { ...params, cost });
  }

  /** Places orders, 50 by a request. A refused one has the status `rejected`, and `info` says why. */
  async createOrders(orders, params = {}) {
    await this.loadMarkets();
    const sent = orders.map(({ symbol, type, side, amount, price, params: own }) =>
      this.orderOf(symbol, type, side, amount, price, { ...params, ...own }),
    );
    const placed = [];
    for (let from = 0; from < sent.length; from += PAGE.batch) {
      const batch = sent.slice(from, from + PAGE.batch);
      const { results } = await this.call('POST', '/v1/orders/batch', { orders: batch });
      for (const [index, result] of results.entries())
        placed.push(
          result.order === undefined ? this.refused(batch[index], result) : this.parseOrder(result.order),
        );
    }
    return placed;
  }

  refused({ market: symbol, clientOrderId, type, side, price, size }, info) {
    const terms = { symbol, clientOrderId, type, side, price, amount: size };
    return this.safeOrder({ ...terms, status: 'rejected', filled: '0', info });
  }

  /**
   * Replaces an order, named by `id` or by `params.replacesClientOrderId`, by one of `amount`. Fails with `InvalidOrder`
   * and changes nothing if the order has filled another amount than `params.filledSize`, which is by default what this
   * object last told of it.
   */
  async editOrder(id, symbol, type, side, amount, price, params = {}) {
    await this.loadMarkets();
    if (amount === undefined) throw new ccxt.ArgumentsRequired(`${this.id} editOrder() needs an amount`);
    const { filledSize, replacesClientOrderId, ...rest } = params;
    const order = this.orderOf(symbol, type, side, amount, price, rest);
    const old = id ? { orderId: id } : { replacesClientOrderId };
    const known =
      filledSize ?? this.filledSizes.get(id) ?? (await this.filledSizeOf(id, replacesClientOrderId));
    return await this.placed('/v1/orders/replace', { ...old, filledSize: known, ...order });
  }

  editOrderWithClientOrderId(clientOrderId, symbol, type, side, amount, price, params = {}) {
    const named = { ...params, replacesClientOrderId: clientOrderId };
    return this.editOrder('', symbol, type, side, amount, price, named);
  }

  async filledSizeOf(id, clientOrderId) {
    return (await this.fetchOrder(id, undefined, { clientOrderId })).info.filledSize;
  }

  orderOf(symbol, type, side, amount, price, { cost, ...params }) {
    const size =
      cost === undefined
        ? { size: this.amountToPrecision(symbol, amount) }
        : { quoteAmount: this.numberToString(cost) };
    const limit = type === 'limit' ? { price: this.priceToPrecision(symbol, price) } : {};
    const isPostOnly = params.timeInForce === 'PO' && { timeInForce: 'GTC', postOnly: true };
    return {
      market: this.market(symbol).id,
      type,
      side,
      ...size,
      ...limit,
      clientOrderId: this.uuid(),
      ...params,
      ...isPostOnly,
    };
  }

  /** Sends an order, and throws when it was rejected, or when its id stands for another order. */
  async placed(path, sent) {
    const { clientOrderId } = sent;
    const reply = await this.call('POST', path, sent).catch((error) => {
      throw Object.assign(error, { clientOrderId });
    });
    const { order } = reply;
    const isSame = (name) =>
      sent[name] === undefined || ccxt.Precise.stringEq(String(order[name]), String(sent[name]));
    if (
      ['market', 'type', 'side'].some((name) => order[name] !== sent[name]) ||
      !['price', 'size'].every(isSame)
    )
      throw new ccxt.DuplicateOrderId(`${this.id} ${clientOrderId} stands for another order, ${order.id}`);
    if (order.status === 'rejected') {
      const message = `${this.id} ${order.reason}: the order was rejected`;
      this.throwExactlyMatchedException(this.exceptions.exact, order.reason, message);
      throw new ccxt.InvalidOrder(message);
    }
    return this.parseOrder(order);
  }

  /** Returns the path of an order by its id, or by `clientOrderId`. */
  orderPath(id, clientOrderId) {
    if (id) return `/v1/orders/${encodeURIComponent(id)}`;
    if (clientOrderId) return `/v1/orders/by-client-id/${encodeURIComponent(clientOrderId)}`;
    throw new ccxt.ArgumentsRequired(`${this.id} needs the id of an order, or params.clientOrderId`);
  }

  async cancelOrder(id, _symbol, { clientOrderId, ...params } = {}) {
    return this.parseOrder(await this.call('DELETE', this.orderPath(id, clientOrderId), params));
  }

  async cancelOrders(ids) {
    const cancelled = [];
    for (let from = 0; from < ids.length; from += PAGE.cancels) {
      const orderIds = ids.slice(from, from + PAGE.cancels);
      const { results } = await this.call('POST', '/v1/orders/cancel-batch', { orderIds });
      cancelled.push(
        ...results.flatMap(({ order }) => (order === undefined ? [] : [this.parseOrder(order)])),
      );
    }
    return cancelled;
  }

  async cancelAllOrders(symbol, params = {}) {
    await this.loadMarkets();
    const query = { ...(symbol !== undefined && { market: this.market(symbol).id }), ...params };
    const { cancelled } = await this.call('DELETE', '/v1/orders', query);
    return cancelled.map((order) => this.parseOrder(order));
  }

  async fetchOrder(id, _symbol, { clientOrderId, ...params } = {}) {
    await this.loadMarkets();
    return this.parseOrder((await this.call('GET', this.orderPath(id, clientOrderId), params)).order);
  }

  /**
   * Reads a list of the wallet: the newest rows, or with `since` the oldest from there on.
   * @param isWanted tells the rows that count
   */
  async ownRows(name, symbol, since, limit = DEFAULT_LIMIT, params = {}, isWanted = () => true) {
    await this.loadMarkets();
    const { paginate, until, ...rest } = params;
    const isForward = since !== undefined;
    const filter = {
      ...(symbol !== undefined && { market: this.market(symbol).id }),
      ...(isForward && { since, order: 'asc' }),
      ...(until !== undefined && { until: until + 1 }),
    };
    let cursor;
    return await untilFull({ limit: paginate ? Infinity : limit, isForward }, PAGE[name], async (size) => {
      const query = { ...filter, limit: size, ...(cursor && { cursor }), ...rest };
      const page = await this.call('GET', `/v1/${name}`, query);
      cursor = page.nextCursor;
      const items = page[name].filter(isWanted);
      return { items, isLast: cursor === null, timeOf: ({ createdAt }) => createdAt };
    });
  }

  async fetchOrders(symbol, since, limit, params = {}) {
    return this.parseOrders(await this.ownRows('orders', symbol, since, limit, params));
  }

  fetchOpenOrders(symbol, since, limit, params = {}) {
    return this.fetchOrders(symbol, since, limit, { status: 'live', ...params });
  }

  fetchClosedOrders(symbol, since, limit, params = {}) {
    return this.fetchOrders(symbol, since, limit, { status: 'closed', ...params });
  }

  async fetchCanceledOrders(symbol, since, limit, params = {}) {
    const isWanted = ({ status }) => STATUS[status] === 'canceled';
    const closed = { status: 'closed', ...params };
    return this.parseOrders(await this.ownRows('orders', symbol, since, limit, closed, isWanted));
  }

  async fetchMyTrades(symbol, since, limit, params = {}) {
    return this.parseTrades(await this.ownRows('trades', symbol, since, limit, params));
  }

  /** Returns all trades of an order, unless `limit` is given. */
  fetchOrderTrades(id, symbol, since = 0, limit = undefined, params = {}) {
    return this.fetchMyTrades(symbol, since, limit, {
      paginate: limit === undefined,
      ...params,
      orderId: id,
    });
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

/**
 * Reads pages until `limit` rows are there, or no more. Forward, all rows of the last one's time follow, whatever `limit`
 * says: so a program loses none that goes on from the next millisecond. With `params.paginate` the methods read to the
 * end.
 * @param read gets the size of a page and the last row before it, and returns its rows
 */
async function untilFull({ limit = DEFAULT_LIMIT, isForward }, highest, read) {
  const wanted = isForward ? limit + 1 : limit;
  const rows = [];
  for (;;) {
    const missing = wanted - rows.length;
    const size = missing > 0 ? Math.min(missing, highest) : highest;
    const { items, isLast, timeOf } = await read(size, rows.at(-1));
    rows.push(...items);
    if (rows.length >= wanted) {
      let end = limit;
      while (isForward && end < rows.length && timeOf(rows[end]) === timeOf(rows[limit - 1])) end += 1;
      if (!isForward || end < rows.length) return rows.slice(0, end);
    }
    if (isLast) return rows;
  }
}
