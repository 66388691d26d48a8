/** Tests that a wallet with many orders on many connections delays only itself. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { Command } from 'ioredis';
import { eventually } from '../support/eventually.ts';
import { instead } from '../support/instead.ts';
import { type Fixture, openFixture, type Replica, type Trader } from './fixture.ts';

const MAX_WAITING = 256;
const MAKERS = 60;
const CONNECTIONS = 250;
const SENT = 300;
/** Orders of one wallet that may be in the call under way. */
const MAX_OF_CALL = 16;

describe('orders of many wallets', () => {
  let fixture: Fixture;
  let replica: Replica;
  let server: Server;
  let url: string;
  /** Placements that have reached the engine. */
  let placing = 0;
  let gate = Promise.resolve();
  let release = (): void => undefined;

  const pause = (): void => {
    gate = new Promise((resolve) => {
      release = resolve;
    });
  };
  const untilPlacing = (count: number): Promise<void> =>
    eventually(`${count} orders reach the engine`, () => placing >= count);

  before(async () => {
    fixture = await openFixture();
    const { engine } = fixture.services;
    const orders = instead(engine.orders, {
      place(command) {
        placing += 1;
        return engine.orders.place(command);
      },
    });
    // The first replica's engine is used behind a second application, whose placements are counted.
    replica = await fixture.replica({}, { engine: { ...engine, orders } });
    const { engineRedis } = fixture;
    const send = engineRedis.sendCommand.bind(engineRedis);
    engineRedis.sendCommand = (command: Command, ...rest: never[]) => gate.then(() => send(command, ...rest));
    server = createServer(replica.app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const maker = await fixture.trader({ ETH: '10' });
    for (let placed = 0; placed < MAKERS; placed += 1)
      await maker.order({ side: 'sell', price: 3000, size: 0.01 });
  });
  beforeEach(() => {
    placing = 0;
  });
  after(async () => {
    release();
    server.closeAllConnections();
    server.close();
    await fixture.close();
  });

  const headersOf = ({ token }: Trader): Record<string, string> => ({
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
  });
  const postText = async (trader: Trader, path: string, body: string): Promise<number> => {
    const { status } = await fetch(`${url}/v1/${path}`, { method: 'POST', headers: headersOf(trader), body });
    return status;
  };
  const post = (trader: Trader, order: object): Promise<number> =>
    postText(trader, 'orders', JSON.stringify({ market: 'ETH/USDC', side: 'buy', type: 'limit', ...order }));
  /** Wallets of the orders that the engine has recorded since an event, in its order. */
  const recordedAfter = async (sequence: number): Promise<string[]> => {
    const events = await fixture.engine.outbox.readEvents({ epoch: 1, sequence }, 10_000);
    return events.flatMap((event) => (event.kind === 'order_placed' ? [event.order.wallet] : []));
  };

  it('serves each wallet between two orders of an attacker whose orders are rejected', async () => {
    const attacker = await fixture.trader({ USDC: '3000000' });
    const honest: Trader[] = [];
    for (let count = 0; count < 5; count += 1) honest.push(await fixture.trader({ USDC: '100000' }));
    const { sequence } = await fixture.engine.reads.state();
    const attacks = [
      { price: 3000, size: 500, timeInForce: 'FOK' },
      { type: 'market', size: 1000 },
      { price: 3000, size: 1, postOnly: true },
      { type: 'market', quoteAmount: 10_000_000 },
    ];
    const OWN = 8;
    pause();
    const sent = Array.from({ length: CONNECTIONS }, (_none, index) =>
      post(attacker, attacks[index % attacks.length]!),
    );
    for (const trader of honest)
      for (let own = 0; own < OWN; own += 1) sent.push(post(trader, { price: 100, size: 1 }));
    await untilPlacing(sent.length);
    release();
    const statuses = await Promise.all(sent);
    expect(statuses.slice(CONNECTIONS)).to.deep.equal(Array(honest.length * OWN).fill(200));
    const wallets = await recordedAfter(sequence);
    // The call under way when the others came may have held orders of the attacker alone.
    const first = wallets.findIndex((wallet) => wallet !== attacker.wallet);
    expect(first).to.be.at.most(MAX_OF_CALL);
    for (const { wallet } of honest) {
      const last = wallets.lastIndexOf(wallet);
      const between = wallets.slice(first, last).filter((one) => one === attacker.wallet);
      expect(between.length, `orders of the attacker before the last of ${wallet}`).to.be.at.most(OWN);
    }
    expect(wallets.filter((wallet) => wallet === attacker.wallet).length).to.be.above(OWN);
  });

  it('rejects an order when 256 of its wallet wait', async () => {
    const attacker = await fixture.trader({ USDC: '3000000' });
    const honest = await fixture.trader({ USDC: '100000' });
    const { sequence } = await fixture.engine.reads.state();
    const body = JSON.stringify({ market: 'ETH/USDC', side: 'buy', type: 'limit', price: 100, size: 1 });
    const order = { method: 'POST', headers: headersOf(attacker), body };
    pause();
    const sent = Array.from({ length: SENT }, () => fetch(`${url}/v1/orders`, order));
    await untilPlacing(MAX_WAITING);
    const others = post(honest, { price: 100, size: 1 });
    await untilPlacing(MAX_WAITING + 1);
    expect(await postText(attacker, 'orders', 'no JSON'), 'an order whose body was not read').to.equal(503);
    expect(await postText(attacker, 'orders/replace', 'no JSON')).to.equal(503);
    release();
    expect(await others).to.equal(200);
    const replies = await Promise.all(sent);
    const refused = replies.filter(({ status }) => status === 503);
    const placed = replies.filter(({ status }) => status === 200);
    expect(placed.length).to.be.at.least(MAX_WAITING);
    expect(placed.length + refused.length).to.equal(SENT);
    expect(await refused[0]!.json()).to.deep.equal({
      error: '256 orders and cancels of this wallet wait already, and nothing was done: try again',
      code: 'SERVICE_UNAVAILABLE',
    });
    expect(refused[0]!.headers.get('retry-after')).to.equal('1');
    const wallets = await recordedAfter(sequence);
    expect(wallets).to.have.length(placed.length + 1);
    expect(wallets.indexOf(honest.wallet), 'orders before that of another wallet').to.be.at.most(MAX_OF_CALL);
  });
});
