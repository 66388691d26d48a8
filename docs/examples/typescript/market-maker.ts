// Quotes both sides of a market, requotes when its price moves, survives cut connections, and stops cleanly.
import { Wallet } from 'ethers';
import * as redbook from 'redbook-client';
import { WebSocket } from 'ws';

const { REDBOOK_URL = 'http://localhost:8080', MARKET = 'ETH/USDC', SIZE = '0.1', PRIVATE_KEY } = process.env;
const [BELOW, ABOVE] = ['0.999', '1.001'];

const wallet = PRIVATE_KEY === undefined ? Wallet.createRandom() : new Wallet(PRIVATE_KEY);
const connection = redbook.openConnection({ baseUrl: REDBOOK_URL, WebSocket });
const session = await redbook.signIn(connection, {
  address: wallet.address,
  prompts: false,
  signTypedData: ({ domain, types, message }) =>
    wallet.signTypedData(domain, { Login: [...types.Login] }, message),
});
const market = (await redbook.getMarkets(connection)).find(({ symbol }) => symbol === MARKET);
if (market === undefined) throw new Error(`there is no market ${MARKET}`);

// If this program dies or is cut off, the service cancels its orders within 30 seconds.
const alive = await redbook.keepAlive(session, {
  timeoutMs: 30_000,
  onFault: ({ error, cancelAt }) => console.error(`not renewed (${error.code}): orders end at ${cancelAt}`),
});

async function withdraw(orderId: string): Promise<void> {
  await redbook.cancel(session, orderId).catch((error: unknown) => {
    // The order was filled meanwhile.
    if (!(error instanceof redbook.RedbookError && error.code === 'ORDER_NOT_FOUND')) throw error;
  });
}

/** Brings the live orders to the wanted prices. They are read anew each time, so an order of unknown outcome shows. */
async function quote(price: string): Promise<void> {
  const wanted = new Map([
    ['buy' as const, redbook.roundToTick(market!, redbook.multiply(price, BELOW), 'down')],
    ['sell' as const, redbook.roundToTick(market!, redbook.multiply(price, ABOVE), 'up')],
  ]);
  for await (const order of redbook.orders(session, { market: MARKET, status: 'live' })) {
    const target = wanted.get(order.side);
    const stands = target !== undefined && redbook.compare(order.price!, target) === 0;
    if (stands) wanted.delete(order.side);
    else await withdraw(order.id);
  }
  for (const [side, at] of wanted) {
    const order = { market: MARKET, side, type: 'limit', price: at, size: SIZE, postOnly: true } as const;
    const placed = await redbook.place(session, order);
    console.log(side, at, placed.outcome === 'placed' ? placed.order.status : placed.error.code);
  }
}

const watch = redbook.watchMarket(connection, { symbol: MARKET });
process.once('SIGINT', () => watch.close());
for await (const { ticker } of watch) {
  if (ticker.index !== null)
    await quote(ticker.index).catch((error: redbook.RedbookError) => console.error('again:', error.code));
}
for await (const { id } of redbook.orders(session, { market: MARKET, status: 'live' })) await withdraw(id);
await alive.switchOff();
console.log('stopped');
