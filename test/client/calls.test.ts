/** Tests on a virtual clock what all calls share: bounds of time, logs, ended sessions, and the switch that is kept set. */

import { expect } from 'chai';
import {
  cancel,
  cancelAfter,
  getCandles,
  getOrder,
  getPairs,
  getPortfolio,
  type KeepAliveFault,
  keepAlive,
  type LogEntry,
  openConnection,
  place,
  restoreSession,
  signIn,
  signOut,
} from '../../src/client/index.ts';
import { errorOf } from './fixture.ts';
import { BID, challengeAt, type Scripted, signer, stage, tokenAt, UNAUTHORIZED } from './scripted-service.ts';

describe('a call', () => {
  it('with timeoutMs ends then, whatever it waits for', async () => {
    const waits: Scripted[] = [
      { cut: true },
      { hang: true },
      { status: 429, headers: { 'Retry-After': '20' }, body: { code: 'RATE_LIMITED', error: 'too many' } },
    ];
    for (const scripted of waits) {
      const { clock, connection, startMs } = stage(() => scripted);
      const session = restoreSession(connection, tokenAt(clock));
      const options = { timeoutMs: 200 };
      for (const call of [
        () => getPairs(connection, options),
        () => getPortfolio(session, options),
        () => signIn(connection, signer(false), options),
      ]) {
        const before = clock.now();
        const error = await clock.until(errorOf(call()));
        expect([error.code, clock.now() - before]).to.deep.equal(['TIMEOUT', 200]);
      }
      expect(clock.now() - startMs).to.equal(600);
    }
  });

  it('with timeoutMs leaves an order unknown, and refused when it was not sent', async () => {
    const { clock, connection, seen } = stage((route) =>
      route.endsWith('/challenge') ? { hang: true } : { cut: true },
    );
    const session = restoreSession(connection, tokenAt(clock));
    const placed = await clock.until(place(session, BID, { timeoutMs: 700 }));
    expect(placed.outcome === 'unknown' && placed.error.code).to.equal('TIMEOUT');
    expect(seen.map(({ route }) => route.split(' ')[0])).to.deep.equal(['POST', 'GET']);
    const expired = restoreSession(connection, tokenAt(clock, 1), signer(false));
    await clock.pass(2_000);
    const error = await clock.until(errorOf(place(expired, BID, { timeoutMs: 700 })));
    expect(error).to.include({ code: 'TIMEOUT', outcome: 'refused' });
  });

  it('with an argument that cannot be sent is refused, and sends nothing', async () => {
    const { clock, connection, seen } = stage(() => ({}));
    const session = restoreSession(connection, tokenAt(clock));
    const half = '\ud800';
    const endless = { ...BID, size: 1n as unknown as string };
    for (const call of [
      () => getOrder(session, half),
      () => cancel(session, half),
      () => getCandles(connection, { tickerId: half }),
      () => place(session, endless),
      () => signIn(connection, { ...signer(false), address: 'me' }),
      () => keepAlive(session, { timeoutMs: 5_000, everyMs: 5_000 }),
      async () => openConnection({ baseUrl: 'localhost' }),
      async () => openConnection({ baseUrl: 'ftp://localhost' }),
    ])
      expect(await errorOf(call()), String(call)).to.include({
        code: 'INVALID_ARGUMENT',
        outcome: 'refused',
      });
    expect(seen).to.deep.equal([]);
  });

  it('is logged with each repeat, without its token', async () => {
    const entries: LogEntry[] = [];
    const { clock, connection } = stage((_route, number) => (number === 0 ? { cut: true } : { body: [] }), {
      log: (entry) => entries.push(entry),
    });
    const token = tokenAt(clock);
    await clock.until(getPortfolio(restoreSession(connection, token)));
    await clock.until(getPairs(connection));
    expect(entries).to.have.length(3);
    expect(entries[0]).to.include({ type: 'request', method: 'GET', status: 0, code: 'NETWORK_ERROR' });
    expect(entries[2]).to.include({ path: '/v1/market-data/pairs', status: 200, code: null });
    expect(JSON.stringify(entries)).to.not.include(token);
  });
});

describe('a session that was signed out', () => {
  it('sends nothing any more, and is not revived by a renewal under way', async () => {
    let isOut = false;
    const { clock, connection, seen } = stage((route) => {
      if (route.endsWith('/challenge')) {
        signOut(session);
        isOut = true;
        return { body: challengeAt(clock.now()) };
      }
      return route.endsWith('/verify') ? { body: { verified: true, token: tokenAt(clock) } } : UNAUTHORIZED;
    });
    const session = restoreSession(connection, tokenAt(clock), signer(false));
    expect((await clock.until(errorOf(getPortfolio(session)))).code).to.equal('SIGNED_OUT');
    expect([isOut, session.token]).to.deep.equal([true, '']);
    const before = seen.length;
    for (const call of [() => getPortfolio(session), () => place(session, BID), () => cancel(session, 'x')])
      expect(await clock.until(errorOf(call()))).to.include({ code: 'SIGNED_OUT', outcome: 'refused' });
    expect(seen).to.have.length(before);
  });
});

describe('the dead man’s switch', () => {
  const CANCEL_AT = '2026-01-05T10:00:00.000Z';

  it('is set again after a lost answer', async () => {
    const { clock, connection, seen } = stage((_route, number) =>
      number < 2 ? { cut: true } : { body: { cancelAt: CANCEL_AT } },
    );
    const session = restoreSession(connection, tokenAt(clock));
    const { cancelAt } = await clock.until(cancelAfter(session, { timeoutMs: 30_000 }));
    expect([cancelAt, seen.length]).to.deep.equal([CANCEL_AT, 3]);
  });

  it('is renewed until it is ended, reports faults, and goes on after them', async () => {
    let isAway = false;
    const { clock, connection, seen } = stage(() =>
      isAway ? { cut: true } : { body: { cancelAt: CANCEL_AT } },
    );
    const session = restoreSession(connection, tokenAt(clock));
    const faults: KeepAliveFault[] = [];
    const onFault = (fault: KeepAliveFault): void => void faults.push(fault);
    const alive = await clock.until(keepAlive(session, { timeoutMs: 30_000, everyMs: 10_000, onFault }));
    await clock.pass(25_000);
    expect([seen.length, faults.length, alive.cancelAt]).to.deep.equal([3, 0, CANCEL_AT]);
    isAway = true;
    await clock.pass(10_000);
    expect(faults.map(({ error, cancelAt }) => [error.code, cancelAt])).to.deep.equal([
      ['NETWORK_ERROR', CANCEL_AT],
    ]);
    isAway = false;
    await clock.pass(20_000);
    expect(faults).to.have.length(1);
    await clock.until(alive.switchOff());
    const ended = seen.length;
    await clock.pass(60_000);
    expect(seen).to.have.length(ended);
  });

  it('throws when it cannot be set the first time', async () => {
    const { clock, connection } = stage(() => ({ hang: true }));
    const setting = keepAlive(restoreSession(connection, tokenAt(clock)), { timeoutMs: 6_000 });
    expect((await clock.until(errorOf(setting))).code).to.equal('TIMEOUT');
  });
});
