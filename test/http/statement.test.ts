/** Tests `GET /v1/statement`: exact amounts, pages in both formats, bounds and refusals. */

import { expect } from 'chai';
import { CURSOR_LENGTH } from '../../src/contract/cursor.ts';
import { writeSummedPlace } from '../../src/contract/list-cursor.ts';
import { type Fixture, openFixture, type Trader } from './fixture.ts';

type Line = Record<string, unknown> & { asset: string; amount: number; kind: string };

describe('GET /v1/statement', () => {
  let fixture: Fixture;
  let alice: Trader;
  let bob: Trader;

  before(async () => {
    fixture = await openFixture();
    [alice, bob] = await Promise.all([
      fixture.trader({ USDC: '1000000', ETH: '1000' }),
      fixture.trader({ USDC: '1000000', ETH: '1000' }),
    ]);
    for (let count = 0; count < 130; count += 1) {
      await alice.order({ side: 'sell', price: 2000, size: 0.01 });
      await bob.order({ side: 'buy', price: 2000, size: 0.01 });
    }
    await fixture.settle();
  });

  after(() => fixture.close());

  const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
  const FROM = day(-1);
  const TO = day(1);
  const statement = (trader: Trader, query: Record<string, string> = {}) =>
    trader.get(`/v1/statement?${new URLSearchParams({ from: FROM, to: TO, ...query })}`);

  it('has a line for each change, and the lines sum to the closing balances', async () => {
    const { status, body } = await statement(bob);
    expect(status).to.equal(200);
    expect(body).to.include({ wallet: bob.wallet, from: FROM, to: TO, nextCursor: null });
    expect(body.opening).to.deep.equal([]);
    const lines = body.lines as Line[];
    expect(lines.filter(({ kind }) => kind === 'trade')).to.have.length(260);
    const sums = new Map<string, number>();
    for (const { asset, amount } of lines) sums.set(asset, (sums.get(asset) ?? 0) + Math.round(amount * 1e6));
    expect([...sums].sort()).to.deep.equal(
      body.closing.map(({ asset, amount }: Line) => [asset, Math.round(amount * 1e6)]),
    );
    const [base, quote, fee] = lines.slice(-3) as [Line, Line, Line];
    expect(base).to.include({ kind: 'trade', side: 'buy', role: 'taker', price: 2000, size: 0.01 });
    expect(base).to.include({
      asset: 'ETH',
      amount: 0.01,
      counterAsset: 'USDC',
      counterAmount: -20,
      feeBps: 10,
    });
    expect(quote).to.include({
      asset: 'USDC',
      amount: -20,
      counterAsset: 'ETH',
      counterAmount: 0.01,
      fee: null,
    });
    expect(fee).to.include({ kind: 'fee', asset: 'USDC', amount: -(base.fee as number), feeBps: 10 });
    const [made] = ((await statement(alice)).body.lines as Line[]).filter(({ role }) => role === 'maker');
    expect(made).to.include({ fee: 0, feeBps: 0 });
  });

  it('comes in pages that join to one file in CSV', async () => {
    await alice.order({ side: 'buy', price: 1, size: 1 });
    for (let count = 0; count < 130; count += 1) await fixture.credit(alice.wallet, { USDC: '0.01' });
    await fixture.settle();
    const first = await statement(alice);
    expect(first.body.nextCursor).to.be.a('string');
    expect(first.body.closing).to.equal(null);
    const second = await statement(alice, { cursor: first.body.nextCursor });
    expect(second.body).to.deep.include({ opening: null, nextCursor: null });
    expect(second.body.lines.length + first.body.lines.length).to.equal(2 + 260 + 130);

    const page = await statement(alice, { format: 'csv' });
    expect(page.headers['content-type']).to.match(/^text\/csv/);
    const [, next] = /^<(.+)>; rel="next"$/.exec(page.headers.link as string) ?? [];
    const last = await alice.get(next!);
    expect(last.headers.link).to.equal(undefined);
    const rows = `${page.text}${last.text}`.trimEnd().split('\n');
    expect(rows[0]).to.match(/^time,kind,asset,amount,market,/);
    expect(rows[1]).to.match(new RegExp(`^${FROM},statement,,.*,${alice.wallet},${FROM},${TO}$`));
    expect(rows).to.have.length(2 + 392 + 2);
    expect(rows.at(-1)).to.match(/,closing,USDC,/);
  });

  it('comes as a file with its name, for the programs that import it', async () => {
    const span = { from: '2026-01-01', to: '2026-02-01T00:00:00.000Z' };
    for (const [format, begins, file] of [
      ['csv', /^time,kind,/, 'statement-WALLET-2026-01-01-2026-02-01.csv'],
      ['koinly', /^Date,Sent Amount,/, 'statement-koinly-WALLET-2026-01-01-2026-02-01.csv'],
      ['cointracking', /^Type,Buy Amount,/, 'statement-cointracking-WALLET-2026-01-01-2026-02-01.csv'],
      ['hledger', /^; Statement of 0x/, 'statement-hledger-WALLET-2026-01-01-2026-02-01.journal'],
    ] as const) {
      const { headers, text } = await statement(bob, { ...span, format });
      expect(text).to.match(begins);
      expect(headers['content-disposition']).to.equal(
        `attachment; filename="${file.replace('WALLET', bob.wallet)}"`,
      );
    }
    const marked = await statement(bob, { ...span, format: 'csv', bom: 'true' });
    expect(marked.text).to.match(/^\ufefftime,/);
    expect((await statement(bob, span)).headers).not.to.have.property('content-disposition');
  });

  it('comes in pages that join to one file in every format', async () => {
    const from = day(-2);
    for (const [format, first, count] of [
      ['koinly', /^Date,/gm, 262],
      ['hledger', /^; Statement/gm, 262 + 1],
    ] as const) {
      const pages = [await statement(alice, { from, format, bom: 'true' })];
      for (let next: string | undefined; ; ) {
        next = /^<(.+)>; rel="next"$/.exec(String(pages.at(-1)!.headers.link))?.[1];
        if (next === undefined) break;
        expect(next).to.include(`format=${format}`);
        pages.push(await alice.get(next));
      }
      expect(pages.length).to.be.greaterThan(1);
      const whole = pages.map(({ text }) => text).join('');
      expect([...whole.replace(/^\ufeff/, '').matchAll(first)]).to.have.length(1);
      expect([...whole.matchAll(/^\d{4}-\d\d-\d\d /gm)].length).to.equal(count);
      expect(whole.lastIndexOf('\ufeff')).to.equal(format === 'koinly' ? 0 : -1);
    }
  });

  it('covers the own wallet and the given span only', async () => {
    const other = await fixture.trader();
    expect((await statement(other)).body).to.deep.include({ opening: [], lines: [], closing: [] });
    const past = await statement(bob, { from: '2026-01-01', to: '2026-02-01' });
    expect(past.body).to.deep.include({
      from: '2026-01-01T00:00:00.000Z',
      opening: [],
      lines: [],
      closing: [],
    });
    const later = await statement(bob, { from: day(1), to: day(2) });
    expect(later.body.opening).to.deep.equal(later.body.closing);
    expect(later.body.opening).to.have.length(2);
  });

  it('shows what a made-up cursor carries to its maker alone, and no asset that does not exist', async () => {
    const [from, to] = [FROM, TO].map((time) => `${Date.parse(time)}`);
    const scope = { list: 'statement', wallet: bob.wallet, from, to, order: 'asc' };
    const sums = new Map([
      ['NONE', 5n],
      ['ETH', -(10n ** 29n)],
    ]);
    for (const numbers of [
      [0, 0, 0],
      [0, 0, 1],
      [1, 0, 9],
      [Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER - 1, 1],
    ]) {
      const { status, body } = await statement(bob, { cursor: writeSummedPlace(scope, numbers, sums) });
      expect(status).to.equal(200);
      const shown = [...(body.opening ?? []), ...(body.closing ?? [])].map(({ asset }: Line) => asset);
      expect(shown).to.not.include('NONE');
    }
    const none = writeSummedPlace(scope, [Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER - 1, 0], null);
    expect((await statement(bob, { cursor: none })).body.closing).to.deep.equal([]);
  });

  it('rejects an invalid span or cursor', async () => {
    const { body } = await statement(alice);
    for (const [query, message] of [
      [{ from: 'yesterday' }, /^from: must be a time/],
      [{ from: '2026-02-31' }, /^from: must be a time/],
      [{ from: '2026-01-01T00:00:00' }, /^from: must be a time/],
      [{ to: day(-2) }, /^to: must not be before from$/],
      [{ from: '2026-01-01', to: '2026-02-01T02:00:00.001Z' }, /^to: must be at most 31 days after from$/],
      [{ from: '2026-01-01', to: '2026-02-02' }, /^to: must be at most 31 days after from$/],
      [{ format: 'pdf' }, /^format: /],
      [{ format: 'csv', bom: 'yes' }, /^bom: /],
      [{ cursor: 'A'.repeat(CURSOR_LENGTH) }, /^cursor: must be a cursor of this list/],
      [{ from: day(-2), cursor: body.nextCursor }, /^cursor: must be a cursor of this list/],
    ] as const) {
      const refused = await statement(alice, query as Record<string, string>);
      expect(refused.status).to.equal(400);
      expect(refused.body.code).to.equal('VALIDATION_ERROR');
      expect(refused.body.error).to.match(message);
    }
    const foreign = await statement(bob, { cursor: body.nextCursor });
    expect(foreign.body.code).to.equal('VALIDATION_ERROR');
  });
});
