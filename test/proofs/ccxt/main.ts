/**
 * `npm run proofs -- ccxt` installs the package `ccxt` into a temporary folder, calls the methods of
 * docs/examples/ccxt/redbook.js against a service, and checks the structures that CCXT documents.
 */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { Wallet } from 'ethers';
import { openConnection, restoreSession, trades } from '../../../src/client/index.ts';
import { openFixture } from '../../http/fixture.ts';
import { ROOT } from '../../support/program.ts';
import { temporaryFolder, withServers } from '../command.ts';

const VERSION = '4.5.84';
const SYMBOL = 'ETH/USDC';

// biome-ignore lint/suspicious/noExplicitAny: CCXT is not installed where this file is compiled
type Any = any;

const MEMBERS = {
  market: [
    'id',
    'symbol',
    'base',
    'quote',
    'baseId',
    'quoteId',
    'active',
    'type',
    'spot',
    'margin',
    'swap',
    'future',
    'option',
    'contract',
    'taker',
    'maker',
    'precision',
    'limits',
    'info',
  ],
  ticker: [
    'symbol',
    'info',
    'timestamp',
    'datetime',
    'high',
    'low',
    'bid',
    'ask',
    'vwap',
    'open',
    'close',
    'last',
    'change',
    'percentage',
    'average',
    'quoteVolume',
    'baseVolume',
  ],
  trade: [
    'info',
    'amount',
    'datetime',
    'id',
    'order',
    'price',
    'timestamp',
    'type',
    'side',
    'symbol',
    'takerOrMaker',
    'cost',
    'fee',
  ],
  order: [
    'id',
    'clientOrderId',
    'datetime',
    'timestamp',
    'lastTradeTimestamp',
    'status',
    'symbol',
    'type',
    'timeInForce',
    'side',
    'price',
    'average',
    'amount',
    'filled',
    'remaining',
    'cost',
    'trades',
    'fee',
    'reduceOnly',
    'postOnly',
    'info',
  ],
};

/** Values that CCXT's own checks of structures allow. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  side: ['buy', 'sell'],
  status: ['open', 'closed', 'canceled'],
  timeInForce: ['GTC', 'IOC', 'FOK', 'PO'],
  takerOrMaker: ['taker', 'maker'],
  postOnly: [true, false],
};
/** 2009 to 2038: between the first block and the last second of 32 bits. */
const FIRST_MS = 1_230_940_800_000;
const LAST_MS = 2_147_483_648_000;

/** Holds a structure against the members, types and bounds that CCXT names. */
function check(kind: keyof typeof MEMBERS, one: Any): void {
  expect(one, kind).to.include.all.keys(MEMBERS[kind]);
  for (const name of [
    'price',
    'amount',
    'cost',
    'filled',
    'remaining',
    'average',
    'last',
    'bid',
    'ask',
    'high',
    'low',
  ])
    if (one[name] !== undefined) expect(one[name], `${kind}: ${name}`).to.be.a('number');
  for (const [name, values] of Object.entries(VALUES))
    if (kind !== 'market' && one[name] !== undefined)
      expect(values, `${kind}: ${name}`).to.include(one[name]);
  for (const name of ['price', 'amount', 'cost', 'average', 'last', 'bid', 'ask'])
    if (one[name] !== undefined && kind !== 'order') expect(one[name], `${kind}: ${name}`).to.be.above(0);
  if (one.timestamp !== undefined) {
    expect(new Date(one.timestamp).toISOString()).to.equal(one.datetime);
    expect(one.timestamp).to.be.within(FIRST_MS, Math.min(LAST_MS, Date.now() + 60_000));
  }
  if (kind === 'ticker' && one.high !== undefined) expect(one.high).to.be.at.least(one.low);
}

/** Holds the steps and limits of a market against each other; a limit that is not known is undefined. */
function checkMarket(market: Any): void {
  check('market', market);
  for (const name of ['price', 'amount']) expect(market.precision[name], name).to.be.a('number').above(0);
  for (const name of ['price', 'amount', 'cost']) {
    const { min, max } = market.limits[name];
    expect(min, `smallest ${name}`).to.be.a('number').above(0);
    if (max !== undefined) expect(max, `largest ${name}`).to.be.a('number').at.least(min);
  }
}

function checkOrder(order: Any, expected: object): void {
  check('order', order);
  expect(order).to.include(expected);
  for (const name of ['filled', 'remaining', 'amount']) expect(order[name], name).to.be.at.least(0);
  expect(order.filled + order.remaining).to.be.closeTo(order.amount, 1e-9);
  for (const trade of order.trades) check('trade', trade);
}

async function prove(open: () => Any, other: Any): Promise<void> {
  const exchange = open();
  for (const market of await exchange.fetchMarkets()) checkMarket(market);
  const markets = Object.values(await exchange.loadMarkets());
  for (const market of markets) checkMarket(market);
  check('ticker', await exchange.fetchTicker(SYMBOL));
  expect(await exchange.fetchTickers()).to.have.all.keys(markets.map(({ symbol }: Any) => symbol));
  const rested = await other.createOrder(SYMBOL, 'limit', 'sell', '0.5', '2000.05');
  checkOrder(rested, { status: 'open', amount: 0.5, price: 2000.05, filled: 0 });
  const edited = await other.editOrder(rested.id, SYMBOL, 'limit', 'sell', '0.4', '2000');
  checkOrder(edited, { status: 'open', amount: 0.4, price: 2000 });
  const bought = await exchange.createOrder(SYMBOL, 'limit', 'buy', '0.1', '2000', { timeInForce: 'IOC' });
  checkOrder(bought, { status: 'closed', filled: 0.1, average: 2000, cost: 200 });
  const missed = await exchange.createOrder(SYMBOL, 'limit', 'buy', '0.1', '1', { timeInForce: 'IOC' });
  checkOrder(missed, { status: 'canceled', filled: 0 });
  expect(missed.info.status).to.equal('expired');
  const stale = await other
    .editOrder(edited.id, SYMBOL, 'limit', 'sell', '0.4', '1999')
    .catch((error: Error) => error);
  expect(`${stale.constructor.name} ${stale.message}`).to.match(/^InvalidOrder .*CONFLICT/);
  checkOrder(await exchange.fetchOrder(bought.id), { id: bought.id, status: 'closed', cost: 200 });
  checkOrder((await other.fetchOpenOrders(SYMBOL))[0], { id: edited.id, filled: 0.1, status: 'open' });
  expect(await other.fetchOrders(SYMBOL)).to.have.length(2);
  const [mine] = await exchange.fetchMyTrades(SYMBOL);
  check('trade', mine);
  expect(mine).to.include({ takerOrMaker: 'taker', amount: 0.1, cost: 200, order: bought.id });
  const [told] = await exchange.fetchTrades(SYMBOL);
  check('trade', told);
  expect(told).to.include({ side: 'buy', price: 2000, amount: 0.1, id: mine.id });
  const ticker = await exchange.fetchTicker(SYMBOL);
  check('ticker', ticker);
  expect(ticker).to.include({ last: 2000, ask: 2000, baseVolume: 0.1 });
  check('ticker', (await exchange.fetchTickers())[SYMBOL]);
  const { bids, asks } = await exchange.fetchOrderBook(SYMBOL);
  expect([bids, asks]).to.deep.equal([[], [[2000, 0.3]]]);
  const [candle] = await exchange.fetchOHLCV(SYMBOL, '1m');
  expect(candle.slice(1)).to.deep.equal([2000, 2000, 2000, 2000, 0.1]);
  const { ETH, total } = await exchange.fetchBalance();
  expect([ETH.free, ETH.used, total.ETH]).to.deep.equal([0.1, 0, 0.1]);
  const [cancelled, none] = await other.cancelOrders([edited.id, 'no such order']);
  expect([cancelled.status, none]).to.deep.equal(['canceled', undefined]);
  const ended = (await other.fetchClosedOrders(SYMBOL)).at(-1);
  checkOrder(ended, { id: edited.id, status: 'canceled' });
  const last = await other.createOrder(SYMBOL, 'limit', 'sell', '0.1', '3000');
  expect((await other.cancelOrder(last.id)).id).to.equal(last.id);
  const lost = await other.cancelOrder(last.id).catch((error: Error) => error);
  expect(lost.constructor.name).to.equal('OrderNotFound');
}

/** Returns the name of the class of CCXT that a call fails with. */
const failure = async (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'no failure',
    (error: Error) => error.constructor.name,
  );

const idsOf = (rows: readonly Any[]): string[] => rows.map(({ id }) => id).sort();

/** Proves the methods that need no other order than their own. */
async function proveCalls(exchange: Any): Promise<void> {
  expect(await exchange.fetchTime()).to.be.closeTo(Date.now(), 60_000);
  expect((await exchange.fetchStatus()).status).to.equal('ok');
  expect(await exchange.fetchTradingFee(SYMBOL)).to.deep.include({
    symbol: SYMBOL,
    maker: 0,
    percentage: true,
  });
  const clientOrderId = 'an id of the caller';
  const named = await exchange.createOrder(SYMBOL, 'limit', 'buy', '0.1', '10', { clientOrderId });
  checkOrder(named, { clientOrderId, status: 'open' });
  expect((await exchange.createOrder(SYMBOL, 'limit', 'buy', '0.1', '10', { clientOrderId })).id).to.equal(
    named.id,
  );
  const other = exchange.createOrder(SYMBOL, 'limit', 'buy', '0.2', '10', { clientOrderId });
  expect(await failure(other)).to.equal('DuplicateOrderId');
  expect((await exchange.fetchOrder('', SYMBOL, { clientOrderId })).id).to.equal(named.id);
  const moved = await exchange.editOrderWithClientOrderId(clientOrderId, SYMBOL, 'limit', 'buy', '0.1', '11');
  checkOrder(moved, { price: 11, status: 'open' });
  const orders = [1, 2].map((price) => ({ symbol: SYMBOL, type: 'limit', side: 'buy', amount: 0.1, price }));
  const placed = await exchange.createOrders([...orders, { ...orders[0], amount: 5_000 }]);
  expect(placed.map(({ status }: Any) => status)).to.deep.equal(['open', 'open', 'rejected']);
  expect(idsOf(await exchange.cancelAllOrders(SYMBOL))).to.deep.equal(idsOf([moved, placed[0], placed[1]]));
  expect(await exchange.fetchOpenOrders(SYMBOL)).to.deep.equal([]);
  const cancelled = await exchange.fetchCanceledOrders(SYMBOL, 0, 2);
  expect(idsOf(cancelled), 'the oldest').to.deep.equal(idsOf([named, moved]));
  expect(await failure(exchange.createOrder(SYMBOL, 'limit', 'buy', '0.001', '10'))).to.equal('InvalidOrder');
  expect(
    await failure(exchange.createOrder(SYMBOL, 'limit', 'buy', '1', '10', { timeInForce: 'FOK' })),
  ).to.equal('OrderNotFillable');
  expect(await failure(exchange.createOrder(SYMBOL, 'limit', 'buy', '900', '900'))).to.equal(
    'InsufficientFunds',
  );
  expect(await failure(exchange.createMarketBuyOrderWithCost(SYMBOL, 10))).to.equal('OrderNotFillable');
  expect(await failure(exchange.fetchOrder('none'))).to.equal('OrderNotFound');
  expect(await failure(exchange.fetchOrderBook('NONE/USDC'))).to.equal('BadSymbol');
  exchange.setSandboxMode(true);
  expect((await exchange.fetchStatus()).status).to.equal('ok');
  exchange.token = 'ended';
  expect(await exchange.fetchOpenOrders(SYMBOL)).to.deep.equal([]);
}

const MANY = 2_000;
/** Maximum makers that one order meets. */
const SWEEP = 1_000;

/** Makes 2,000 trades by two orders that each take a thousand. @returns their ids, and a time before their first second */
async function sweep(maker: Any, taker: Any): Promise<{ since: number; orderIds: string[] }> {
  const since = Math.ceil(Date.now() / 1_000) * 1_000;
  const ask = { symbol: SYMBOL, type: 'limit', side: 'sell', amount: 0.002, price: 5_000 };
  await maker.createOrders(Array.from({ length: MANY }, () => ask));
  while (Date.now() < since) await taker.fetchTime();
  const size = (0.002 * SWEEP).toFixed(3);
  const orderIds: string[] = [];
  for (let order = 0; order < MANY / SWEEP; order += 1) {
    const taken = await taker.createOrder(SYMBOL, 'limit', 'buy', size, '5000', { timeInForce: 'IOC' });
    expect(taken.status).to.equal('closed');
    orderIds.push(taken.id);
  }
  await taker.createOrder(SYMBOL, 'limit', 'buy', '0.1', '2');
  const crossing = taker.createPostOnlyOrder(SYMBOL, 'limit', 'sell', '0.1', '1');
  expect(await failure(crossing)).to.equal('OrderImmediatelyFillable');
  await taker.cancelAllOrders();
  return { since, orderIds };
}

async function collected<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

/** Goes on from the millisecond after the last row, as programs do that keep a time only. */
async function forward(since: number, read: (since: number) => Promise<Any[]>): Promise<Any[]> {
  const rows: Any[] = [];
  for (let from = since; ; from = rows.at(-1).timestamp + 1) {
    const page = await read(from);
    if (page.length === 0) return rows;
    rows.push(...page);
  }
}

/** Proves that each way of reading 2,000 own trades tells the same ones. */
async function proveReading(taker: Any, since: number, orderIds: readonly string[]): Promise<void> {
  const session = restoreSession(openConnection({ baseUrl: taker.urls.api }), taker.token);
  const { symbol } = taker.market(SYMBOL);
  const all = idsOf(await taker.fetchMyTrades(symbol, since, MANY));
  expect(new Set(all).size).to.equal(MANY);
  const ways: Record<string, () => Promise<Any[]>> = {
    'own trades, paginated': () => taker.fetchMyTrades(symbol, since, undefined, { paginate: true }),
    'own trades, newest first': () => taker.fetchMyTrades(symbol, undefined, MANY),
    'own trades by time': () => forward(since, (from) => taker.fetchMyTrades(symbol, from, 50)),
    'trades of the orders': async () =>
      (await Promise.all(orderIds.map((id) => taker.fetchOrderTrades(id)))).flat(),
    'the client, oldest first': () => collected(trades(session, { since, order: 'asc' })),
    'the client, newest first': () => collected(trades(session, { since, limit: 50 })),
    'public trades': () => taker.fetchTrades(symbol, since, MANY),
    'public trades, newest first': () => taker.fetchTrades(symbol, undefined, MANY),
    'public trades by time': () => forward(since, (from) => taker.fetchTrades(symbol, from, 50)),
  };
  for (const [way, read] of Object.entries(ways)) expect(idsOf(await read()), way).to.deep.equal(all);
  expect(await taker.fetchMyTrades(symbol, since, 10)).to.have.length(SWEEP);
}

const folder = temporaryFolder('ccxt');
writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
execFileSync(
  'npm',
  ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent', `ccxt@${VERSION}`],
  {
    cwd: folder,
    stdio: 'inherit',
  },
);
symlinkSync(join(ROOT, 'node_modules/ethers'), join(folder, 'node_modules/ethers'));
copyFileSync(join(ROOT, 'docs/examples/ccxt/redbook.js'), join(folder, 'redbook.js'));
const { default: Redbook }: Any = await import(join(folder, 'redbook.js'));

await withServers(async () => {
  const fixture = await openFixture();
  const server = createServer(fixture.app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const open = (privateKey: string): Any => new Redbook({ privateKey, urls: { api } });
  const buyer = Wallet.createRandom();
  const seller = Wallet.createRandom();
  await fixture.credit(buyer.address.toLowerCase(), { USDC: '1000' });
  await fixture.credit(seller.address.toLowerCase(), { ETH: '1' });
  await prove(() => open(buyer.privateKey), open(seller.privateKey));
  const third = Wallet.createRandom();
  const maker = Wallet.createRandom();
  const taker = Wallet.createRandom();
  await fixture.credit(third.address.toLowerCase(), { USDC: '1000' });
  await fixture.credit(maker.address.toLowerCase(), { ETH: '4' });
  await fixture.credit(taker.address.toLowerCase(), { USDC: '30000' });
  await proveCalls(open(third.privateKey));
  const taking = open(taker.privateKey);
  const { since, orderIds } = await sweep(open(maker.privateKey), taking);
  await proveReading(taking, since, orderIds);
  await fixture.settle();
  await proveReading(taking, since, orderIds);
  console.log(`ccxt ${VERSION}: every method returned the structures of CCXT, and no reader lost a row`);
  server.closeAllConnections();
  server.close();
  await fixture.close();
});
process.exit();
