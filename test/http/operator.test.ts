/** Tests the routes for operators: keys and rights, movements, wallets, markets, switches, and their document. */

import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect } from 'chai';
import pg from 'pg';
import { pino } from 'pino';
import request, { type Response } from 'supertest';
import { reconcile } from '../../src/books/reconcile/index.ts';
import { ANNOUNCED_DEPOSITS } from '../../src/domain/bounds.ts';
import { OPERATOR_RIGHTS } from '../../src/domain/operator-rights.ts';
import { createOperatorApp, OPERATOR_DOCUMENT_PATH } from '../../src/http/operator/app.ts';
import { pathOf } from '../../src/http/operator/serve.ts';
import { openLedger } from '../../src/ledger/index.ts';
import { OPERATIONS } from '../../src/operator/nouns.ts';
import { getEntries } from '../../src/operator/operations/reports.ts';
import { openMetrics } from '../../src/process/metrics.ts';
import { query } from '../ledger/tables.ts';
import { marketRules, type OperatorFixture, openOperatorFixture, WALLET } from '../operator/fixture.ts';
// Each reply is held against the document of the routes.
import '../support/contract.ts';
import { eventually } from '../support/eventually.ts';

const ALICE = WALLET('a');
const BOB = WALLET('b');
const reason = 'a test';
/** Shorter than a statement may take, and than a request waits for a connection. */
const LOCKED_MS = 1_900;

/** A day (UTC), so many days from now. */
const today = (days = 0): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

describe('the routes for operators', () => {
  let fixture: OperatorFixture;
  let apps: RequestListener[];
  let other: ReturnType<typeof openLedger>;
  let master: string;

  before(async () => {
    fixture = await openOperatorFixture();
    await fixture.ask('asset', 'set', 'USDC', '--scale', '6');
    await fixture.ask('market', 'create', 'ETH/USDC', ...marketRules());
    other = openLedger({ databaseUrl: fixture.databaseUrl });
    const { engine, ledger, networkId } = fixture.services;
    const logger = pino({ level: 'silent' });
    const metrics = openMetrics();
    const appOn = (of: typeof ledger): RequestListener =>
      createOperatorApp({
        engine,
        ledger: of,
        logger,
        metrics,
        networkId,
        serviceName: 'Redbook',
        ready: async () => ({ ready: true, checks: {} }),
        wakeSettlement: () => undefined,
      });
    apps = [appOn(ledger), appOn(other)];
    master = await keyOf('master', OPERATOR_RIGHTS.join(','));
  });
  after(async () => {
    await other.close();
    await fixture.close();
  });

  const keyOf = async (name: string, may: string, ...more: string[]): Promise<string> =>
    (await fixture.ask('key', 'create', name, '--may', may, ...more)).key;
  const get = (path: string, key = master, app = 0): Promise<Response> =>
    request(apps[app]!).get(`/operator/v1${path}`).set('authorization', `Bearer ${key}`);
  const post = (path: string, body: object, key = master, app = 0): Promise<Response> =>
    request(apps[app]!).post(`/operator/v1${path}`).set('authorization', `Bearer ${key}`).send(body);
  const movement = (reference: string, more: object = {}) => ({
    reference,
    kind: 'deposit',
    wallet: ALICE,
    asset: 'USDC',
    amount: '5',
    reason,
    ...more,
  });
  const book = async (movements: unknown[], key = master, app = 0) =>
    (await post('/movements', { movements }, key, app)).body.results;
  const sumOf = async (wallet: string, asset = 'USDC'): Promise<string | undefined> =>
    (await get(`/wallets/${wallet}`)).body.balances.find((one: { asset: string }) => one.asset === asset)
      ?.total;

  it('reject requests without a key, and those that its rights do not cover', async () => {
    for (const header of ['', 'Bearer rbk_x', `Bearer rbk_${'A'.repeat(43)}`, `Basic ${master}`]) {
      const { status, body } = await request(apps[0]!)
        .get('/operator/v1/status')
        .set('authorization', header);
      expect([status, body.code]).to.deep.equal([401, 'UNAUTHORIZED']);
    }
    const reader = await keyOf('reader', 'read');
    expect((await get('/status', reader)).status).to.equal(200);
    for (const [path, body] of [
      ['/trading/pause', { reason }],
      ['/movements', { movements: [movement('never')] }],
      [`/wallets/${ALICE}/hold`, { reason }],
      ['/markets/ETH%2FUSDC', { feeBps: 1, reason }],
    ] as const) {
      const refused = await post(path, body, reader);
      expect([refused.status, refused.body.code], path).to.deep.equal([403, 'FORBIDDEN']);
    }
    const creditor = await keyOf('creditor', 'credit');
    expect((await get('/status', creditor)).status).to.equal(403);
    const [refused] = await book([movement('never', { kind: 'withdrawal' })], creditor);
    expect(refused).to.include({ status: 403, code: 'FORBIDDEN' });
  });

  it('tell each key its name, rights and limits', async () => {
    const limited = ['--cap', 'USDC=10/day', '--two-persons', 'USDC=5'];
    const { status, body } = await get('/key', await keyOf('asks', 'credit,pay', ...limited));
    expect(status).to.equal(200);
    expect(body).to.deep.equal({
      name: 'asks',
      rights: ['credit', 'pay'],
      caps: { USDC: '10' },
      twoPersons: { USDC: '5' },
    });
  });

  it('need a right of its own to pay withdrawals, and one to close months', async () => {
    const all = (without: string) => OPERATOR_RIGHTS.filter((right) => right !== without).join(',');
    const payer = await keyOf('payer', 'pay');
    const closer = await keyOf('closer', 'close');
    const neverPays = await keyOf('never-pays', all('pay'));
    const neverCloses = await keyOf('never-closes', all('close'));
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const asked = { reference: 'none', wallet: ALICE, asset: 'USDC', amount: '1', reason };
    const steps = [
      ['/withdrawals/none/take', { by: 'one', until }],
      ['/withdrawals/none/release', { reason }],
      ['/withdrawals/none/confirm', { txid: '0x1' }],
      ['/withdrawals/none/return', { reason }],
    ] as const;
    for (const [path, body] of steps) {
      expect((await post(path, body, neverPays)).body.code, path).to.equal('FORBIDDEN');
      expect((await post(path, body, payer)).body.code, path).to.equal('UNKNOWN_WITHDRAWAL');
    }
    const month = { month: '2999-01', reason };
    expect((await post('/closings', month, neverCloses)).body.code).to.equal('FORBIDDEN');
    expect((await post('/closings', month, closer)).body.code).to.equal('MONTH_NOT_OVER');
    for (const key of [payer, closer])
      expect((await post('/withdrawals', asked, key)).body.code).to.equal('FORBIDDEN');
    expect((await get('/withdrawals/none', payer)).body.code).to.equal('UNKNOWN_WITHDRAWAL');
    expect((await get('/closings', closer)).status).to.equal(200);
  });

  it('move nothing of an asset that a key with a cap does not name, unless it has one for all others', async () => {
    const vault = await keyOf('vault', 'credit,debit', '--cap', 'USDC=10/day');
    const wide = await keyOf('wide', 'credit', '--cap', 'USDC=10/day', '--cap', '*=2.5/day');
    const wallet = WALLET('7');
    await fixture.ask('asset', 'set', 'YEN', '--scale', '0');
    const yen = (reference: string, amount: string) => movement(reference, { wallet, asset: 'YEN', amount });
    const codes = (results: { status: number; code?: string }[]) =>
      results.map(({ status, code }) => code ?? status);
    expect(
      codes(await book([yen('v-1', '1'), movement('v-2', { wallet, amount: '10' })], vault)),
    ).to.deep.equal(['CAP_EXCEEDED', 201]);
    expect(codes(await book([yen('w-1', '2')], wide))).to.deep.equal([201]);
    expect(codes(await book([yen('w-2', '1')], wide))).to.deep.equal(['CAP_EXCEEDED']);
    expect(codes(await book([movement('w-3', { wallet, amount: '10' })], wide))).to.deep.equal([201]);
    expect(await sumOf(wallet)).to.equal('20');
  });

  it('reject a revoked key on every replica', async () => {
    const key = await keyOf('passing', 'read');
    for (const app of [0, 1]) expect((await get('/status', key, app)).status).to.equal(200);
    await fixture.ask('key', 'revoke', 'passing');
    for (const app of [0, 1]) expect((await get('/status', key, app)).status).to.equal(401);
  });

  it('answer each movement by itself: new, repeated, contradicted or refused', async () => {
    const movements = [
      movement('m-1', { amount: '1000.5' }),
      movement('m-2', { kind: 'withdrawal', amount: 0.25 }),
      movement('m-3', { kind: 'withdrawal', amount: '5000' }),
      movement('m-4', { asset: 'DOGE' }),
      movement('m-5', { amount: '0.0000001' }),
      { ...movement('m-6'), reason: undefined },
      movement('m-7', { kind: 'gift' }),
      7,
    ];
    const codes = (results: { status: number; code?: string }[]) =>
      results.map(({ status, code }) => [status, code]);
    const refused = [
      [400, 'INSUFFICIENT_BALANCE'],
      [400, 'UNKNOWN_ASSET'],
      [400, 'INVALID_AMOUNT'],
      ...Array(3).fill([400, 'VALIDATION_ERROR']),
    ];
    // The deposit and the withdrawal run at once; the withdrawal may come first and find nothing.
    const [deposited] = await book(movements.slice(0, 1));
    expect(deposited).to.deep.equal({
      reference: 'm-1',
      kind: 'deposit',
      wallet: ALICE,
      asset: 'USDC',
      amount: '1000.5',
      status: 201,
    });
    expect(codes(await book(movements))).to.deep.equal([[200, undefined], [201, undefined], ...refused]);
    expect(codes(await book(movements, master, 1))).to.deep.equal([
      [200, undefined],
      [200, undefined],
      ...refused,
    ]);
    const [conflict] = await book([movement('m-1', { amount: '7' })]);
    expect(conflict).to.include({ status: 409, code: 'REFERENCE_CONFLICT' });
    expect(await sumOf(ALICE)).to.equal('1000.25');
  });

  it('take amounts as plain decimals or JSON numbers alone', async () => {
    const wallet = WALLET('5');
    const sent = (amount: string): Promise<Response> => {
      const text = JSON.stringify({ movements: [movement(`form ${amount}`, { wallet, amount: 0 })] });
      return request(apps[0]!)
        .post('/operator/v1/movements')
        .set('authorization', `Bearer ${master}`)
        .type('json')
        .send(text.replace('"amount":0', `"amount":${amount}`));
    };
    for (const amount of [
      '.5',
      '5.',
      '01',
      '1e2',
      '1E2',
      '+1',
      ' 1',
      '-1',
      '00.5',
      '1,5',
      '0x1',
      '',
      'NaN',
    ]) {
      const [{ status, code, error }] = (await sent(JSON.stringify(amount))).body.results;
      expect([status, code], amount).to.deep.equal([400, 'VALIDATION_ERROR']);
      expect(error).to.match(
        amount === '-1' ? /^amount: must be positive$/ : /^amount: must be a plain decimal/,
      );
    }
    for (const amount of ['"0.5"', '"100"', '"0.000001"', '0.25', '1e-6', '2.5E1'])
      expect((await sent(amount)).body.results[0].status, amount).to.equal(201);
    expect(await sumOf(wallet)).to.equal('125.750002');
    for (const path of ['/deposits', '/withdrawals']) {
      const { status, body } = await post(path, {
        reference: 'form',
        wallet,
        asset: 'USDC',
        amount: '1e2',
        reason,
      });
      expect([status, body.code], path).to.deep.equal([400, 'VALIDATION_ERROR']);
      expect(body.error).to.match(/^amount: must be a plain decimal/);
    }
    const typed = await fixture.run('account', 'credit', wallet, 'USDC', '1e2', '--reference', 'form');
    expect(typed.status).to.equal(2);
    expect(typed.stderr).to.include('It must be a plain decimal number like 0.5.');
  });

  it('find a movement by its reference, settled or not', async () => {
    for (const settled of [false, true]) {
      if (settled) {
        await fixture.settle();
        for (const key of await fixture.redis.keys('{redbook}:claims:*')) await fixture.redis.del(key);
      }
      const { body } = await get('/movements/m-1');
      expect(body.movements, `settled: ${settled}`).to.deep.equal([
        { reference: 'm-1', kind: 'deposit', wallet: ALICE, asset: 'USDC', amount: '1000.5' },
      ]);
    }
    expect((await get('/movements/m-3')).status).to.equal(404);
  });

  it('reject requests of no movement and of more than 64, and bodies beyond 256 KB', async () => {
    for (const count of [0, 65]) {
      const movements = Array.from({ length: count }, (_none, at) => movement(`many-${at}`));
      expect((await post('/movements', { movements })).body.code).to.equal('VALIDATION_ERROR');
    }
    const full = Array.from({ length: 64 }, (_none, at) => movement(`${'é'.repeat(250)}-${at}`));
    const whole = await post('/movements', { movements: full });
    expect(whole.status, whole.text).to.equal(200);
    expect(whole.body.results.map(({ status }: { status: number }) => status)).to.deep.equal(
      Array(64).fill(201),
    );
    const large = await post('/movements', { movements: [movement('x'.repeat(300_000))] });
    expect([large.status, large.body.code]).to.deep.equal([413, 'EXPRESS_ERR_BODY_TOO_LARGE']);
    expect(large.body.error).to.equal('the body is larger than 256 KB');
  });

  it('keep the cap of a key to the atom, on two replicas at once and for repeated requests', async () => {
    const capped = await keyOf('capped', 'credit,debit', '--cap', 'USDC=100.000001/day');
    const requests = Array.from({ length: 10 }, (_none, request) =>
      Array.from({ length: 7 }, (_nothing, at) =>
        movement(`cap-${request}-${at}`, { wallet: BOB, amount: '3.000001' }),
      ),
    );
    const send = () =>
      Promise.all(requests.flatMap((movements) => [0, 1].map((app) => book(movements, capped, app))));
    const booked = (await send()).flat();
    const kinds = (results: { status: number; code?: string; reference?: string }[], status: number) =>
      new Set(results.filter((one) => one.status === status).map(({ reference }) => reference));
    expect(kinds(booked, 201).size).to.equal(33);
    expect(new Set(booked.map(({ code = '' }) => code))).to.deep.equal(new Set(['', 'CAP_EXCEEDED']));
    expect(await sumOf(BOB)).to.equal('99.000033');
    // Repeated requests are answered as before, and count no second time.
    const again = (await send()).flat();
    expect(kinds(again, 201).size).to.equal(0);
    expect(kinds(again, 200)).to.deep.equal(kinds(booked, 201));
    const rest = [
      movement('rest-1', { wallet: BOB, kind: 'withdrawal', amount: '2' }),
      movement('rest-2', { wallet: BOB, amount: '0.999969' }),
      movement('rest-3', { wallet: BOB, amount: '0.999968' }),
    ];
    // A cap gets back the amount that the engine refuses.
    expect(await book([movement('poor', { wallet: WALLET('9'), kind: 'withdrawal', amount: '0.9' })], capped))
      .to.have.nested.property('[0].code')
      .that.equals('INSUFFICIENT_BALANCE');
    const last = [];
    for (const one of rest) last.push(...(await book([one], capped)));
    expect(last.map(({ status }) => status)).to.deep.equal([403, 403, 201]);
    expect(await sumOf(BOB)).to.equal('100.000001');
  });

  describe('for movements that need two persons', () => {
    const DORA = WALLET('6');
    let asker: string;
    let approver: string;
    const asked = (reference: string, amount: string, more: object = {}) =>
      movement(reference, { wallet: DORA, amount, reason: 'a large one', ...more });
    const codes = (results: { status: number; code?: string }[]) =>
      results.map(({ status, code }) => code ?? status);
    const askedAtOf = async (reference: string): Promise<string> => {
      const asking = `select asked_at from waiting_movements where reference = '${reference}'`;
      const [row] = await query<{ asked_at: Date }>(fixture.databaseUrl, asking);
      return (row?.asked_at ?? new Date()).toISOString();
    };
    const decide = async (what: string, reference: string, key: string, more: object = {}) => {
      const askedAt = await askedAtOf(reference);
      const path = `/approvals/${encodeURIComponent(reference)}/${what}`;
      const { status, body } = await post(path, { kind: 'deposit', askedAt, reason, ...more }, key);
      return [status, body.code ?? body.state];
    };
    const waiting = async (): Promise<string[]> =>
      (await get('/approvals')).body.movements.map(({ reference }: { reference: string }) => reference);

    before(async () => {
      asker = await keyOf('asker', 'credit,debit', '--two-persons', 'USDC=100', '--cap', 'USDC=2000/day');
      approver = await keyOf('approver', 'credit');
    });

    it('let a key move alone up to its limit, and nothing of other assets', async () => {
      const eth = asked('two-eth', '1', { asset: 'YEN' });
      expect(
        codes(await book([asked('two-0', '100'), asked('two-1', '100.000001'), eth], asker)),
      ).to.deep.equal([201, 'APPROVAL_NEEDED', 'CAP_EXCEEDED']);
      expect(await sumOf(DORA)).to.equal('100');
      const [one] = (await get('/approvals')).body.movements;
      expect(one).to.include({ kind: 'deposit', reference: 'two-1', amount: '100.000001', key: 'asker' });
      const free = await keyOf('free', 'credit', '--two-persons', 'USDC=100');
      expect(codes(await book([asked('two-yen', '1', { asset: 'YEN' })], free))).to.deep.equal([
        'APPROVAL_NEEDED',
      ]);
      expect(await decide('refuse', 'two-yen', approver)).to.deep.equal([200, 'refused']);
    });

    it('are booked once when another key approves, whatever is repeated', async () => {
      expect(codes(await book([asked('two-1', '100.000001')], asker, 1))).to.deep.equal(['APPROVAL_NEEDED']);
      expect(codes(await book([asked('two-1', '101')], asker))).to.deep.equal(['REFERENCE_CONFLICT']);
      expect(await decide('approve', 'two-1', asker)).to.deep.equal([403, 'FORBIDDEN']);
      expect(await decide('approve', 'two-1', approver, { kind: 'withdrawal' })).to.deep.equal([
        403,
        'FORBIDDEN',
      ]);
      expect(await decide('approve', 'never asked', approver)).to.deep.equal([404, 'NOT_WAITING']);
      const answers = await Promise.all([1, 2, 3].map(() => decide('approve', 'two-1', approver)));
      expect(answers).to.deep.equal(Array(3).fill([200, 'approved']));
      expect(await decide('refuse', 'two-1', approver)).to.deep.equal([409, 'REFERENCE_CONFLICT']);
      expect(codes(await book([asked('two-1', '100.000001')], asker))).to.deep.equal([200]);
      expect(await sumOf(DORA)).to.equal('200.000001');
      await fixture.settle();
      const { acts } = (await get(`/acts?wallet=${DORA}&limit=500`)).body;
      const of = acts.filter(({ subject }: { subject: string }) => subject === 'two-1');
      expect(of.map(({ act, by }: Record<string, string>) => [act, by])).to.deep.equal([
        ['movement approve', 'approver'],
        ['account credit', 'asker'],
      ]);
      expect(of[1].reason).to.equal('a large one');
    });

    it('are approved or refused, whatever comes first, and never booked once refused', async () => {
      for (let round = 0; round < 6; round += 1) {
        const name = `two-race-${round}`;
        const before = await sumOf(DORA);
        await book([asked(name, '100.5', { asset: 'USDC' })], asker);
        const [approved, refused] = await Promise.all([
          decide('approve', name, approver),
          decide('refuse', name, master),
        ]);
        const isApproved = approved![0] === 200;
        expect([approved, refused]).to.deep.equal(
          isApproved
            ? [
                [200, 'approved'],
                [409, 'REFERENCE_CONFLICT'],
              ]
            : [
                [409, 'APPROVAL_REFUSED'],
                [200, 'refused'],
              ],
        );
        expect(codes(await book([asked(name, '100.5')], asker))).to.deep.equal([
          isApproved ? 200 : 'APPROVAL_REFUSED',
        ]);
        expect(Number(await sumOf(DORA))).to.be.closeTo(Number(before) + (isApproved ? 100.5 : 0), 1e-6);
      }
    });

    it('stay refused for every key, and leave their reference to another movement', async () => {
      const second = await keyOf('second-asker', 'credit,debit', '--two-persons', 'USDC=100');
      expect(codes(await book([asked('two-wrong', '900')], asker))).to.deep.equal(['APPROVAL_NEEDED']);
      expect(codes(await book([asked('two-wrong', '900')], second))).to.deep.equal(['REFERENCE_CONFLICT']);
      expect(await decide('refuse', 'two-wrong', approver)).to.deep.equal([200, 'refused']);
      for (const key of [asker, second])
        expect(codes(await book([asked('two-wrong', '900')], key))).to.deep.equal(['APPROVAL_REFUSED']);
      expect(codes(await book([asked('two-wrong', '190')], second))).to.deep.equal(['APPROVAL_NEEDED']);
      expect(codes(await book([asked('two-wrong', '900')], asker))).to.deep.equal(['REFERENCE_CONFLICT']);
      expect(await decide('approve', 'two-wrong', approver)).to.deep.equal([200, 'approved']);
      expect(codes(await book([asked('two-wrong', '190')], second))).to.deep.equal([200]);
      expect(codes(await book([asked('two-wrong', '900')], asker))).to.deep.equal(['REFERENCE_CONFLICT']);
      // A refused request is not booked as a withdrawal that leaves at once either.
      const request = { reference: 'two-either', wallet: DORA, asset: 'USDC', amount: '120', reason };
      expect((await post('/withdrawals', request, asker)).body.code).to.equal('APPROVAL_NEEDED');
      expect(await decide('refuse', 'two-either', master, { kind: 'withdrawal' })).to.deep.equal([
        200,
        'refused',
      ]);
      const debit = asked('two-either', '120', { kind: 'withdrawal' });
      expect(codes(await book([debit], asker))).to.deep.equal(['REFERENCE_CONFLICT']);
    });

    it('leave Postgres to others while the engine does not note a decision', async () => {
      const { ledger } = fixture.services;
      await book([asked('two-slow', '101')], asker);
      let finish = (): void => undefined;
      const noted = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const decisions = [1, 2, 3, 4].map(() =>
        ledger.waiting.decide('deposit', 'two-slow', async () => {
          await noted;
          return 'refused';
        }),
      );
      const results = Promise.allSettled(decisions);
      expect((await get('/approvals')).status).to.equal(200);
      expect(await waiting()).to.include('two-slow');
      finish();
      expect((await results).map(({ status }) => status)).to.include('fulfilled');
      expect(await waiting()).not.to.include('two-slow');
    });

    it('wait also where they credit a deposit that was announced', async () => {
      const announced = { reference: 'two-soon', wallet: DORA, asset: 'USDC', amount: '130', reason };
      expect((await post('/deposits', announced, asker)).status).to.equal(201);
      const credit = () => post('/deposits/two-soon/credit', { reason }, asker);
      expect((await credit()).body.code).to.equal('APPROVAL_NEEDED');
      expect(await decide('approve', 'two-soon', approver)).to.deep.equal([200, 'approved']);
      const { status, body } = await credit();
      expect([status, body.state]).to.deep.equal([200, 'credited']);
    });

    it('expire after a day, and are asked for anew', async () => {
      await book([asked('two-late', '150')], asker);
      const overdue = "update waiting_movements set expires_at = now() where reference = 'two-late'";
      await query(fixture.databaseUrl, overdue);
      expect(await waiting()).not.to.include('two-late');
      expect(await decide('approve', 'two-late', approver)).to.deep.equal([404, 'NOT_WAITING']);
      expect(codes(await book([asked('two-late', '150')], asker))).to.deep.equal(['APPROVAL_NEEDED']);
      expect(await waiting()).to.include('two-late');
    });

    it('are decided as the approver saw them, and not what took their place', async () => {
      await book([asked('two-swap', '150')], asker);
      const seen = (await get('/approvals')).body.movements.find(
        (one: { reference: string }) => one.reference === 'two-swap',
      );
      const overdue = "update waiting_movements set expires_at = now() where reference = 'two-swap'";
      await query(fixture.databaseUrl, overdue);
      expect(codes(await book([asked('two-swap', '990')], asker))).to.deep.equal(['APPROVAL_NEEDED']);
      const { askedAt } = seen;
      for (const what of ['approve', 'refuse'])
        expect(await decide(what, 'two-swap', approver, { askedAt })).to.deep.equal([
          409,
          'REFERENCE_CONFLICT',
        ]);
      const words = ['two-swap', '--kind', 'deposit', '--reason', 'no', '--asked-at'];
      expect(await fixture.refuse('approval', 'refuse', ...words, askedAt)).to.equal('REFERENCE_CONFLICT');
      expect(await waiting()).to.include('two-swap');
      expect(await decide('refuse', 'two-swap', approver)).to.deep.equal([200, 'refused']);
    });

    it('are approved only with the scale that they were asked for with', async () => {
      await book([asked('two-scale', '150')], asker);
      const rescale = (by: number) =>
        query(
          fixture.databaseUrl,
          `update waiting_movements set scale = scale + ${by} where reference = 'two-scale'`,
        );
      await rescale(-1);
      const [listed] = (await get('/approvals')).body.movements.filter(
        (one: { reference: string }) => one.reference === 'two-scale',
      );
      expect(listed.amount).to.equal('1500');
      expect(await decide('approve', 'two-scale', approver)).to.deep.equal([409, 'SCALE_CHANGED']);
      expect(codes(await book([asked('two-scale', '150')], asker))).to.deep.equal(['SCALE_CHANGED']);
      await fixture.settle();
      const { acts } = (await get(`/acts?wallet=${DORA}&limit=500`)).body;
      expect(acts.map(({ subject }: { subject: string }) => subject)).not.to.include('two-scale');
      await rescale(1);
      expect(await decide('approve', 'two-scale', approver)).to.deep.equal([200, 'approved']);
    });

    it('give back what they reserved of a cap when too many wait, or when one of equal ones is surely not booked', async () => {
      const crowded = await keyOf('crowded', 'credit', '--two-persons', 'USDC=100', '--cap', 'USDC=1000/day');
      const sumOfKey = async () =>
        (
          await query<{ atoms: string }>(
            fixture.databaseUrl,
            `select sum(atoms)::text as atoms from operator_key_days where key = 'crowded'`,
          )
        )[0]!.atoms;
      await query(
        fixture.databaseUrl,
        `insert into waiting_movements (side, reference, kind, wallet, asset, amount_atoms, scale, key, reason, state, expires_at)
         select 'deposit', 'crowded-' || n, 'credited', '${DORA}', 'USDC', 1, 6, 'crowded', 'a test', 'waiting', now() + interval '1 day'
         from generate_series(1, 1000) as n`,
      );
      expect(codes(await book([asked('two-many', '101')], crowded))).to.deep.equal(['SERVICE_UNAVAILABLE']);
      expect(await sumOfKey()).to.equal('0');
      await query(fixture.databaseUrl, `delete from waiting_movements where key = 'crowded'`);
      const twin = asked('two-twin', '10');
      expect(codes(await book([twin, twin, twin], crowded)).sort()).to.deep.equal([200, 200, 201]);
      expect(await sumOfKey()).to.equal('10000000');
    });

    it('are listed in pages from either end, and by the command after a number', async () => {
      const names = ['two-page-1', 'two-page-2', 'two-page-3'];
      for (const name of names) await book([asked(name, '101')], asker);
      const pagesOf = async (order: string): Promise<string[]> => {
        const found: string[] = [];
        for (let cursor: string | null = ''; cursor !== null; ) {
          const more = cursor === '' ? '' : `&cursor=${cursor}`;
          const { body } = await get(`/approvals?limit=2&order=${order}${more}`);
          expect(body.movements).to.have.length.within(1, 2);
          found.push(...body.movements.map(({ reference }: { reference: string }) => reference));
          cursor = body.nextCursor;
        }
        return found;
      };
      const all = await waiting();
      expect(all.slice(-3)).to.deep.equal(names);
      expect(await pagesOf('asc')).to.deep.equal(all);
      expect(await pagesOf('desc')).to.deep.equal(all.toReversed());
      const { nextCursor } = (await get('/approvals?limit=1')).body;
      expect((await get(`/approvals?limit=1&order=desc&cursor=${nextCursor}`)).status).to.equal(400);
      const listed = (await fixture.ask('approval', 'list')).movements;
      const { movements } = await fixture.ask('approval', 'list', '--after', `${listed.at(-3).number}`);
      expect(movements.map(({ reference }: { reference: string }) => reference)).to.deep.equal(
        names.slice(1),
      );
      for (const name of names)
        expect(await decide('refuse', name, approver)).to.deep.equal([200, 'refused']);
    });

    it('are decided by commands as well, and withdrawals wait like deposits', async () => {
      const request = { reference: 'two-out', wallet: DORA, asset: 'USDC', amount: '120', reason };
      expect((await post('/withdrawals', request, asker)).body.code).to.equal('APPROVAL_NEEDED');
      const refusal = ['two-out', '--kind', 'withdrawal', '--reason', 'no'];
      refusal.push('--asked-at', await askedAtOf('two-out'));
      expect(await fixture.ask('approval', 'refuse', ...refusal)).to.include({ state: 'refused' });
      expect((await post('/withdrawals', request, asker)).body.code).to.equal('APPROVAL_REFUSED');
      const debit = asked('two-down', '120', { kind: 'withdrawal' });
      expect(codes(await book([debit], asker))).to.deep.equal(['APPROVAL_NEEDED']);
      const { movements } = await fixture.ask('approval', 'list');
      expect(movements.at(-1)).to.include({ kind: 'withdrawal', reference: 'two-down' });
      const words = ['two-down', '--kind', 'withdrawal', '--reason', 'checked'];
      words.push('--asked-at', await askedAtOf('two-down'));
      expect(await fixture.refuse('approval', 'approve', ...words, '--by', 'asker')).to.equal('FORBIDDEN');
      expect(await fixture.ask('approval', 'approve', ...words)).to.include({ state: 'approved' });
      expect(codes(await book([debit], asker))).to.deep.equal([200]);
      const late = ['two-late', '--kind', 'deposit', '--reason', 'no'];
      late.push('--asked-at', await askedAtOf('two-late'));
      expect(await fixture.ask('approval', 'refuse', ...late)).to.include({ state: 'refused' });
    });
  });

  it('answer each movement of a crowd that waits for the cap of one key', async () => {
    const crowd = await keyOf('crowd', 'credit', '--cap', 'USDC=40/day');
    const wallet = WALLET('8');
    const bookOne = (at: number) => book([movement(`crowd-${at}`, { wallet, amount: '1' })], crowd, at % 2);
    await bookOne(0);
    const client = new pg.Client({ connectionString: fixture.databaseUrl });
    await client.connect();
    await client.query(`begin; select from operator_key_days where key = 'crowd' for update`);
    const asked = Array.from({ length: 79 }, (_none, at) => bookOne(at + 1));
    await sleep(LOCKED_MS);
    await client.end();
    const statuses = (await Promise.all(asked)).map((results) => results?.[0]?.status);
    const count = (wanted: number): number => statuses.filter((status) => status === wanted).length;
    expect([count(201), count(403)]).to.deep.equal([39, 40]);
    expect(await sumOf(wallet)).to.equal('40');
  });

  it('hold and release a wallet, and show its account and statement', async () => {
    const { order } = await fixture.place({ wallet: ALICE, price: '100', size: '1' });
    const shown = (await get(`/wallets/${ALICE.toUpperCase().replace('0X', '0x')}`)).body;
    expect(shown.liveOrders).to.have.length(1);
    const held = (await post(`/wallets/${ALICE}/hold`, { reason })).body;
    expect(held).to.deep.include({ wallet: ALICE, held: true, count: 1 });
    expect(held.cancelled[0]).to.include({ id: order.id, reason: 'custody_hold' });
    expect((await book([movement('held', { kind: 'withdrawal' })]))[0].code).to.equal('CUSTODY_HOLD');
    expect((await post(`/wallets/${ALICE}/release`, { reason })).body).to.include({ held: false });
    expect((await post(`/wallets/${ALICE}/hold`, {})).body.code).to.equal('VALIDATION_ERROR');
    await fixture.settle();
    const today = new Date().toISOString().slice(0, 10);
    const span = `from=${today}&to=${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}`;
    const { body } = await get(`/wallets/${ALICE}/statement?${span}`);
    expect(body.lines[0]).to.include({ kind: 'deposit', reference: 'm-1' });
    expect(body.closing[0].asset).to.equal('USDC');
  });

  describe('for deposits that are announced', () => {
    const announce = async (reference: string, key: string) => {
      const asked = { reference, wallet: ALICE, asset: 'USDC', amount: '3', reason };
      const { status, body } = await post('/deposits', asked, key);
      return body.code ?? status;
    };

    it('tell how old the oldest one is', async () => {
      const { deposits } = fixture.services.ledger;
      await fixture.settle();
      expect(await deposits.oldestMs()).to.equal(null);
      expect(await announce('oldest', master)).to.equal(201);
      await fixture.settle();
      const { announcedAt } = (await get('/deposits')).body.deposits[0];
      expect(await announce('newer', master)).to.equal(201);
      await fixture.settle();
      expect(await deposits.oldestMs()).to.equal(Date.parse(announcedAt));
      for (const reference of ['oldest', 'newer']) await post(`/deposits/${reference}/drop`, { reason });
      await fixture.settle();
      expect(await deposits.oldestMs()).to.equal(null);
    });

    it('are refused beyond the share of a key, and beyond the bound of all, but never again', async () => {
      const hoarder = await keyOf('hoarder', 'credit');
      const { ofHolder, inAll } = ANNOUNCED_DEPOSITS;
      expect(await announce('known', hoarder)).to.equal(201);
      await fixture.settle();
      /** Rows of announcements of a key that the engine never saw. */
      const plant = (by: string, from: number, to: number) =>
        query(
          fixture.databaseUrl,
          `insert into operator_acts (sequence, name, operator, reason, time_ms)
             select 1000000000 + n, 'deposit announce', '${by}', 'a test', 0 from generate_series(${from}, ${to}) as n;
           insert into announced_deposits (reference, sequence)
             select 'planted-' || n, 1000000000 + n from generate_series(${from}, ${to}) as n`,
        );
      let last = '';
      try {
        await plant('hoarder', 1, ofHolder - 2);
        const settling = fixture.settleOnAndOn();
        const names = Array.from({ length: 10 }, (_none, at) => `last-${at}`);
        const answers = await Promise.all(names.map((name) => announce(name, hoarder)));
        await settling.stop();
        expect(answers.filter((answer) => answer !== 'TOO_MANY_ANNOUNCED')).to.deep.equal([201]);
        last = names[answers.indexOf(201)]!;
        expect(await announce('too-many', hoarder)).to.equal('TOO_MANY_ANNOUNCED');
        expect(await announce('known', hoarder)).to.equal(200);
        expect(await announce('other', master)).to.equal(201);
        await plant('others', ofHolder, inAll);
        await fixture.settle();
        expect(await announce('nobody', master)).to.equal('TOO_MANY_ANNOUNCED');
        const words = [ALICE, 'USDC', '3', '--reference', 'nobody'];
        expect(await fixture.refuse('deposit', 'announce', ...words)).to.equal('TOO_MANY_ANNOUNCED');
      } finally {
        await query(
          fixture.databaseUrl,
          `set session_replication_role = replica; delete from operator_acts where sequence > 1000000000;
           delete from announced_deposits where sequence > 1000000000`,
        );
      }
      for (const reference of ['known', last, 'other'])
        expect((await post(`/deposits/${reference}/drop`, { reason })).status).to.equal(200);
    });
  });

  describe('for withdrawals in two steps', () => {
    const CAROL = WALLET('c');
    const asked = (reference: string, more: object = {}) => ({
      reference,
      wallet: CAROL,
      asset: 'USDC',
      amount: '10',
      reason,
      ...more,
    });
    const codeOf = ({ status, body }: Response) => [status, body.code ?? body.state];
    const tell = async (path: string, body: object, key = master, app = 0) =>
      codeOf(await post(`/withdrawals${path}`, body, key, app));
    const listed = async (state: string, more = '') =>
      (await get(`/withdrawals?state=${state}${more}`)).body.withdrawals.map(
        ({ reference }: { reference: string }) => reference,
      );

    before(() => book([movement('c-1', { wallet: CAROL, amount: '100' })]));

    it('take the amount at once, and pay it out or give it back, each only once', async () => {
      const requests = ['paid', 'back', 'open'].map((reference) => tell('', asked(reference)));
      expect(await Promise.all(requests)).to.deep.equal(Array(3).fill([201, 'pending']));
      const shown = (await get(`/wallets/${CAROL}`)).body.balances[0];
      expect(shown).to.include({ total: '70', available: '70', reserved: '0' });
      expect(await tell('/paid/confirm', { txid: '0xa' })).to.deep.equal([200, 'confirmed']);
      expect(await tell('/back/return', { reason })).to.deep.equal([200, 'returned']);
      expect(await sumOf(CAROL)).to.equal('80');
      for (const isForgotten of [false, true]) {
        if (isForgotten) {
          await fixture.settle();
          for (const key of await fixture.redis.keys('{redbook}:claims:*')) await fixture.redis.del(key);
        }
        expect(await tell('', asked('paid'), master, 1)).to.deep.equal([200, 'confirmed']);
        expect(await tell('/paid/confirm', { txid: '0xa' }, master, 1)).to.deep.equal([200, 'confirmed']);
        expect(await tell('/back/return', { reason }, master, 1)).to.deep.equal([200, 'returned']);
        for (const [path, body] of [
          ['', asked('paid', { amount: '9' })],
          ['', asked('m-2')],
          ['/paid/confirm', { txid: '0xb' }],
          ['/paid/return', { reason }],
          ['/back/confirm', { txid: '0xa' }],
        ] as const)
          expect(await tell(path, body), path).to.deep.equal([409, 'REFERENCE_CONFLICT']);
        const [same] = await book([movement('paid', { wallet: CAROL, kind: 'withdrawal', amount: '10' })]);
        expect(same).to.include({ status: 409, code: 'REFERENCE_CONFLICT' });
        expect(await tell('/none/confirm', { txid: '0xa' })).to.deep.equal([404, 'UNKNOWN_WITHDRAWAL']);
        expect(codeOf(await get('/withdrawals/open'))).to.deep.equal([200, 'pending']);
      }
      expect(await sumOf(CAROL)).to.equal('80');
      expect(await listed('pending')).to.deep.equal(['open']);
      expect(await listed('confirmed')).to.deep.equal(['paid']);
      expect(await listed('returned')).to.deep.equal(['back']);
    });

    it('end a withdrawal that two replicas confirm and return at once in one way', async () => {
      const names = Array.from({ length: 8 }, (_none, at) => `race-${at}`);
      await Promise.all(names.map((name) => tell('', asked(name, { amount: '1' }))));
      let confirmed = 0;
      for (const name of names) {
        const answers = await Promise.all([
          tell(`/${name}/confirm`, { txid: name }, master, 0),
          tell(`/${name}/return`, { reason }, master, 1),
        ]);
        expect(answers.map(([status]) => status).sort()).to.deep.equal([200, 409]);
        if (answers[0]![0] === 200) confirmed += 1;
      }
      expect(await sumOf(CAROL)).to.equal(`${80 - confirmed}`);
      await fixture.settle();
      expect([...(await listed('confirmed')), ...(await listed('returned'))]).to.have.length(10);
    });

    describe('that one of several workers pays', () => {
      const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();
      const isTaken = [409, 'PAYMENT_UNDER_WAY'];
      const until = inAnHour();
      const take = (reference: string, by: string, key = master, app = 0, more: object = {}) =>
        tell(`/${reference}/take`, { by, until, ...more }, key, app);
      const requested = async (reference: string): Promise<string> => {
        expect(await tell('', asked(reference, { amount: '1' }))).to.deep.equal([201, 'pending']);
        return reference;
      };
      let second: string;

      before(async () => {
        second = await keyOf('second', 'pay');
        await book([movement('workers', { wallet: CAROL, amount: '100' })]);
      });

      it('are taken by one of two workers that ask at once, again and again', async () => {
        const names = await Promise.all(Array.from({ length: 12 }, (_none, at) => requested(`pay-${at}`)));
        for (const name of names) {
          const answers = await Promise.all(['one', 'two'].map((by, app) => take(name, by, master, app)));
          expect(answers.map(([status]) => status).sort()).to.deep.equal([200, 409]);
          const by = answers[0]![0] === 200 ? 'one' : 'two';
          expect((await get(`/withdrawals/${name}`)).body.taken).to.deep.equal({ by, key: 'master', until });
          expect(await take(name, by, master, 1)).to.deep.equal([200, 'pending']);
        }
      });

      it('are neither returned, nor taken or confirmed by another one', async () => {
        for (const isForgotten of [false, true]) {
          const name = await requested(`owned-${isForgotten}`);
          if (isForgotten) {
            await fixture.settle();
            for (const claims of await fixture.redis.keys('{redbook}:claims:*'))
              await fixture.redis.del(claims);
          }
          expect(await take(name, 'one')).to.deep.equal([200, 'pending']);
          // The name of another key is another worker.
          expect(await take(name, 'one', second)).to.deep.equal(isTaken);
          expect(await take(name, 'on')).to.deep.equal(isTaken);
          expect(await tell(`/${name}/return`, { reason })).to.deep.equal(isTaken);
          for (const by of [undefined, 'two', 'one","key":"master'])
            expect(await tell(`/${name}/confirm`, { txid: '0x1', by }), by).to.deep.equal(isTaken);
          expect(await tell(`/${name}/release`, { by: 'two', reason })).to.deep.equal(isTaken);
          const { body } = await post(`/withdrawals/${name}/confirm`, { txid: '0x1', by: 'one' });
          expect([body.state, body.taken]).to.deep.equal(['confirmed', null]);
          // A repeated confirm needs no name: nothing moves.
          expect(await tell(`/${name}/confirm`, { txid: '0x1' })).to.deep.equal([200, 'confirmed']);
          for (const by of ['one', 'two'])
            expect(await take(name, by)).to.deep.equal([409, 'REFERENCE_CONFLICT']);
        }
      });

      it('are given up by their name alone, and then returned or taken anew', async () => {
        const name = await requested('given-up');
        await take(name, 'one');
        expect(await tell(`/${name}/release`, { by: 'one', reason }, second)).to.deep.equal([200, 'pending']);
        expect(await tell(`/${name}/release`, { by: 'one', reason })).to.deep.equal([200, 'pending']);
        expect(await take(name, 'two')).to.deep.equal([200, 'pending']);
        await tell(`/${name}/release`, { by: 'two', reason });
        expect(await tell(`/${name}/return`, { reason })).to.deep.equal([200, 'returned']);
        expect(await take('none', 'one')).to.deep.equal([404, 'UNKNOWN_WITHDRAWAL']);
      });

      it('are returned or taken, whatever comes first', async () => {
        for (let round = 0; round < 8; round += 1) {
          const name = await requested(`first-${round}`);
          const answers = await Promise.all([
            take(name, 'one', master, 0),
            tell(`/${name}/return`, { reason }, master, 1),
          ]);
          const isFirst = answers[0]![0] === 200;
          expect(answers).to.deep.equal(
            isFirst
              ? [[200, 'pending'], isTaken]
              : [
                  [409, 'REFERENCE_CONFLICT'],
                  [200, 'returned'],
                ],
          );
        }
      });

      it('stay taken when they are overdue, which is counted', async () => {
        const name = await requested('overdue');
        const soon = new Date(Date.now() + 300).toISOString();
        expect(await take(name, 'one', master, 0, { until: soon })).to.deep.equal([200, 'pending']);
        await fixture.settle();
        const { withdrawals } = fixture.services.ledger;
        await eventually('the take is overdue', async () => (await withdrawals.overdue(Date.now())) === 1);
        expect(await take(name, 'two')).to.deep.equal(isTaken);
        expect(await tell(`/${name}/return`, { reason })).to.deep.equal(isTaken);
        expect(await take(name, 'one')).to.deep.equal([200, 'pending']);
        await fixture.settle();
        expect(await withdrawals.overdue(Date.now())).to.equal(0);
      });

      it('are taken for at most 7 days, and not of a wallet on hold', async () => {
        const name = await requested('until');
        for (const hours of [-1, 7 * 24 + 1]) {
          const late = new Date(Date.now() + hours * 3_600_000).toISOString();
          const answer = await take(name, 'one', master, 0, { until: late });
          expect(answer).to.deep.equal([400, 'VALIDATION_ERROR']);
        }
        await post(`/wallets/${CAROL}/hold`, { reason });
        expect(await take(name, 'one')).to.deep.equal([400, 'CUSTODY_HOLD']);
        await post(`/wallets/${CAROL}/release`, { reason });
        expect(await take(name, 'one')).to.deep.equal([200, 'pending']);
        // Its payment may be under way: its time may still be changed, and it may be confirmed.
        await post(`/wallets/${CAROL}/hold`, { reason });
        expect(await take(name, 'one', master, 0, { until: inAnHour() })).to.deep.equal([200, 'pending']);
        expect(await tell(`/${name}/confirm`, { txid: '0x2', by: 'one' })).to.deep.equal([200, 'confirmed']);
        await post(`/wallets/${CAROL}/release`, { reason });
      });

      it('are listed, told and recorded with who took them, also by commands', async () => {
        const { cursor } = (await get('/changes')).body;
        const name = await requested('told-take');
        await fixture.ask('withdrawal', 'take', name, '--by', 'ann', '--until', until);
        await fixture.settle();
        const { withdrawals } = (await get('/withdrawals?limit=500')).body;
        const one = withdrawals.find(({ reference }: { reference: string }) => reference === name);
        expect(one.taken).to.deep.equal({ by: 'ann', key: 'ann', until });
        const refusal = await fixture.ask('withdrawal', 'confirm', name, '--txid', '0x3').catch(String);
        expect(JSON.stringify(refusal)).to.include('PAYMENT_UNDER_WAY');
        await fixture.ask(
          'withdrawal',
          'release',
          name,
          '--by',
          'bea',
          '--taken-by',
          'ann',
          '--reason',
          'no',
        );
        await fixture.ask('withdrawal', 'take', name, '--by', 'bea', '--until', until);
        await fixture.ask('withdrawal', 'confirm', name, '--txid', '0x3', '--by', 'bea');
        await fixture.settle();
        const { changes } = (await get(`/changes?after=${cursor}`)).body;
        const own = changes.filter(({ reference }: { reference: string }) => reference === name);
        expect(
          own.map(({ kind, takenBy, amount }: Record<string, string>) => [kind, takenBy, amount]),
        ).to.deep.equal([
          ['withdrawal_requested', null, '1'],
          ['withdrawal_taken', 'ann', '1'],
          ['withdrawal_released', null, '1'],
          ['withdrawal_taken', 'bea', '1'],
          ['withdrawal_confirmed', null, '1'],
        ]);
        const { acts } = await fixture.ask('acts', '--wallet', CAROL);
        const act = acts.find(
          (row: Record<string, string>) => row.subject === name && row.act === 'withdrawal release',
        );
        expect([act.by, act.reason, JSON.parse(act.before).by]).to.deep.equal(['bea', 'no', 'ann']);
        const { checks } = await reconcile(fixture.services, { patienceMs: 5_000 });
        // A test above removed claims.
        const wrong = checks.filter(({ name, count }) => count > 0 && name !== 'recent claims');
        expect(wrong).to.deep.equal([]);
      });
    });

    it('list pending ones in pages, also those of a wallet on hold', async () => {
      await Promise.all([1, 2, 3].map((at) => tell('', asked(`page-${at}`, { amount: '1' }))));
      await post(`/wallets/${CAROL}/hold`, { reason });
      await fixture.settle();
      const first = (await get('/withdrawals?limit=3')).body;
      const rest = (await get(`/withdrawals?limit=3&cursor=${first.nextCursor}`)).body;
      const all = [...first.withdrawals, ...rest.withdrawals];
      expect([all.length, rest.nextCursor, all.every(({ held }) => held)]).to.deep.equal([4, null, true]);
      expect((await get(`/withdrawals?state=confirmed&cursor=${first.nextCursor}`)).status).to.equal(400);
      expect(await tell('', asked('late'))).to.deep.equal([400, 'CUSTODY_HOLD']);
      expect(await tell('/open/confirm', { txid: '0xc' })).to.deep.equal([200, 'confirmed']);
      await post(`/wallets/${CAROL}/release`, { reason });
    });

    it('are confirmed with the longest transaction id', async () => {
      expect(await tell('', asked('long', { amount: '1' }))).to.deep.equal([201, 'pending']);
      expect(await tell('/long/confirm', { txid: 'a'.repeat(256) })).to.deep.equal([200, 'confirmed']);
    });

    it('need the right to debit, and count to its cap', async () => {
      const [creditor, capped] = [
        await keyOf('no-debit', 'credit,read'),
        await keyOf('capped-debit', 'debit', '--cap', 'USDC=3/day'),
      ];
      for (const [path, body] of [
        ['', asked('never')],
        ['/page-1/confirm', { txid: 'x' }],
        ['/page-1/return', { reason }],
      ] as const)
        expect(await tell(path, body, creditor), path).to.deep.equal([403, 'FORBIDDEN']);
      const answers = [];
      for (const [reference, amount] of [
        ['cap-a', '2'],
        ['cap-a', '2'],
        ['cap-b', '1.000001'],
        ['cap-c', '1'],
      ])
        answers.push(await tell('', asked(reference!, { amount }), capped));
      expect(answers).to.deep.equal([
        ...[
          [201, 'pending'],
          [200, 'pending'],
        ],
        ...[
          [403, 'CAP_EXCEEDED'],
          [201, 'pending'],
        ],
      ]);
      await fixture.settle();
      expect((await get('/withdrawals', capped)).status).to.equal(200);
    });

    it('are in the statement of the wallet, in acts, and in books that hold', async () => {
      await fixture.settle();
      const { body } = await get('/acts?wallet='.concat(CAROL));
      const names = new Set(
        body.acts.map(({ act }: { act: string }) => act).filter((act: string) => act.startsWith('with')),
      );
      expect([...names].sort()).to.deep.equal(
        ['confirm', 'request', 'return'].map((verb) => `withdrawal ${verb}`),
      );
      const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
      const statement = (await get(`/wallets/${CAROL}/statement?from=${day(0)}&to=${day(2)}`)).body;
      const sum = statement.lines.reduce(
        (total: number, { amount }: { amount: number }) => total + amount,
        0,
      );
      expect(statement.closing).to.deep.equal([{ asset: 'USDC', amount: sum }]);
      const paid = statement.lines.filter(({ reference }: { reference: string }) => reference === 'paid');
      expect(
        paid.map(({ kind, amount, txid }: Record<string, unknown>) => [kind, amount, txid]),
      ).to.deep.equal([
        ['withdrawal_requested', -10, '0xa'],
        ['withdrawal_confirmed', 0, '0xa'],
      ]);
      const { checks } = await fixture.ledger.checks.run();
      expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
      const { stdout } = await fixture.run('ledger', 'balances', '--as-of', day(1), '--json');
      const [trial] = JSON.parse(stdout).trialBalance;
      expect([trial.asset, trial.sum]).to.deep.equal(['USDC', '0']);
    });
  });

  it('create, change, halt and clear markets', async () => {
    const created = await post('/markets', {
      symbol: 'BTC/USDC',
      tickSize: '0.1',
      sizeStep: '0.001',
      feeBps: 10,
      reason,
    });
    expect(created.status, created.text).to.equal(200);
    expect(created.body).to.include({ symbol: 'BTC/USDC', networkId: '31337', minOrderSize: null });
    const again = { symbol: 'BTC/USDC', tickSize: '0.1', sizeStep: '0.001', feeBps: 10, reason };
    expect((await post('/markets', again)).body.code).to.equal('MARKET_EXISTS');
    expect((await post('/markets/BTC%2FUSDC', { minOrderSize: '0.002', reason })).body).to.include({
      minOrderSize: '0.002',
      feeBps: 10,
    });
    expect((await post('/markets/BTC%2FUSDC', { reason })).body.code).to.equal('VALIDATION_ERROR');
    expect((await post('/markets/NO%2FUSDC', { feeBps: 1, reason })).body.code).to.equal('MARKET_NOT_FOUND');
    expect((await post('/markets/ETH%2FUSDC/clear', { reason })).body.code).to.equal('MARKET_NOT_HALTED');
    const { order } = await fixture.place({ wallet: ALICE, price: '100', size: '1' });
    await post('/markets/ETH%2FUSDC', { status: 'halted', reason });
    expect((await post('/markets/ETH%2FUSDC/clear', { reason })).body.cancelled[0].id).to.equal(order.id);
    await post('/markets/ETH%2FUSDC', { status: 'active', reason });
    const last = await fixture.place({ wallet: ALICE, price: '100', size: '1' });
    expect((await post(`/orders/${last.order.id}/void`, { reason })).body).to.include({ status: 'failed' });
    expect((await get('/markets')).body.markets).to.have.length(2);
    expect((await post('/assets', { symbol: 'EUR', scale: 2, reason })).body).to.deep.equal({
      symbol: 'EUR',
      scale: 2,
    });
    expect((await post('/assets', { symbol: 'USDC', scale: 2, reason })).body.code).to.equal('ASSET_IN_USE');

    it('are told with all movements, each step once, also to who waits', async () => {
      const wallet = WALLET('7');
      const changesAfter = async (cursor: string, query = '') => {
        const { status, body } = await get(`/changes?after=${cursor}${query}`, master, 1);
        expect(status, body.error).to.equal(200);
        return body;
      };
      await fixture.settle();
      const first = (await get('/changes')).body;
      expect(first).to.include({ more: false }).and.to.have.deep.property('changes', []);
      const waiting = changesAfter(first.cursor, '&wait=20');
      await book([movement('told-1', { wallet, amount: '30' })]);
      await fixture.settle();
      const told = await waiting;
      expect(told.changes).to.have.length(1);
      expect(told.changes[0]).to.include({
        kind: 'deposit',
        reference: 'told-1',
        wallet,
        amount: '30',
        txid: null,
      });
      await book([movement('told-2', { wallet, kind: 'withdrawal', amount: '1', reverses: 'told-1' })]);
      for (const reference of ['told-3', 'told-4'])
        await post('/withdrawals', { reference, wallet, asset: 'USDC', amount: '2', reason });
      await post('/withdrawals/told-3/confirm', { txid: '0xpaid' });
      await post('/withdrawals/told-4/return', { reason });
      await fixture.settle();
      const seen: Record<string, unknown>[] = [];
      for (let cursor = told.cursor; seen.length < 5; ) {
        const { changes, cursor: next, more } = await changesAfter(cursor, '&wait=20&limit=2');
        expect(changes.length).to.be.within(1, 2);
        if (more) expect(changes).to.have.length(2);
        seen.push(...changes);
        cursor = next;
      }
      expect(
        seen.map(({ kind, reference, reverses, txid }) => [kind, reference, reverses, txid]),
      ).to.deep.equal([
        ['withdrawal', 'told-2', 'told-1', null],
        ['withdrawal_requested', 'told-3', null, null],
        ['withdrawal_requested', 'told-4', null, null],
        ['withdrawal_confirmed', 'told-3', null, '0xpaid'],
        ['withdrawal_returned', 'told-4', null, null],
      ]);
      for (const cursor of ['A'.repeat(40), 'no'])
        expect((await get(`/changes?after=${cursor}`)).body.code).to.equal('VALIDATION_ERROR');
    });
  });

  describe('for finance', () => {
    const SPAN = ['--from', '2000-01-01', '--to', '2100-01-01'];
    const QUERY = 'from=2000-01-01&to=2100-01-01';
    const REPORTS = [
      ['/balances?asOf=2100-01-01', ['balances', '--as-of', '2100-01-01']],
      [
        `/balances?asOf=2100-01-01&wallet=${ALICE}&asset=USDC`,
        ['balances', '--as-of', '2100-01-01', '--wallet', ALICE, '--asset', 'USDC'],
      ],
      [`/fees?${QUERY}&by=month,market`, ['fees', ...SPAN, '--by', 'month,market']],
      [`/volumes?${QUERY}&by=day,wallet`, ['volumes', ...SPAN, '--by', 'day,wallet']],
      [`/movements?${QUERY}&asset=USDC`, ['movements', ...SPAN, '--asset', 'USDC']],
    ] as const;

    it('return what the commands print, as JSON and as CSV', async () => {
      await fixture.ask('account', 'credit', BOB, 'ETH', '1', '--reference', 'to sell');
      for (const [wallet, side] of [
        [BOB, 'sell'],
        [ALICE, 'buy'],
      ] as const)
        await fixture.place({ wallet, side, price: '2', size: '1' });
      await fixture.settle();
      for (const [path, command] of REPORTS) {
        const asked = await get(path);
        expect(asked.body, path).to.deep.equal(await fixture.ask('ledger', ...command));
        const list = Object.values(asked.body as object).find(Array.isArray)!;
        expect(list, path).to.have.length.above(0);
        const csv = await get(`${path}&format=csv`);
        expect(csv.headers['content-type']).to.match(/^text\/csv/);
        expect(csv.headers['content-disposition']).to.match(
          /^attachment; filename="(balances|fees|volumes|movements)(-2\d00-01-01){1,2}\.csv"$/,
        );
        expect((await get(`${path}&format=csv&bom=true`)).text).to.equal(`\ufeff${csv.text}`);
        expect(csv.text).to.equal((await fixture.run('ledger', ...command, '--csv')).stdout);
      }
      const entries = await get(`/entries?${QUERY}&wallet=${ALICE}`);
      expect(entries.body).to.deep.equal(await fixture.ask('ledger', 'export', ...SPAN, '--wallet', ALICE));
      expect(entries.body.entries).to.have.length.above(3);
      expect(getEntries.reply.safeParse(entries.body).error).to.equal(undefined);
      const [{ entryId: after }] = entries.body.entries;
      const rest = await get(`/entries?${QUERY}&wallet=${ALICE}&after=${after}&format=csv`);
      const resumed = await fixture.run('ledger', 'export', ...SPAN, '--wallet', ALICE, '--after', after);
      expect(rest.text).to.equal(resumed.stdout);
      expect(rest.text).not.to.match(/^entry_id/);
      const acts = await get('/acts?since=2000-01-01&limit=1&format=csv');
      expect(acts.text).to.equal((await fixture.run('acts', '--csv')).stdout);
      expect(acts.text.split('\n').length).to.be.above(4);
      expect(acts.headers['content-disposition']).to.equal('attachment; filename="acts-2000-01-01.csv"');
      const { body } = await get('/balances?asOf=2100-01-01');
      for (const { sum } of body.trialBalance) expect(sum).to.equal('0');
    });

    it('list movements in pages, as JSON and as CSV, which make the whole list together', async () => {
      const whole = (await get(`/movements?${QUERY}&asset=USDC`)).body.movements;
      const found: object[] = [];
      const path = `/movements?${QUERY}&asset=USDC&limit=3`;
      let pages = 0;
      for (let cursor: string | null = ''; cursor !== null; pages += 1) {
        const { body } = await get(cursor === '' ? path : `${path}&cursor=${cursor}`);
        expect(body.movements).to.have.length.within(1, 3);
        found.push(...body.movements);
        cursor = body.nextCursor;
      }
      expect(found).to.deep.equal(whole);
      expect(pages)
        .to.equal(Math.ceil(whole.length / 3))
        .and.to.be.above(1);
      // Without a limit, the rest of the list follows a cursor, and a sequence where the command is asked.
      const { nextCursor } = (await get(`/movements?${QUERY}&limit=2`)).body;
      const all = (await get(`/movements?${QUERY}`)).body.movements;
      const rest = await get(`/movements?${QUERY}&cursor=${nextCursor}`);
      expect(rest.body.movements).to.deep.equal(all.slice(2));
      const after = ['--after', String(all[1].sequence)];
      expect(rest.body).to.deep.equal(await fixture.ask('ledger', 'movements', ...SPAN, ...after));
      expect((await get(`/movements?${QUERY}&cursor=${nextCursor}&format=csv`)).text).to.equal(
        (await fixture.run('ledger', 'movements', ...SPAN, ...after, '--csv')).stdout,
      );
      for (const wrong of [`cursor=${nextCursor}&asset=USDC`, 'limit=0', 'limit=501', 'cursor=x'])
        expect((await get(`/movements?${QUERY}&${wrong}`)).body.code, wrong).to.equal('VALIDATION_ERROR');
    });

    it('list deposits or withdrawals alone, and acts up to a time, as the commands do', async () => {
      const kinds = async (more: string): Promise<Set<string>> => {
        const { movements } = (await get(`/movements?${QUERY}${more}`)).body;
        return new Set(movements.map(({ kind }: { kind: string }) => kind.split('_')[0]));
      };
      expect([...(await kinds(''))].sort()).to.deep.equal(['deposit', 'withdrawal']);
      for (const side of ['deposit', 'withdrawal']) {
        expect([...(await kinds(`&side=${side}`))]).to.deep.equal([side]);
        expect((await get(`/movements?${QUERY}&side=${side}`)).body).to.deep.equal(
          await fixture.ask('ledger', 'movements', ...SPAN, '--side', side),
        );
      }
      const all = (await get('/acts?limit=500')).body.acts;
      const until = all.at(-1).time;
      const { body } = await get(`/acts?limit=500&until=${until}`);
      expect(body.acts).to.deep.equal(all.filter(({ time }: { time: string }) => time < until));
      expect(body.acts).to.deep.equal((await fixture.ask('acts', '--until', until)).acts);
    });

    it('list the lines of a statement newest first, in pages and as JSON alone', async () => {
      const path = `/wallets/${ALICE}/statement?from=${today()}&to=${today(1)}`;
      const { lines } = (await get(path)).body;
      const newest = (await get(`${path}&order=desc`)).body;
      const times = ({ lines: some }: { lines: { time: string }[] }) => some.map(({ time }) => time);
      expect(times(newest)).to.deep.equal(times({ lines }).toReversed());
      expect(newest).to.include({ opening: null, closing: null, nextCursor: null });
      const { status, body } = await get(`${path}&order=desc&format=csv`);
      expect([status, body.error]).to.deep.equal([400, 'order: must be asc where the format is not json']);
    });

    it('reject bad input, and keys without the right to read', async () => {
      for (const [path, message] of [
        ['/balances', /^asOf: must be given once$/],
        ['/balances?asOf=soon', /^asOf: must be a time/],
        ['/balances?asOf=2026-01-01&wallet=me', /^wallet: must be 0x/],
        [`/fees?${QUERY}`, /^by: /],
        [`/fees?${QUERY}&by=week`, /^by: must be a list of day, month, market, wallet$/],
        [`/volumes?${QUERY}&by=day,day`, /^by: must name each once$/],
        ['/movements?from=2026-02-01&to=2026-01-01', /^to: must not be before from$/],
        [`/movements?${QUERY}&format=pdf`, /^format: /],
        [`/entries?${QUERY}&after=7`, /^after: must be an entry id like 1234-0$/],
      ] as const) {
        const { status, body } = await get(path);
        expect([status, body.code], path).to.deep.equal([400, 'VALIDATION_ERROR']);
        expect(body.error).to.match(message);
      }
      for (const path of ['/balances?asOf=2026-01-01', `/movements?${QUERY}`, `/entries?${QUERY}`])
        expect((await get(`${path}&asset=usdc`)).body.code, path).to.equal('UNKNOWN_ASSET');
      const creditor = await keyOf('no-reader', 'credit');
      for (const [path] of REPORTS) expect((await get(path, creditor)).status, path).to.equal(403);
    });

    it('list from either end, in pages', async () => {
      const wallet = WALLET('c');
      await fixture.settle();
      for (const [path, list] of [
        [`/movements?${QUERY}&wallet=${wallet}`, 'movements'],
        [`/acts?wallet=${wallet}`, 'acts'],
        ['/withdrawals?state=pending', 'withdrawals'],
        ['/withdrawals?state=confirmed', 'withdrawals'],
      ] as const) {
        const whole = (await get(`${path}&limit=500`)).body[list];
        expect(whole.length, path).to.be.within(1, 499);
        const size = Math.ceil(whole.length / 3);
        const newest = `${path}&limit=${size}&order=desc`;
        const found: unknown[] = [];
        for (let cursor: string | null = ''; cursor !== null; ) {
          const { body } = await get(`${newest}${cursor && `&cursor=${cursor}`}`);
          found.push(...body[list]);
          if (body.nextCursor !== null)
            expect((await get(`${path}&limit=${size}&cursor=${body.nextCursor}`)).status).to.equal(400);
          cursor = body.nextCursor;
        }
        expect(JSON.stringify(found), path).to.equal(JSON.stringify(whole.toReversed()));
      }
      expect((await get('/acts?order=newest')).body.error).to.match(/^order: /);
    });

    it('close a month once, as the command does, with an act', async () => {
      const close = (body: object, key = master, app = 0) => post('/closings', body, key, app);
      const settling = fixture.settleOnAndOn();
      expect((await close({ month: '2020-03', reason })).body.code).to.equal('MONTH_EMPTY');
      const closed = await close({ month: '2020-03', empty: true, reason });
      expect([closed.status, closed.body.isNew]).to.deep.equal([201, true]);
      const again = await close({ month: '2020-03', reason }, master, 1);
      expect([again.status, again.body]).to.deep.equal([200, { ...closed.body, isNew: false }]);
      const { isNew: _, ...listed } = closed.body;
      expect((await get('/closings')).body.closings).to.deep.include(listed);
      const byCommand = await fixture.ask('ledger', 'close', '2020-03');
      expect(byCommand).to.include({ isNew: false, digest: closed.body.digest });
      const acts = await query(
        fixture.databaseUrl,
        `select operator, subject, reason from operator_acts where name = 'ledger close'`,
      );
      expect(acts).to.deep.equal([{ operator: 'master', subject: '2020-03', reason }]);
      for (const [body, status, code] of [
        [{ month: '2090-01', reason }, 409, 'MONTH_NOT_OVER'],
        [{ month: '2020-13', reason }, 400, 'VALIDATION_ERROR'],
        [{ month: '2020-04' }, 400, 'VALIDATION_ERROR'],
        [{ month: '2020-02', empty: true, reason }, 409, 'MONTH_OUT_OF_ORDER'],
      ] as const) {
        const refused = await close(body);
        expect([refused.status, refused.body.code]).to.deep.equal([status, code]);
      }
      const reader = await keyOf('only-reader', 'read,credit,debit');
      expect((await close({ month: '2020-04', reason }, reader)).status).to.equal(403);
      expect((await get('/closings')).body.closings).to.have.length(1);
      const reopen = (body: object, month = '2020-03', key = master) =>
        post(`/closings/${month}/reopen`, body, key);
      expect((await reopen({ reason }, '2020-03', reader)).status).to.equal(403);
      expect((await reopen({})).body.code).to.equal('VALIDATION_ERROR');
      expect((await reopen({ reason }, '2020-13')).body.code).to.equal('VALIDATION_ERROR');
      const missing = await reopen({ reason }, '2020-04');
      expect([missing.status, missing.body.code]).to.deep.equal([409, 'NOT_CLOSED']);
      const reopened = await reopen({ reason });
      expect([reopened.status, reopened.body.digest]).to.deep.equal([201, closed.body.digest]);
      const twice = await reopen({ reason });
      expect([twice.status, twice.body]).to.deep.equal([200, { ...reopened.body, isNew: false }]);
      const lists = (await get('/closings')).body;
      expect(lists).to.deep.equal({
        closings: [],
        reopened: [{ ...listed, reopenedAt: reopened.body.reopenedAt }],
      });
      await settling.stop();
    });

    it('are made two at once, and the next one when a place is free', async () => {
      const locker = new pg.Client({ connectionString: fixture.databaseUrl });
      await locker.connect();
      await locker.query('begin; lock table kept_balances in access exclusive mode');
      // A request is sent once somebody waits for it.
      const slow = [1, 2].map(async () => await get('/balances?asOf=2100-01-01'));
      const third = () => get('/balances?asOf=2100-01-01');
      const waiting = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      // A transaction sees the activity as of its first look.
      await eventually('both wait', async () => (await query(fixture.databaseUrl, waiting)).length === 2);
      const refused = await third();
      expect([refused.status, refused.body.code]).to.deep.equal([503, 'SERVICE_UNAVAILABLE']);
      await locker.query('commit');
      await locker.end();
      for (const { status } of await Promise.all(slow)) expect(status).to.equal(200);
      expect((await third()).status).to.equal(200);
    });
  });

  it('pause and resume trading, require terms, and tell the state', async () => {
    expect((await post('/trading/pause', { reason })).body).to.deep.equal({ paused: true });
    expect((await get('/status')).body.engine.paused).to.equal(true);
    expect((await post('/trading/resume', { reason })).body).to.deep.equal({ paused: false });
    await post('/terms', { version: '2026-01', reason });
    expect((await get('/status')).body.engine.requiredTerms).to.equal('2026-01');
    await post('/terms', { version: null, reason });
    expect((await get('/reconcile')).status).to.equal(404);
    await fixture.settle();
    await fixture.run('ledger', 'reconcile');
    const { body } = await get('/reconcile');
    // A test above has made Redis forget what was used.
    expect(body.failedChecks).to.deep.equal(['recent claims']);
    expect(body).to.include({ holds: false });
    const found = (results: { name: string; differences: number }[]) =>
      results.filter(({ differences }) => differences > 0).map(({ name }) => name);
    expect(body.results).to.have.length(body.checks);
    expect(found(body.results)).to.deep.equal(body.failedChecks);
    expect(body.results).to.deep.include({
      name: 'epochs rise',
      asset: null,
      compared: `up to event ${body.sequence}`,
      differences: 0,
    });
  });

  it('list every change with the name of its key and its reason, in pages', async () => {
    const acts = [];
    let cursor = '';
    do {
      const { body } = await get(`/acts?by=master&limit=50${cursor}`);
      expect(body.acts.length).to.be.at.most(50);
      acts.push(...body.acts);
      cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
    } while (cursor !== '');
    expect(new Set(acts.map((one) => one.reason))).to.deep.equal(new Set([reason]));
    const names = ['credit', 'debit', 'hold', 'release'].map((name) => `account ${name}`);
    const others = [
      'market create',
      'market set',
      'market clear',
      'order void',
      'asset set',
      'trading pause',
    ];
    expect(acts.map(({ act }) => act)).to.include.members([...names, ...others, 'terms require']);
    expect((await get(`/acts?wallet=${ALICE}&since=2000-01-01`)).body.acts[0]).to.include({ subject: 'm-1' });
    for (const asked of ['limit=0', 'by=a%00b', 'market=a%00b', 'wallet=%00'])
      expect((await get(`/acts?${asked}`)).body.code, asked).to.equal('VALIDATION_ERROR');
  });

  it('reject a parameter that they do not have, which would be a misspelt filter', async () => {
    const paths = [
      '/withdrawals?stat=confirmed',
      `/movements?wallets=${ALICE}`,
      '/status?x=1',
      '/acts?limit=1&=',
    ];
    for (const path of paths) {
      const { status, body } = await get(path);
      expect([status, body.code], path).to.deep.equal([400, 'VALIDATION_ERROR']);
    }
    for (const operation of OPERATIONS) {
      const path = pathOf(operation, {}).slice('/operator/v1'.length);
      for (const name of ['now', 'constructor', '__proto__', 'from[]']) {
        const asked = `${path}?${name}=1`;
        const { status, body } = await (operation.method === 'GET' ? get(asked) : post(asked, { reason }));
        expect([status, body.error], asked).to.deep.equal([400, `${name}: no such parameter`]);
      }
    }
  });

  it('are described by a valid document, which needs no key', async () => {
    const { body } = await request(apps[0]!).get(OPERATOR_DOCUMENT_PATH);
    const config = await createConfig({ extends: ['spec'] });
    const problems = await lintFromString({ source: JSON.stringify(body), config });
    expect(problems.map(({ message, location }) => [message, location[0]?.pointer])).to.deep.equal([]);
  });

  it('require a reason of every change; who pays a withdrawal gives his name or its transaction', async () => {
    const { body } = await request(apps[0]!).get(OPERATOR_DOCUMENT_PATH);
    type Post = { requestBody: { content: Record<string, { schema: { required: string[] } }> } };
    const paths: Record<string, { post?: Post }> = body.paths;
    const changes = Object.entries(paths).flatMap(([path, { post }]) =>
      post === undefined
        ? []
        : [[path, post.requestBody.content['application/json']!.schema.required] as const],
    );
    expect(changes).to.have.length.above(10);
    const without = changes.filter(([, required]) => !required.includes('reason')).map(([path]) => path);
    // Each of several movements has its own, as a test above checks.
    expect(without).to.deep.equal([
      '/operator/v1/movements',
      '/operator/v1/withdrawals/{reference}/take',
      '/operator/v1/withdrawals/{reference}/confirm',
    ]);
  });

  it('are not those of the public API', async () => {
    for (const path of ['/v1/markets', '/v1/openapi.json', '/web/main.js', '/docs'])
      expect((await request(apps[0]!).get(path)).status, path).to.equal(404);
  });
});
