/**
 * Proves that placing through a faulty proxy never reports a false outcome of the real service, and tests looking
 * orders up.
 */

import { expect } from 'chai';
import { openConnection, place, restoreSession } from '../../src/client/index.ts';
import { lookupCall } from '../../src/client/lookup.ts';
import type { Trader } from '../http/fixture.ts';
import { drawFate } from '../support/fates.ts';
import { openHttpProxy } from '../support/http-proxy.ts';
import { random, runSeed } from '../support/seed.ts';
import { drawOrder } from './drawn-orders.ts';
import { type ClientFixture, openClientFixture } from './fixture.ts';
import { judge, type Report } from './judging.ts';
import { OrderRoute, type RouteRequest, type Verdict } from './order-route.ts';

const CASES = 50;
const WALLETS = 10;
const AT_ONCE = 12;
/** Factor by which the client's clock runs faster. */
const HASTE = 5;
const BID = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: '1', size: '1' } as const;
const startMs = Date.now();
const now = (): number => startMs + (Date.now() - startMs) * HASTE;
const clock = {
  now,
  sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms / HASTE);
      signal?.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    }),
};

describe('placing at the service', () => {
  let fixture: ClientFixture;
  before(async () => {
    fixture = await openClientFixture();
  });
  after(() => fixture.close());

  const signerOf = ({ signer }: Trader) => ({
    address: signer.address,
    prompts: false,
    signTypedData: (typedData: unknown) =>
      signer.signTyped(typedData as Parameters<typeof signer.signTyped>[0]),
  });

  async function playCase(
    number: number,
    trader: Trader,
    baseUrl: string,
    passings: Report['sendings'],
  ): Promise<Report> {
    const draw = random(Math.imul(runSeed(), 10_007) + number);
    const order = { ...drawOrder(draw, number), clientOrderId: `case ${number}` };
    // One order of each wallet has an id that cannot be in a path.
    const named = number < WALLETS ? { ...order, clientOrderId: number % 2 === 0 ? '.' : '..' } : order;
    const connection = openConnection({ baseUrl, clock });
    const placed = await place(restoreSession(connection, trader.token, signerOf(trader)), named);
    return { order: named, placed, sendings: [...passings], isUsed: false };
  }

  it(`never reports a false outcome in ${CASES} cases`, async () => {
    const fates = Array.from({ length: CASES }, (_, number) => random(Math.imul(runSeed(), 31) + number));
    const passings = fates.map((): { answeredStatus?: number }[] => []);
    // The first segment of a path is the number of its case.
    const proxy = await openHttpProxy({
      haste: HASTE,
      carriageOf(request) {
        const [, name = '', path = ''] = /^\/([^/]+)(\/.*)$/.exec(request.url!) ?? [];
        delete request.headers['accept-encoding'];
        const passing: (typeof passings)[number][number] = {};
        return {
          port: fixture.port,
          path,
          fate: drawFate(fates[Number(name)]!, 0.5),
          onRequest: (body) => void (body.includes('"market"') && passings[Number(name)]!.push(passing)),
          onEnd: (status) =>
            void (status !== undefined && Object.assign(passing, { answeredStatus: status })),
        };
      },
    });
    try {
      const traders = await Promise.all(
        Array.from({ length: WALLETS }, () => fixture.trader({ USDC: '5000', ETH: '3' })),
      );
      // Warms up, so that a slow first request is not taken for a lost answer.
      const first = await fixture.trader({ USDC: '5000' });
      const warm = restoreSession(fixture.connect(), first.token);
      for (const clientOrderId of ['1', '2', '3']) await place(warm, { ...BID, clientOrderId });
      // A concurrency at which the service answers every request in time.
      const reports: Report[] = [];
      let next = 0;
      const lane = async (): Promise<void> => {
        for (let number = next++; number < CASES; number = next++) {
          const baseUrl = `${proxy.url}/${number}`;
          const trader = traders[number % WALLETS]!;
          reports[number] = await playCase(number, trader, baseUrl, passings[number]!);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, lane));
      await proxy.quiet();
      const outcomes: Record<string, number> = {};
      for (const [index, trader] of traders.entries()) {
        const { orders } = (await trader.get('/v1/orders')).body as {
          orders: { clientOrderId: string; status: string }[];
        };
        const statuses = new Map(orders.map(({ clientOrderId, status }) => [clientOrderId, status]));
        expect(statuses.size, 'one order for each id').to.equal(orders.length);
        for (const [number, report] of reports.entries()) {
          if (number % WALLETS !== index) continue;
          const { placed, order } = report;
          outcomes[placed.outcome] = (outcomes[placed.outcome] ?? 0) + 1;
          try {
            judge(report, statuses.get(order.clientOrderId));
          } catch (error) {
            throw new Error(`case ${number} of seed ${runSeed()}: ${(error as Error).message}`, {
              cause: error,
            });
          }
          statuses.delete(order.clientOrderId);
        }
        expect([...statuses.keys()], 'no order under another id').to.deep.equal([]);
      }
      console.log(`      seed ${runSeed()}: ${JSON.stringify(outcomes)}`);
      expect(outcomes.placed).to.be.at.least(CASES / 10);
    } finally {
      proxy.close();
    }
  });

  it('looks orders up by requests that never place one', async () => {
    const trader = await fixture.trader({ USDC: '5000' });
    const ids = ['plain', '.', '..', 'a/b?c#d', '%2e', '\u{1F642}', 'x'.repeat(128)];
    const ask = ({ method, path, body }: ReturnType<typeof lookupCall>) =>
      method === 'GET' ? trader.get(path) : trader.post(path, body!);
    for (const id of ids) {
      const { status } = await ask(lookupCall(id));
      expect(status, id).to.equal(lookupCall(id).method === 'GET' ? 404 : 400);
    }
    expect(ids.filter((id) => lookupCall(id).method === 'POST')).to.deep.equal(['.', '..']);
    const listed = await trader.get('/v1/orders');
    expect(listed.body.orders, 'nothing was placed').to.deep.equal([]);
    for (const clientOrderId of ids) {
      const placed = await trader.order({ size: 0.002, clientOrderId });
      const found = await ask(lookupCall(clientOrderId));
      expect([found.status, found.body.order.id], clientOrderId).to.deep.equal([200, placed.body.id]);
    }
    expect((await trader.get('/v1/orders')).body.orders).to.have.length(ids.length);
  });

  it('behaves like its model', async () => {
    const trader = await fixture.trader({ USDC: '2100' });
    const limit = { market: 'BTC/USDC', side: 'buy', type: 'limit', price: '2000', size: '0.5' };
    const steps: [method: string, path: string, body: object | undefined, verdict?: Verdict][] = [
      ['POST', '/v1/orders', { clientOrderId: 'a' }],
      ['GET', '/v1/orders/by-client-id/a', undefined],
      ['POST', '/v1/orders', { ...limit, clientOrderId: 'a' }, 'rest'],
      ['POST', '/v1/orders', { ...limit, clientOrderId: 'a' }],
      ['POST', '/v1/orders', { clientOrderId: 'a' }],
      ['GET', '/v1/orders/by-client-id/a', undefined],
      ['POST', '/v1/orders', { ...limit, size: '900', clientOrderId: 'b' }, 'no funds'],
      ['GET', '/v1/orders/by-client-id/b', undefined],
      ['POST', '/v1/orders', { ...limit, timeInForce: 'FOK', clientOrderId: 'b' }, 'reject'],
      ['POST', '/v1/orders', { ...limit, timeInForce: 'FOK', clientOrderId: 'b' }],
      ['GET', '/v1/orders/by-client-id/b', undefined],
      ['POST', '/v1/orders', { ...limit, timeInForce: 'IOC', clientOrderId: 'c' }, 'expire'],
      ['GET', '/v1/orders/by-client-id/a%2Fb', undefined],
    ];
    let verdict: Verdict | undefined;
    const model = new OrderRoute(random(1), Date.now, () => verdict!);
    const token = model.signIn(trader.wallet);
    const facts = (status: number, body: Record<string, unknown>): unknown => {
      const { order = {}, code = null, accepted = null, rejectCode = null } = body;
      const { clientOrderId, status: state } = order as Record<string, unknown>;
      return { status, code, accepted, rejectCode, clientOrderId, state };
    };
    for (const [method, path, body, said] of steps) {
      verdict = said;
      const real = method === 'GET' ? await trader.get(path) : await trader.post(path, body!);
      const request: RouteRequest = {
        method,
        path,
        token,
        requestId: 'r',
        body: body && JSON.stringify(body),
      };
      const modelled = model.handle(request);
      expect(
        facts(modelled.status, JSON.parse(modelled.text)),
        `${method} ${path} ${JSON.stringify(body)}`,
      ).to.deep.equal(facts(real.status, real.body));
    }
    const stranger = await fixture.connect().fetch(`${fixture.baseUrl}/v1/orders`, {
      method: 'POST',
      headers: { Authorization: 'Bearer a.b.c' },
      signal: new AbortController().signal,
    });
    expect(stranger.status).to.equal(model.handle({ ...EMPTY, token: 'a.b.c' }).status);
  });
});

const EMPTY: RouteRequest = {
  method: 'POST',
  path: '/v1/orders',
  token: undefined,
  requestId: 'r',
  body: '{}',
};
