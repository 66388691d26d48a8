/** Tests operator commands that change markets, assets, orders and switches. */

import { expect } from 'chai';
import { type Desk, marketRules, openDesk, WALLET } from './fixture.ts';

describe('operator: markets, assets, orders, switches', () => {
  let desk: Desk;
  before(async () => {
    desk = await openDesk();
  });
  after(() => desk.close());

  it('publishes a market and lists it, for programs and for people', async () => {
    const record = await desk.ask('market', 'create', 'ETH/USDC', ...marketRules());
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
      selfTrade: 'expire_taker',
      referencePrice: null,
      networkId: '31337',
      tick: '0.01',
      step: '0.001',
      version: record.version,
      baseToken: 'ETH',
      quoteToken: 'USDC',
    });
    expect(await desk.ask('market', 'list')).to.deep.equal({ markets: [record] });
    const { stdout } = await desk.run('market', 'list');
    expect(stdout.split('\n')).to.deep.equal([
      'MARKET    STATUS  TRADING  SELLING  VISIBLE  TICK   STEP  MIN SIZE  MAX SIZE  FEE BPS  SELF-TRADE    REFERENCE  NETWORK',
      'ETH/USDC  active  on       on       on       0.01  0.001      0.01         -       10  expire_taker          -  31337',
      '',
    ]);
  });

  it('takes every option of a new market', async () => {
    const record = await desk.ask(
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

  it('refuses rules that cannot be exact, saying which to change', async () => {
    const inexact = ['market', 'create', 'BAD/USDC', ...marketRules({ 'size-step': '0.00000001' })];
    expect(await desk.refuse(...inexact)).to.equal('INVALID_MARKET');
    const { stderr } = await desk.run(...inexact);
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
    ['to clear an unknown market', 'MARKET_NOT_FOUND', 'clear', 'NO/SUCH'],
    ['to clear a market that trades', 'MARKET_NOT_HALTED', 'clear', 'ETH/USDC'],
  ] as const) {
    it(`refuses ${why}`, async () => {
      expect(await desk.refuse('market', ...argv)).to.equal(code);
    });
  }

  it('changes every rule that may change, for the next order', async () => {
    const { markets } = await desk.ask('market', 'list');
    const record = await desk.ask(
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
      selfTrade: 'expire_maker',
      referencePrice: '1999.99',
      status: 'pre_open',
    });
    expect(record.version).to.be.above(markets[0].version);
    const back = ['--trading-enabled', 'true', '--sell-enabled', 'true', '--visible', 'true'];
    await desk.ask('market', 'set', 'ETH/USDC', ...back, '--status', 'active', '--reference-price', 'null');
  });

  it('clears a halted market, and delists it only when it is empty', async () => {
    await desk.ask('account', 'credit', WALLET(1), 'USDC', '100000', '--reference', 'for clearing');
    const { order } = await desk.place({ wallet: WALLET(1), clientOrderId: 'mine' });
    await desk.place({ wallet: WALLET(1), price: '1999' });
    expect(await desk.refuse('market', 'set', 'ETH/USDC', '--status', 'delisted')).to.equal('BOOK_NOT_EMPTY');
    await desk.ask('market', 'set', 'ETH/USDC', '--status', 'halted');
    const cleared = await desk.ask('market', 'clear', 'ETH/USDC');
    expect(cleared).to.include({ market: 'ETH/USDC', count: 2 });
    expect(cleared.cancelled).to.deep.include({
      id: order.id,
      wallet: WALLET(1),
      market: 'ETH/USDC',
      clientOrderId: 'mine',
      status: 'cancelled',
      reason: 'market_cleared',
    });
    expect(await desk.ask('market', 'clear', 'ETH/USDC')).to.include({ count: 0 });
    await desk.ask('market', 'set', 'ETH/USDC', '--status', 'delisted');
    await desk.ask('market', 'set', 'ETH/USDC', '--status', 'active');
  });

  it('voids one live order', async () => {
    const { order } = await desk.place({ wallet: WALLET(1) });
    expect(await desk.ask('order', 'void', order.id)).to.include({ id: order.id, status: 'failed' });
    expect(await desk.refuse('order', 'void', order.id)).to.equal('ORDER_NOT_FOUND');
    expect(await desk.refuse('order', 'void', 'nonsense')).to.equal('ORDER_NOT_FOUND');
  });

  it('sets the scale of an asset before its first use, and not after', async () => {
    expect(await desk.ask('asset', 'set', 'GAS', '--scale', '3')).to.deep.equal({ symbol: 'GAS', scale: 3 });
    await desk.ask('asset', 'set', 'GAS', '--scale', '4');
    expect(await desk.refuse('asset', 'set', 'USDC', '--scale', '6')).to.equal('ASSET_IN_USE');
    expect(await desk.refuse('asset', 'set', 'GAS', '--scale', '10')).to.equal('INVALID_ASSET');
    expect(await desk.refuse('asset', 'set', 'gas', '--scale', '1')).to.equal('INVALID_ASSET');
  });

  it('pauses trading and resumes it', async () => {
    expect(await desk.ask('trading', 'pause')).to.deep.equal({ paused: true });
    await refuses('OPERATIONAL_PAUSED', () => desk.place({ wallet: WALLET(1) }));
    expect((await desk.ask('status')).engine).to.include({ paused: true });
    expect(await desk.ask('trading', 'resume')).to.deep.equal({ paused: false });
    await desk.place({ wallet: WALLET(1) });
  });

  it('requires terms and lets go of them', async () => {
    expect(await desk.ask('terms', 'require', '2026-01')).to.deep.equal({ requiredVersion: '2026-01' });
    await refuses('STALE_TERMS_VERSION', () => desk.place({ wallet: WALLET(1) }));
    await desk.engine.switches.acceptTerms(WALLET(1), '2026-01');
    expect((await desk.ask('account', 'show', WALLET(1))).terms).to.deep.equal({
      accepted: '2026-01',
      required: '2026-01',
    });
    expect(await desk.ask('terms', 'off')).to.deep.equal({ requiredVersion: null });
    await desk.place({ wallet: WALLET(1) });
  });
});

async function refuses(code: string, act: () => Promise<unknown>): Promise<void> {
  const error = await act().then(
    () => undefined,
    (thrown: Error & { code?: string }) => thrown,
  );
  expect(error?.code).to.equal(code);
}
