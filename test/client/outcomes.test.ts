/** Tests the outcomes that placing reports, against a scripted service on a virtual clock. */

import { expect } from 'chai';
import {
  type LimitOrder,
  type NewOrder,
  type Placed,
  place,
  placeMany,
  type RedbookError,
  restoreSession,
} from '../../src/client/index.ts';
import { errorOf } from './fixture.ts';
import { BID, challengeAt, type Scripted, signer, stage, tokenAt, UNAUTHORIZED } from './scripted-service.ts';

const SECOND_MS = 1_000;

describe('an order whose answer was lost', () => {
  /** Returns the result of a call, and the milliseconds since the start at which it came. */
  const timed = <Result>(
    { clock, startMs }: ReturnType<typeof stage>,
    call: Promise<Result>,
  ): Promise<[Result, number]> => clock.until(call.then((result) => [result, clock.now() - startMs]));

  /** Places an order at a service that answers every request alike. */
  async function placed(answer: Scripted) {
    const { clock, connection, seen, startMs } = stage(() => answer);
    const outcome = await clock.until(place(restoreSession(connection, tokenAt(clock)), BID));
    return { outcome, seen: seen.map(({ atMs }) => atMs), tookMs: clock.now() - startMs };
  }
  const away = (retryAfter: string): Scripted => ({
    status: 503,
    headers: { 'Retry-After': retryAfter, Date: 'Mon, 05 Jan 2026 09:30:00 GMT' },
    body: '<html>maintenance</html>',
  });

  it('is looked up at the planned time at the latest, whatever pause the service asks for', async () => {
    const pauses: Readonly<Record<string, readonly [retryAfterMs: number | null, seen: readonly number[]]>> =
      {
        '0': [0, [0, 500, 1_000, 3_000, 12_000]],
        '1': [1_000, [0, 500, 1_500, 3_000, 12_000]],
        '5': [5_000, [0, 500, 5_500, 12_000]],
        '86400': [86_400_000, [0, 500, 12_000]],
        'Tue, 06 Jan 2026 09:30:00 GMT': [86_400_000, [0, 500, 12_000]],
        'Sun, 04 Jan 2026 09:30:00 GMT': [0, [0, 500, 1_000, 3_000, 12_000]],
        '-5': [0, [0, 500, 1_000, 3_000, 12_000]],
        ['9'.repeat(400)]: [null, [0, 500, 1_000, 3_000, 12_000]],
        'in a while': [null, [0, 500, 1_000, 3_000, 12_000]],
        '': [null, [0, 500, 1_000, 3_000, 12_000]],
      };
    for (const [text, [retryAfterMs, times]] of Object.entries(pauses)) {
      const { outcome, seen, tookMs } = await placed(away(text));
      if (outcome.outcome !== 'unknown') throw new Error(outcome.outcome);
      expect(outcome.error.retryAfterMs, text).to.equal(retryAfterMs);
      expect(seen, text).to.deep.equal(times);
      expect(tookMs, text).to.equal(12 * SECOND_MS);
    }
  });

  it('that was lost while trading was paused reports this reason when the lookup fails', async () => {
    const { clock, connection, seen } = stage((_route, number) =>
      number === 0 ? { status: 503, body: { code: 'OPERATIONAL_PAUSED', error: 'paused' } } : away('5'),
    );
    const outcome = await clock.until(place(restoreSession(connection, tokenAt(clock)), BID));
    expect(outcome.outcome === 'unknown' && outcome.error.code).to.equal('OPERATIONAL_PAUSED');
    expect(seen).to.have.length(2);
  });

  it('of an order batch is followed by itself, and ends with its deadline', async () => {
    const { clock, connection, seen } = stage((route, number, { now }) => {
      const headers = { Date: new Date(now()).toUTCString() };
      if (number === 0) return { cut: true };
      if (!route.startsWith('GET')) return { cut: true };
      return { headers, status: 404, body: { code: 'NOT_FOUND', error: 'none' } };
    });
    const orders = ['one', 'two'].map((clientOrderId) => ({
      ...BID,
      clientOrderId,
      timeInForce: 'IOC' as const,
    }));
    const placed = await clock.until(placeMany(restoreSession(connection, tokenAt(clock)), orders));
    for (const one of placed) expect(one.outcome === 'refused' && one.error.code).to.equal('DEADLINE_PASSED');
    expect(seen[0]!.route).to.equal('POST /v1/orders/batch');
    expect(seen.filter(({ route }) => route.endsWith('/two'))).to.have.length(4);
    const undated = orders.map((order) => ({ ...order, expiresAfter: null }));
    const [open] = await clock.until(placeMany(restoreSession(connection, tokenAt(clock)), undated));
    expect(open?.outcome).to.equal('unknown');
  });

  it('is not awaited longer while sign-in is limited', async () => {
    const limited = { status: 429, headers: { 'Retry-After': '60' }, body: { code: 'RATE_LIMITED' } };
    const refusing = stage((route) => (route.endsWith('/challenge') ? limited : UNAUTHORIZED));
    const session = restoreSession(refusing.connection, tokenAt(refusing.clock), signer(false));
    const [refused, refusedMs] = await timed(refusing, place(session, BID));
    expect(refused.outcome === 'refused' && refused.error.code).to.equal('UNAUTHORIZED');
    expect(refusedMs).to.be.at.most(3 * SECOND_MS);

    const expired = stage(() => limited);
    const old = restoreSession(expired.connection, tokenAt(expired.clock, 1), signer(false));
    await expired.clock.pass(2 * SECOND_MS);
    const [error, thrownMs] = await timed(expired, errorOf(place(old, BID)));
    expect(error).to.include({ code: 'TIMEOUT', outcome: 'refused' });
    expect(error.message).to.include('renewal of the session');
    expect(thrownMs).to.be.at.most(12 * SECOND_MS);

    const ending = stage((route, number) =>
      number === 0 ? { cut: true } : route.endsWith('/challenge') ? limited : UNAUTHORIZED,
    );
    const lost = restoreSession(ending.connection, tokenAt(ending.clock), signer(false));
    const [unknown, unknownMs] = await timed(ending, place(lost, BID));
    expect(unknown.outcome).to.equal('unknown');
    expect(unknownMs).to.be.at.most(15 * SECOND_MS);
  });

  it('stops waiting for a renewal when its caller aborts', async () => {
    const { clock, connection } = stage((route, _number, now) =>
      route.endsWith('/challenge') ? { body: challengeAt(now.now()) } : UNAUTHORIZED,
    );
    const silent = { ...signer(false), signTypedData: () => new Promise<string>(() => undefined) };
    const session = restoreSession(connection, tokenAt(clock, 1), silent);
    await clock.pass(2 * SECOND_MS);
    const controller = new AbortController();
    const placing = errorOf(place(session, BID, { signal: controller.signal }));
    await clock.pass(SECOND_MS);
    controller.abort();
    expect(await placing).to.include({ code: 'ABORTED', outcome: 'refused' });
  });

  it('leaves no unhandled rejection of a renewal that nobody waits for', async () => {
    const { clock, connection, seen } = stage(() => ({ cut: true }));
    const session = restoreSession(connection, tokenAt(clock, 1), signer(false));
    await clock.pass(2 * SECOND_MS);
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', onUnhandled);
    try {
      const error = await errorOf(place(session, BID, { signal: AbortSignal.abort() }));
      expect(error).to.include({ code: 'ABORTED', outcome: 'refused' });
      await clock.pass(60 * SECOND_MS);
    } finally {
      process.off('unhandledRejection', onUnhandled);
    }
    expect(unhandled).to.deep.equal([]);
    expect(new Set(seen.map(({ route }) => route))).to.deep.equal(new Set(['POST /v1/auth/challenge']));
  });
});

describe('a client order id that was used', () => {
  const LIMIT = { ...BID, price: '2000.50', size: '1.0' } as const;
  const MARKET = { market: 'ETH/USDC', side: 'buy', type: 'market' } as const;
  const FILL = { notional: 30, price: 2000 };
  /** An order as the service shows it: numbers without trailing zeros. */
  const RECORDED = {
    ...{
      id: 'an order',
      market: 'ETH/USDC',
      side: 'buy',
      type: 'limit',
      timeInForce: 'GTC',
      postOnly: false,
    },
    ...{
      price: 2000.5,
      size: 1,
      filledSize: 0,
      remainingSize: 1,
      status: 'resting',
      fillCount: 0,
      fills: [],
    },
  };
  const OF_MARKET = { ...RECORDED, type: 'market', price: null, status: 'filled' };

  type Way = 'answered' | 'looked up' | 'sent again';
  /** Places an order whose id the service has recorded an order under. */
  async function outcomeOf(order: object, recorded: object, way: Way = 'answered'): Promise<Placed> {
    const clientOrderId = 'mm-1';
    const found = { ...recorded, clientOrderId };
    let isBack = way !== 'sent again';
    const { clock, connection } = stage((route, number) => {
      if (!isBack || (way === 'looked up' && number === 0)) return { cut: true };
      return {
        body: route.startsWith('POST') ? { ...found, accepted: true, order: found } : { order: found },
      };
    });
    const session = restoreSession(connection, tokenAt(clock));
    const placed = await clock.until(place(session, { ...order, clientOrderId } as NewOrder));
    if (placed.outcome !== 'unknown') return placed;
    isBack = true;
    return await clock.until(placed.sendAgain());
  }

  const SAME: readonly (readonly [order: object, recorded: object])[] = [
    [LIMIT, RECORDED],
    [{ ...LIMIT, timeInForce: 'GTC', postOnly: false, leverage: 5 }, RECORDED],
    [{ ...LIMIT, price: '20005e-1', size: '01.' }, RECORDED],
    [
      { ...LIMIT, price: '0.20005E4', size: '.1e1' },
      { ...RECORDED, status: 'cancelled' },
    ],
    [{ ...LIMIT, price: 2000.5, size: 1 }, RECORDED],
    [{ ...MARKET, size: '1' }, OF_MARKET],
    [{ ...MARKET, price: '5', size: '1' }, OF_MARKET],
    [
      { ...MARKET, quoteAmount: '60.00' },
      { ...OF_MARKET, fills: [FILL, FILL] },
    ],
    [
      { ...MARKET, quoteAmount: '60' },
      { ...OF_MARKET, size: 0.03, fills: [] },
    ],
  ];
  it('for an order of the same terms reports that order as placed, in any notation of its numbers', async () => {
    for (const [order, recorded] of SAME)
      for (const way of ['answered', 'looked up', 'sent again'] as const) {
        const { outcome } = await outcomeOf(order, recorded, way);
        expect(outcome, `${way}: ${JSON.stringify(order)}`).to.equal('placed');
      }
  });

  const OTHERS: readonly (readonly [order: object, recorded: object])[] = [
    ...(
      [
        { market: 'BTC/USDC' },
        { market: 'eth/usdc' },
        { side: 'sell' },
        { type: 'market' },
        { price: '2000.51' },
        { price: '2000.500000000000000000000000001' },
        { price: '2000.5e1' },
        { price: '-2000.5' },
        { price: '2000,5' },
        { price: '' },
        { price: '1e999999999' },
        { price: undefined },
        { size: '10' },
        { size: '0.99999999999999999999' },
        { timeInForce: 'IOC' },
        { postOnly: true },
      ] as object[]
    ).map((change) => [{ ...LIMIT, ...change }, RECORDED] as const),
    [LIMIT, OF_MARKET],
    [LIMIT, { ...RECORDED, price: 2001, status: 'rejected' }],
    [LIMIT, { ...RECORDED, size: '1e-999999999' }],
    [{ ...MARKET, size: '1' }, RECORDED],
    [{ ...MARKET, quoteAmount: '1000' }, RECORDED],
    [
      { ...MARKET, quoteAmount: '59.999999' },
      { ...OF_MARKET, fills: [FILL, FILL] },
    ],
    [{ ...MARKET, quoteAmount: '60', side: 'sell' }, OF_MARKET],
    [
      { ...MARKET, quoteAmount: '60', side: 'sell' },
      { ...OF_MARKET, side: 'sell' },
    ],
    [{ ...MARKET, quoteAmount: '60', size: '1' }, OF_MARKET],
    [{ ...LIMIT, size: undefined, quoteAmount: '60' }, RECORDED],
    [{ ...MARKET, quoteAmount: 'sixty' }, OF_MARKET],
  ];
  it('for another order reports that nothing was placed, and shows the other order', async () => {
    for (const [order, recorded] of OTHERS)
      for (const way of ['answered', 'looked up', 'sent again'] as const) {
        const placed = await outcomeOf(order, recorded, way);
        expect(placed.outcome, `${way}: ${JSON.stringify(order)}`).to.equal('duplicate');
        expect(placed.clientOrderId).to.equal('mm-1');
        expect(placed.outcome === 'duplicate' && placed.order.id).to.equal('an order');
      }
  });
});

describe('a recorded rejection', () => {
  const ORDER = {
    ...{
      id: 'an order',
      market: 'ETH/USDC',
      side: 'buy',
      type: 'limit',
      timeInForce: 'GTC',
      postOnly: false,
    },
    price: 1,
    size: 1,
    filledSize: 0,
    remainingSize: 1,
    status: 'rejected',
    fillCount: 0,
    fills: [],
  };
  /** Places an order whose answer is lost, and whose look-up finds it rejected. @param reply members of the reply */
  async function refusalOf(terms: Partial<LimitOrder>, reply: object = {}): Promise<RedbookError> {
    const recorded = { ...ORDER, ...terms, ...reply };
    const { clock, connection } = stage((_route, number) =>
      number === 0 ? { cut: true } : { body: { order: { ...recorded, clientOrderId: 'an id' } } },
    );
    const session = restoreSession(connection, tokenAt(clock));
    const placed = await clock.until(place(session, { ...BID, ...terms, clientOrderId: 'an id' }));
    if (placed.outcome !== 'refused') throw new Error(placed.outcome);
    expect(placed.order?.status).to.equal('rejected');
    return placed.error;
  }

  it('is reported with the reason of the order that a look-up finds', async () => {
    const cases = [
      ['POST_ONLY_WOULD_CROSS', 'the order would have taken liquidity at once'],
      ['FOK_NOT_FILLED', 'the order could not be filled as a whole'],
      [
        'SETTLEMENT_FAILED',
        'the order matched but could not be settled; nothing moved, and the market is halted',
      ],
      ['A_NEW_CODE', 'the order is recorded as rejected'],
    ];
    for (const [reason, text] of cases) {
      const { code, message } = await refusalOf({}, { reason });
      expect([code, message]).to.deep.equal([reason, text]);
    }
  });
});
