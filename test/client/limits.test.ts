/** Tests request limits, session renewal and retries on a virtual clock, against a scripted service. */

import { expect } from 'chai';
import {
  cancel,
  cancelAll,
  getMarkets,
  getOrders,
  getPairs,
  place,
  renew,
  restoreSession,
  type Session,
  signIn,
} from '../../src/client/index.ts';
import { errorOf } from './fixture.ts';
import {
  BID,
  challengeAt,
  LIFE_S,
  type Scripted,
  signer,
  stage,
  tokenAt,
  UNAUTHORIZED,
} from './scripted-service.ts';

const dateOf = (ms: number): string => new Date(ms).toUTCString();

describe('limits', () => {
  it('delay requests until the window moves, by the clock of the service', async () => {
    // The client's clock is an hour ahead; the client must use the service's `Date` header.
    const behindMs = 3_600_000;
    const { clock, seen, connection } = stage((_route, number, { now }) => {
      const serverMs = now() - behindMs;
      const reset = String(Math.ceil(serverMs / 1_000) + 30);
      const headers = { Date: dateOf(serverMs), 'RateLimit-Remaining': String(Math.max(0, 1 - number)) };
      return { headers: { ...headers, 'RateLimit-Reset': reset }, body: [] };
    });
    await clock.until(Promise.all([getPairs(connection)]));
    await clock.until(getPairs(connection));
    expect(seen.map(({ atMs }) => atMs)).to.deep.equal([0, 0]);
    await clock.until(Promise.all([getPairs(connection), getPairs(connection)]));
    expect(seen.map(({ atMs }) => atMs)).to.deep.equal([0, 0, 30_000, 60_000]);
  });

  it('delay a read by at most a minute if the clock is wrong', async () => {
    const { clock, seen, connection } = stage(() => ({
      headers: { 'RateLimit-Remaining': '0', 'RateLimit-Reset': '99999999999' },
      body: [],
    }));
    for (let read = 0; read < 2; read += 1) await clock.until(getPairs(connection));
    expect(seen[1]!.atMs).to.be.within(60_000, 61_000);
  });

  it('delay retries after a 429, and are finally reported', async () => {
    const { clock, seen, connection } = stage(() => ({
      status: 429,
      headers: { 'Retry-After': '7' },
      body: { code: 'RATE_LIMITED', error: 'too many' },
    }));
    const error = await clock.until(errorOf(getPairs(connection)));
    expect(error).to.include({ code: 'RATE_LIMITED', retryAfterMs: 7_000, outcome: 'refused' });
    expect(seen).to.have.length(5);
    for (const [index, { atMs }] of seen.entries())
      if (index > 0) expect(atMs - seen[index - 1]!.atMs).to.be.at.least(7_000);
  });

  it('delay the reads of a wallet that answer 503 with a time to wait', async () => {
    const { clock, seen, connection } = stage((_route, number) =>
      number < 4
        ? {
            status: 503,
            headers: { 'Retry-After': '1' },
            body: { code: 'SERVICE_UNAVAILABLE', error: 'too many reads' },
          }
        : { body: { orders: [], nextCursor: null } },
    );
    const session = restoreSession(connection, tokenAt(clock));
    expect(await clock.until(getOrders(session))).to.deep.equal({ orders: [], nextCursor: null });
    expect(seen).to.have.length(5);
    for (const [index, { atMs }] of seen.entries())
      if (index > 0) expect(atMs - seen[index - 1]!.atMs).to.be.at.least(1_000);
  });

  it('never delay an order or a cancel', async () => {
    const { clock, seen, connection } = stage(() => ({
      status: 429,
      headers: { 'Retry-After': '7' },
      body: 'a proxy’s words',
    }));
    const session = restoreSession(connection, tokenAt(clock));
    expect((await errorOf(cancel(session, 'an order'))).code).to.equal('RATE_LIMITED');
    expect((await errorOf(cancelAll(session))).code).to.equal('RATE_LIMITED');
    const placed = await place(session, BID);
    expect(placed.outcome === 'refused' && placed.error).to.include({
      code: 'RATE_LIMITED',
      retryAfterMs: 7_000,
    });
    expect(seen.map(({ atMs }) => atMs)).to.deep.equal([0, 0, 0]);
  });

  it('stop delaying when the caller aborts', async () => {
    const { connection, clock } = stage(() => ({ status: 429, headers: { 'Retry-After': '50' } }));
    const controller = new AbortController();
    const read = errorOf(getPairs(connection, { signal: controller.signal }));
    await clock.pass(1_000);
    controller.abort();
    expect((await read).code).to.equal('ABORTED');
  });
});

describe('a read', () => {
  it('is retried after a lost answer, three attempts in all', async () => {
    const mended = stage((_route, number) => (number < 2 ? { cut: true } : { body: { markets: [] } }));
    expect(await mended.clock.until(getMarkets(mended.connection))).to.deep.equal([]);
    const lost = stage(() => ({ status: 503, body: { code: 'SERVICE_UNAVAILABLE', error: 'away' } }));
    const error = await lost.clock.until(errorOf(getMarkets(lost.connection)));
    expect([error.code, error.outcome, lost.seen.length]).to.deep.equal([
      'SERVICE_UNAVAILABLE',
      'unknown',
      3,
    ]);
  });
});

describe('a cancel', () => {
  const CLOSED = { status: 400, body: { code: 'ORDER_NOT_FOUND', error: 'closed' } };
  const item = {
    id: 'x',
    clientOrderId: null,
    market: 'ETH/USDC',
    status: 'cancelled',
    reason: 'user_cancelled',
  };
  const order = (status: string): Scripted => ({ body: { order: { ...item, status } } });

  it('is sent again after a lost answer, and reports the order that it closed', async () => {
    const { clock, seen, connection } = stage((route, number) =>
      route.startsWith('GET') ? order('cancelled') : number === 0 ? { cut: true } : CLOSED,
    );
    const closed = await clock.until(cancel(restoreSession(connection, tokenAt(clock)), 'x'));
    expect(closed).to.deep.equal(item);
    expect(seen).to.have.length(3);
  });

  it('reports an order that was filled meanwhile as not found', async () => {
    const { clock, connection } = stage((route, number) =>
      route.startsWith('GET') ? order('filled') : number === 0 ? { cut: true } : CLOSED,
    );
    const error = await clock.until(errorOf(cancel(restoreSession(connection, tokenAt(clock)), 'x')));
    expect(error.code).to.equal('ORDER_NOT_FOUND');
  });

  it('of all orders is sent once, as it has no id to look up', async () => {
    const { clock, seen, connection } = stage(() => ({ cut: true }));
    const session = restoreSession(connection, tokenAt(clock));
    expect(await clock.until(errorOf(cancelAll(session)))).to.include({
      code: 'NETWORK_ERROR',
      outcome: 'unknown',
    });
    expect(seen).to.have.length(1);
    for (const id of ['', '.', '..'])
      expect(await clock.until(errorOf(cancel(session, id)))).to.include({ code: 'ORDER_NOT_FOUND' });
    expect(seen).to.have.length(1);
  });
});

describe('a session', () => {
  function service() {
    let signIns = 0;
    const staged = stage((route, _number, clock) => {
      if (route.endsWith('/challenge')) return { body: challengeAt(clock.now()) };
      if (!route.endsWith('/verify')) return { body: { orders: [], nextCursor: null } };
      signIns += 1;
      return { body: { verified: true, token: tokenAt(clock) } };
    });
    return { ...staged, signIns: () => signIns };
  }

  it('of a local signer is renewed before it is over, in the background', async () => {
    const { clock, connection, seen, signIns } = service();
    const session = await clock.until(signIn(connection, signer(false)));
    const first = session.token;
    await clock.pass(LIFE_S * 890);
    await clock.until(getOrders(session));
    expect([signIns(), session.token]).to.deep.equal([1, first]);
    await clock.pass(LIFE_S * 20);
    await clock.until(Promise.all([getOrders(session), getOrders(session)]));
    expect(
      seen.filter(({ token }) => token === first),
      'no read waits for it',
    ).to.have.length(3);
    await clock.pass(0);
    expect([signIns(), session.token === first]).to.deep.equal([2, false]);
    expect(session.expiresAt - clock.now()).to.be.within(LIFE_S * 1_000 - 60_000, LIFE_S * 1_000);
  });

  it('of a wallet that prompts is renewed only on the caller’s request', async () => {
    const { clock, connection, signIns } = service();
    const session = await clock.until(signIn(connection, signer(true)));
    await clock.pass(LIFE_S * 2_000);
    await clock.until(getOrders(session));
    expect(signIns()).to.equal(1);
  });

  it('is renewed once after a 401, however many requests are refused', async () => {
    const old = { token: '' };
    const fresh = { token: '' };
    const { clock, connection, seen } = stage((route, _number, now) => {
      if (route.endsWith('/challenge')) return { body: challengeAt(now.now()) };
      if (route.endsWith('/verify')) {
        fresh.token = tokenAt(now);
        return { body: { verified: true, token: fresh.token } };
      }
      return fresh.token === '' ? UNAUTHORIZED : { body: { orders: [], nextCursor: null } };
    });
    old.token = tokenAt(clock);
    const session: Session = restoreSession(connection, old.token, signer(false));
    await clock.until(Promise.all([getOrders(session), getOrders(session), getOrders(session)]));
    expect(seen.filter(({ route }) => route.endsWith('/verify'))).to.have.length(1);
    expect(seen.filter(({ token }) => token === fresh.token)).to.have.length(3);

    const prompting = restoreSession(connection, old.token, signer(true));
    fresh.token = '';
    expect((await clock.until(errorOf(getOrders(prompting)))).code).to.equal('UNAUTHORIZED');
    expect(seen.filter(({ route }) => route.endsWith('/verify'))).to.have.length(1);
  });

  it('gives a service that always answers 401 few signatures, however many requests it refuses', async () => {
    let signatures = 0;
    const { clock, connection } = stage((route, _number, now) => {
      if (route.endsWith('/challenge')) return { body: challengeAt(now.now()) };
      return route.endsWith('/verify') ? { body: { verified: true, token: tokenAt(now) } } : UNAUTHORIZED;
    });
    const signing = signer(false, () => {
      signatures += 1;
    });
    const session = await clock.until(signIn(connection, signing));
    expect(signatures).to.equal(1);
    const refused = async (): Promise<void> => {
      expect((await clock.until(errorOf(getOrders(session)))).code).to.equal('UNAUTHORIZED');
      expect((await clock.until(place(session, BID))).outcome).to.equal('refused');
    };
    for (let request = 0; request < 10; request += 1) await refused();
    expect(signatures, 'one renewal').to.equal(2);
    for (let minute = 0; minute < 24 * 60; minute += 1) {
      await clock.pass(60_000);
      await refused();
    }
    expect(signatures, 'about one in an hour').to.be.within(20, 34);
    await clock.until(renew(session));
    expect(signatures, 'a renewal that the caller asks for').to.be.within(21, 35);
  });

  it('gives a service whose tokens last for a second a signature a minute', async () => {
    let signatures = 0;
    const { clock, connection, seen } = stage((route, _number, now) => {
      if (route.endsWith('/challenge')) return { body: challengeAt(now.now()) };
      if (route.endsWith('/verify')) return { body: { verified: true, token: tokenAt(now, 1) } };
      return { body: { orders: [], nextCursor: null } };
    });
    const signing = signer(false, () => {
      signatures += 1;
    });
    const session = await clock.until(signIn(connection, signing));
    for (let second = 0; second < 600; second += 1) {
      await clock.until(getOrders(session));
      await clock.pass(1_000);
    }
    expect(seen.filter(({ route }) => route === 'GET /v1/orders')).to.have.length(600);
    expect(signatures).to.be.within(9, 12);
  });

  it('is renewed again after a 401 once the earlier renewal has served', async () => {
    let isRefused = false;
    let signatures = 0;
    const { clock, connection } = stage((route, _number, now) => {
      if (route.endsWith('/challenge')) return { body: challengeAt(now.now()) };
      if (!route.endsWith('/verify'))
        return isRefused ? UNAUTHORIZED : { body: { orders: [], nextCursor: null } };
      isRefused = false;
      return { body: { verified: true, token: tokenAt(now) } };
    });
    const signing = signer(false, () => {
      signatures += 1;
    });
    const session = await clock.until(signIn(connection, signing));
    for (let day = 1; day <= 20; day += 1) {
      await clock.pass(2 * 60_000);
      isRefused = true;
      await clock.until(getOrders(session));
      expect(signatures).to.equal(1 + day);
    }
  });

  it('that cannot be renewed prevents an order from being sent, and the error says so', async () => {
    const { clock, connection, seen } = stage(() => ({ cut: true }));
    const session = restoreSession(connection, tokenAt(clock, 60), signer(false));
    await clock.pass(60_000);
    const error = await clock.until(errorOf(place(session, BID)));
    expect(error).to.include({ code: 'NETWORK_ERROR', outcome: 'refused' });
    expect(new Set(seen.map(({ route }) => route))).to.deep.equal(new Set(['POST /v1/auth/challenge']));
    const signal = AbortSignal.abort();
    const fresh = restoreSession(connection, tokenAt(clock));
    expect(await errorOf(place(fresh, BID, { signal }))).to.include({ code: 'ABORTED', outcome: 'refused' });
  });

  it('asks for one challenge at a time for an address', async () => {
    const { clock, connection, seen } = service();
    await clock.until(Promise.all([signIn(connection, signer(false)), signIn(connection, signer(false))]));
    const steps = seen.map(({ route }) => route.split('/').at(-1));
    expect(steps).to.deep.equal(['challenge', 'verify', 'challenge', 'verify']);
  });

  it('is not created from another wallet’s token, and reports the signer’s error', async () => {
    const strange = stage((route, _number, clock) =>
      route.endsWith('/challenge')
        ? { body: challengeAt(clock.now()) }
        : { body: { verified: true, token: tokenAt(clock) } },
    );
    const other = { ...signer(false), address: `0x${'b2'.repeat(20)}` };
    expect((await strange.clock.until(errorOf(signIn(strange.connection, other)))).code).to.equal(
      'UNREADABLE_ANSWER',
    );
    const refusal = Object.assign(new Error('the user rejected it'), { code: 4001 });
    const refusing = { ...signer(true), signTypedData: () => Promise.reject(refusal) };
    const error = await strange.clock.until(errorOf(signIn(strange.connection, refusing)));
    expect([error.code, error.cause, error.message]).to.deep.equal([
      'SIGNING_FAILED',
      refusal,
      refusal.message,
    ]);
  });
});
