/** Tests operator commands that change markets, assets, orders and switches. */

import { expect } from 'chai';
import { marketRules, type OperatorFixture, openOperatorFixture, WALLET } from './fixture.ts';

describe('operator: markets, assets, orders, switches', () => {
  let fixture: OperatorFixture;
  before(async () => {
    fixture = await openOperatorFixture();
  });
  after(() => fixture.close());

  it('publishes a market and lists it, for programs and for people', async () => {
    const record = await fixture.ask('market', 'create', 'ETH/USDC', ...marketRules());
    expect(record).to.deep.equal({
      symbol: 'ETH/USDC',
      status: 'active',
      tradingEnabled: true,
      sellEnabled: true,
      visible: true,
      feeBps: 10,
      tickSize: '0.01',
      sizeStep: '0.001',
      minOrderSize: '0.01',
      maxOrderSize: null,
      minNotional: null,
      selfTrade: 'expire_taker',
      referencePrice: null,
      networkId: '31337',
      tick: '0.01',
      step: '0.001',
      version: record.version,
      baseToken: 'ETH',
      quoteToken: 'USDC',
    });
    expect(await fixture.ask('market', 'list')).to.deep.equal({ markets: [record] });
    const { stdout } = await fixture.run('market', 'list');
    expect(stdout.split('\n')).to.deep.equal([
      'MARKET    STATUS  TRADING  SELLING  VISIBLE  TICK   STEP  MIN SIZE  MAX SIZE  MIN VALUE  FEE BPS  SELF-TRADE    REFERENCE  NETWORK',
      'ETH/USDC  active  on       on       on       0.01  0.001      0.01         -          -       10  expire_taker          -  31337',
      '',
    ]);
  });

  it('accepts every option of a new market', async () => {
    const record = await fixture.ask(
      'market',
      'create',
      'NEW/USDC',
      ...marketRules({ 'tick-size': 'null', 'fee-bps': '0' }),
      '--status',
      'pre_open',
      '--sell-disabled',
      '--hidden',
      '--self-trade',
      'expire_both',
      '--reference-price',
      '12.50',
      '--network-id',
      '5',
      '--max-order-size',
      '1e3',
    );
    expect(record).to.include({
      status: 'pre_open',
      sellEnabled: false,
      visible: false,
      tickSize: null,
      tick: '0.00001',
      feeBps: 0,
      selfTrade: 'expire_both',
      referencePrice: '12.5',
      networkId: '5',
      maxOrderSize: '1000',
    });
  });

  it('rejects rules that cannot be exact, and says which to change', async () => {
    const inexact = ['market', 'create', 'BAD/USDC', ...marketRules({ 'size-step': '0.00000001' })];
    expect(await fixture.refuse(...inexact)).to.equal('INVALID_MARKET');
    const { stderr } = await fixture.run(...inexact);
    expect(stderr).to.match(
      /^INVALID_MARKET: .*change tickSize to a multiple of .* or sizeStep to a multiple of /,
    );
  });

  for (const [why, code, ...argv] of [
    ['a market that exists', 'MARKET_EXISTS', 'create', 'ETH/USDC', ...marketRules()],
    ['a symbol in lower case', 'INVALID_MARKET', 'create', 'eth/usdc', ...marketRules()],
    ['a fee above 1000 bps', 'INVALID_MARKET', 'create', 'X/USDC', ...marketRules({ 'fee-bps': '1001' })],
    ['a negative fee', 'INVALID_MARKET', 'create', 'X/USDC', ...marketRules({ 'fee-bps': '-1' })],
    ['a tick of 0', 'INVALID_MARKET', 'create', 'X/USDC', ...marketRules({ 'tick-size': '0' })],
    ['min above max', 'INVALID_MARKET', 'set', 'ETH/USDC', '--max-order-size', '0.001'],
    ['an unknown market', 'MARKET_NOT_FOUND', 'set', 'NO/SUCH', '--fee-bps', '1'],
    ['to clear an unknown market', 'MARKET_NOT_FOUND', 'clear', 'NO/SUCH', '--reason', 'a test'],
    ['to clear a market that trades', 'MARKET_NOT_HALTED', 'clear', 'ETH/USDC', '--reason', 'a test'],
  ] as const) {
    it(`rejects ${why}`, async () => {
      expect(await fixture.refuse('market', ...argv)).to.equal(code);
    });
  }

  it('changes every rule that may change, with effect on the next order', async () => {
    const { markets } = await fixture.ask('market', 'list');
    const record = await fixture.ask(
      'market',
      'set',
      'ETH/USDC',
      '--trading-enabled',
      'false',
      '--sell-enabled',
      'false',
      '--visible',
      'false',
      '--fee-bps',
      '7',
      '--min-order-size',
      'null',
      '--max-order-size',
      '500',
      '--min-notional',
      '5.50',
      '--self-trade',
      'expire_maker',
      '--reference-price',
      '1999.99',
      '--status',
      'pre_open',
    );
    expect(record).to.include({
      tradingEnabled: false,
      sellEnabled: false,
      visible: false,
      feeBps: 7,
      minOrderSize: null,
      maxOrderSize: '500',
      minNotional: '5.5',
      selfTrade: 'expire_maker',
      referencePrice: '1999.99',
      status: 'pre_open',
    });
    expect(record.version).to.be.above(markets[0].version);
    const back = ['--trading-enabled', 'true', '--sell-enabled', 'true', '--visible', 'true'];
    await fixture.ask(
      'market',
      'set',
      'ETH/USDC',
      ...back,
      '--status',
      'active',
      '--reference-price',
      'null',
    );
  });

  it('clears a halted market, and delists it only when it is empty', async () => {
    await fixture.ask('account', 'credit', WALLET(1), 'USDC', '100000', '--reference', 'for clearing');
    const { order } = await fixture.place({ wallet: WALLET(1), clientOrderId: 'mine' });
    await fixture.place({ wallet: WALLET(1), price: '1999' });
    expect(await fixture.refuse('market', 'set', 'ETH/USDC', '--status', 'delisted')).to.equal(
      'BOOK_NOT_EMPTY',
    );
    await fixture.ask('market', 'set', 'ETH/USDC', '--status', 'halted');
    const cleared = await fixture.ask('market', 'clear', 'ETH/USDC', '--reason', 'a test');
    expect(cleared).to.include({ market: 'ETH/USDC', count: 2 });
    expect(cleared.cancelled).to.deep.include({
      id: order.id,
      wallet: WALLET(1),
      market: 'ETH/USDC',
      clientOrderId: 'mine',
      status: 'cancelled',
      reason: 'market_cleared',
    });
    expect(await fixture.ask('market', 'clear', 'ETH/USDC', '--reason', 'a test')).to.include({ count: 0 });
    await fixture.ask('market', 'set', 'ETH/USDC', '--status', 'delisted');
    await fixture.ask('market', 'set', 'ETH/USDC', '--status', 'active');
  });

  it('voids one live order', async () => {
    const { order } = await fixture.place({ wallet: WALLET(1) });
    expect(await fixture.ask('order', 'void', order.id, '--reason', 'a test')).to.include({
      id: order.id,
      status: 'failed',
    });
    expect(await fixture.refuse('order', 'void', order.id, '--reason', 'a test')).to.equal('ORDER_NOT_FOUND');
    expect(await fixture.refuse('order', 'void', 'nonsense', '--reason', 'a test')).to.equal(
      'ORDER_NOT_FOUND',
    );
  });

  it('describes an asset for aggregators, part by part', async () => {
    const described = ['--name', 'Gas', '--ucid', '7', '--can-deposit', 'true', '--min-withdraw', '0.50'];
    await fixture.ask('asset', 'set', 'FUEL', '--scale', '3');
    expect(await fixture.ask('asset', 'set', 'FUEL', ...described)).to.deep.equal({
      symbol: 'FUEL',
      scale: 3,
      name: 'Gas',
      ucid: '7',
      canDeposit: true,
      minWithdraw: '0.5',
    });
    expect(await fixture.refuse('asset', 'set', 'FUEL', '--ucid', 'seven')).to.equal('INVALID_ASSET');
    expect(await fixture.refuse('asset', 'set', 'NONE', '--name', 'None')).to.equal('UNKNOWN_ASSET');
  });

  it('sets the scale of an asset before its first use, and not after', async () => {
    expect(await fixture.ask('asset', 'set', 'GAS', '--scale', '3')).to.deep.equal({
      symbol: 'GAS',
      scale: 3,
    });
    await fixture.ask('asset', 'set', 'GAS', '--scale', '4');
    expect(await fixture.refuse('asset', 'set', 'USDC', '--scale', '6')).to.equal('ASSET_IN_USE');
    expect(await fixture.refuse('asset', 'set', 'GAS', '--scale', '10')).to.equal('INVALID_ASSET');
    expect(await fixture.refuse('asset', 'set', 'gas', '--scale', '1')).to.equal('INVALID_ASSET');
  });

  it('pauses trading and resumes it', async () => {
    expect(await fixture.ask('trading', 'pause', '--reason', 'a test')).to.deep.equal({ paused: true });
    await refuses('OPERATIONAL_PAUSED', () => fixture.place({ wallet: WALLET(1) }));
    expect((await fixture.ask('status')).engine).to.include({ paused: true });
    expect(await fixture.ask('trading', 'resume', '--reason', 'a test')).to.deep.equal({ paused: false });
    await fixture.place({ wallet: WALLET(1) });
  });

  it('requires terms, and ends the requirement', async () => {
    expect(await fixture.ask('terms', 'require', '2026-01')).to.deep.equal({ requiredVersion: '2026-01' });
    await refuses('STALE_TERMS_VERSION', () => fixture.place({ wallet: WALLET(1) }));
    await fixture.engine.switches.acceptTerms(WALLET(1), '2026-01');
    expect((await fixture.ask('account', 'show', WALLET(1))).terms).to.deep.equal({
      accepted: '2026-01',
      required: '2026-01',
    });
    expect(await fixture.ask('terms', 'off')).to.deep.equal({ requiredVersion: null });
    await fixture.place({ wallet: WALLET(1) });
  });
});

async function refuses(code: string, act: () => Promise<unknown>): Promise<void> {
  const error = await act().then(
    () => undefined,
    (thrown: Error & { code?: string }) => thrown,
  );
  expect(error?.code).to.equal(code);
}
