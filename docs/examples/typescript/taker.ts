// Buys at once, at most at a given price, and prints what it cost: `node taker.js 0.1 2010`.
import { Wallet } from 'ethers';
import * as redbook from 'redbook-client';

const { REDBOOK_URL = 'http://localhost:8080', MARKET = 'ETH/USDC', PRIVATE_KEY } = process.env;
const [size = '0.1', worst = '2010'] = process.argv.slice(2);

const wallet = PRIVATE_KEY === undefined ? Wallet.createRandom() : new Wallet(PRIVATE_KEY);
const connection = redbook.openConnection({ baseUrl: REDBOOK_URL });
const session = await redbook.signIn(connection, {
  address: wallet.address,
  prompts: false,
  signTypedData: ({ domain, types, message }) =>
    wallet.signTypedData(domain, { Login: [...types.Login] }, message),
});
const market = (await redbook.getMarkets(connection)).find(({ symbol }) => symbol === MARKET);
if (market === undefined) throw new Error(`there is no market ${MARKET}`);

const order: redbook.LimitOrder = {
  market: MARKET,
  side: 'buy',
  type: 'limit',
  price: redbook.roundToTick(market, worst, 'down'),
  size: redbook.roundToStep(market, size),
  timeInForce: 'IOC',
};
const { asset, amount } = redbook.costOf(market, order);
console.log(`costs at most ${amount} ${asset}`);

let placed = await redbook.place(session, order);
// The same order under the same id: at most one of them is ever placed.
if (placed.outcome === 'unknown') placed = await placed.sendAgain();
if (placed.outcome !== 'placed') throw placed.error;

let spent = '0';
for await (const { notional, feeAmount } of redbook.trades(session, { orderId: placed.order.id }))
  spent = redbook.add(spent, redbook.add(notional, feeAmount));
console.log(`bought ${placed.order.filledSize} for ${spent} ${asset}; the order is ${placed.order.status}`);
