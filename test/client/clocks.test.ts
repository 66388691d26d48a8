/** Tests the client while its clock is set back and ahead between any two readings. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import {
  getOrders,
  getPairs,
  openConnection,
  place,
  placeMany,
  restoreSession,
} from '../../src/client/index.ts';
import { type Random, random, runSeed } from '../support/seed.ts';
import { FaultyNetwork } from './faulty-network.ts';
import { errorOf } from './fixture.ts';
import { OrderRoute } from './order-route.ts';
import { ADDRESS, BID, LIFE_S, type Scripted, signer, stage, tokenAt } from './scripted-service.ts';
import { setClock } from './set-clock.ts';
import { virtualClock } from './virtual-clock.ts';

const CLIENT = new URL('../../src/client/', import.meta.url);
const RUNS = 40;
/** The longest wait of a limit, which the service counts over a minute. */
const WINDOW_MS = 61_000;
const dateOf = (ms: number): string => new Date(ms).toUTCString();

/** Runs a case with several seeds, and with and without a running time. */
async function draws(run: (draw: Random, isRunning: boolean) => Promise<void>): Promise<void> {
  for (let number = 0; number < RUNS; number += 1)
    await run(random(Math.imul(runSeed(), 10_007) + number), number % 2 === 0);
}

/** Opens a connection to the model of the order routes whose own clock is set all the time. */
function trading(draw: Random, isRunning: boolean) {
  const clock = virtualClock();
  const route = new OrderRoute(
    draw,
    () => clock.now(),
    () => 'rest',
  );
  const network = new FaultyNetwork(clock, route, () => ({ kind: 'pass', delayMs: draw.below(1_000) }));
  const own = setClock(clock, draw, isRunning);
  const connection = openConnection({ baseUrl: 'http://model', fetch: network.fetch, clock: own });
  let signatures = 0;
  const signTypedData = async (): Promise<string> => {
    signatures += 1;
    return '0x';
  };
  const signer = { address: ADDRESS, prompts: false, signTypedData };
  return { clock, own, route, network, connection, signer, signatures: () => signatures };
}

describe('a clock that is set back and ahead at any time', () => {
  it('refuses no good order, alone or in an order batch', () =>
    draws(async (draw, isRunning) => {
      const { clock, route, connection, signer } = trading(draw, isRunning);
      const session = restoreSession(connection, route.signIn(ADDRESS), signer);
      for (let number = 0; number < 5; number += 1) {
        const placed = await clock.until(place(session, { ...BID, timeInForce: 'IOC' }));
        expect(placed.outcome).to.equal('placed');
        await clock.pass(draw.pick([0, 1_000, 30_000, 600_000]));
        const many = await clock.until(placeMany(session, [BID, BID, BID]));
        expect(many.map(({ outcome }) => outcome)).to.deep.equal(['placed', 'placed', 'placed']);
        await clock.pass(draw.pick([0, 1_000, 30_000, 600_000]));
      }
    }));

  it('refuses no good order that is sent again', () =>
    draws(async (draw, isRunning) => {
      const { clock, route, network, connection, signer } = trading(draw, isRunning);
      const session = restoreSession(connection, route.signIn(ADDRESS), signer);
      await clock.until(place(session, BID));
      const mended = network.fetch;
      let isCut = true;
      const fetch: typeof mended = async (url, init) => {
        if (isCut) throw new TypeError('fetch failed');
        return await mended(url, init);
      };
      Object.assign(connection, { fetch });
      const lost = await clock.until(place(session, { ...BID, timeInForce: 'IOC' }));
      if (lost.outcome !== 'unknown') throw new Error(lost.outcome);
      isCut = false;
      await clock.pass(draw.pick([0, 60_000, 600_000]));
      expect((await clock.until(lost.sendAgain())).outcome).to.equal('placed');
    }));

  it('makes no wait longer than the window of a limit', () =>
    draws(async (draw, isRunning) => {
      const inHeader = draw.chance(0.5);
      const staged = stage((_route, _number, { now }): Scripted => {
        const reset = String(Math.ceil(now() / 1_000) + 60);
        const headers = { 'RateLimit-Remaining': '0', 'RateLimit-Reset': reset };
        return { headers: { ...headers, ...(inHeader && { Date: dateOf(now()) }) }, body: [] };
      });
      const { clock } = staged;
      const connection = { ...staged.connection, clock: setClock(clock, draw, isRunning) };
      let first = true;
      let longestMs = 0;
      for (let read = 0; read < 10; read += 1) {
        const startMs = clock.now();
        await clock.until(getPairs(connection));
        if (!first) longestMs = Math.max(longestMs, clock.now() - startMs);
        first = false;
      }
      expect(longestMs).to.be.at.most(WINDOW_MS);
    }));

  it('ends no session, and renews one as often as a right clock does', () =>
    draws(async (draw, isRunning) => {
      const { clock, own, route, connection, signer, signatures } = trading(draw, isRunning);
      const session = restoreSession(
        connection,
        route.signIn(ADDRESS),
        draw.chance(0.5) ? signer : undefined,
      );
      for (let hour = 0; hour < 7; hour += 1) {
        expect((await clock.until(place(session, BID))).outcome).to.equal('placed');
        await clock.pass(3_600_000);
      }
      if (!isRunning) return;
      expect(signatures(), 'a session of eight hours').to.equal(0);
      // The displayed time may change between the two readings.
      const shown = { now: own.now() };
      Object.assign(connection, { clock: { ...own, now: () => shown.now } });
      expect(session.expiresAt - shown.now).to.be.within(3_600_000 - 60_000, 3_600_000 + 60_000);
    }));

  it('leaves a kept token in use when its renewal fails, unless an answer says that it is over', async () => {
    let errorMs = 0;
    const staged = stage((route, _number, { now }) => {
      const headers = { Date: dateOf(now() - errorMs) };
      if (route.endsWith('/challenge')) return { headers, status: 403, body: { code: 'FORBIDDEN' } };
      return { headers, body: { orders: [], nextCursor: null } };
    });
    const { clock, connection, seen } = staged;
    const session = restoreSession(connection, tokenAt(clock), signer(false));
    errorMs = 2 * LIFE_S * 1_000;
    clock.turnBack(-errorMs);
    await clock.until(getOrders(session));
    expect(seen.map(({ route }) => route)).to.deep.equal(['POST /v1/auth/challenge', 'GET /v1/orders']);
    await clock.pass(LIFE_S * 1_000);
    expect(await clock.until(errorOf(getOrders(session)))).to.include({ code: 'FORBIDDEN' });
  });

  it('is read in one file only', () => {
    const readers = readdirSync(CLIENT)
      .filter((name) => name.endsWith('.ts'))
      .filter((name) =>
        /clock\.(now|running|sleep)|#now = clock|Date\.now|performance\.|\bsetTimeout/.test(
          readFileSync(new URL(name, CLIENT), 'utf8'),
        ),
      );
    // `connection.ts` has the system's clock.
    expect(readers).to.have.members(['connection.ts', 'own-clock.ts']);
  });
});
