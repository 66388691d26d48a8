/** Tests the packed client in Chromium: signs in by an injected wallet, watches a market, trades and cancels. */

import { join } from 'node:path';
import { expect } from 'chai';
import { build } from 'esbuild';
import { type PackedClient, packClient } from '../client/packed.ts';
import { sharedStage } from './stage.ts';
import { browserTest } from './visit.ts';
import { createWallet } from './wallets.ts';

/** Uses the package as a third-party page would. */
const TRADE = `
import { cancel, getPortfolio, openConnection, place, signIn, walletTypedData, watchMarket } from 'redbook-client';

const provider = await new Promise((resolve) => {
  addEventListener('eip6963:announceProvider', ({ detail }) => resolve(detail.provider));
  dispatchEvent(new Event('eip6963:requestProvider'));
});
const connection = openConnection({ baseUrl: location.origin });
const [address] = await provider.request({ method: 'eth_requestAccounts' });
const session = await signIn(connection, {
  address,
  prompts: true,
  signTypedData: (typedData) =>
    provider.request({ method: 'eth_signTypedData_v4', params: [address, walletTypedData(typedData)] }),
});
const placed = await place(session, {
  market: 'PACK/PQ', side: 'buy', type: 'limit', price: '1000000000.01', size: '0.0000001',
});
const bids = await new Promise((resolve) => {
  const watch = watchMarket(connection, { symbol: 'PACK/PQ' }, {
    onFrame({ book }) {
      if (book.bids.length === 0) return;
      watch.close();
      resolve(book.bids);
    },
  });
});
const { status } = await cancel(session, placed.order.id);
const { balances } = await getPortfolio(session);
globalThis.packedTrade({ wallet: session.wallet, outcome: placed.outcome, bids, status, balances });
`;

describe('the packed client in a browser', () => {
  let packed: PackedClient;
  before(async () => {
    packed = await packClient();
  });
  after(() => packed.remove());

  browserTest('signs in, watches, trades and cancels', async (open) => {
    const stage = await sharedStage();
    const rules = { symbol: 'PACK/PQ', tickSize: '0.01', sizeStep: '0.0000001' };
    await stage.market(rules, { PACK: 9, PQ: 9 });
    const wallet = createWallet();
    await stage.credit(wallet.addresses[0]!, { PQ: '200' });
    packed.write('trade.js', TRADE);
    const { outputFiles } = await build({
      entryPoints: [join(packed.folder, 'trade.js')],
      bundle: true,
      format: 'esm',
      write: false,
      platform: 'browser',
      target: 'es2022',
    });
    const { page } = await open(stage.url, { wallets: [wallet] });
    const code = outputFiles[0]!.text;
    const traded = await page.evaluate(
      `new Promise((resolve, reject) => { globalThis.packedTrade = resolve; (async () => { ${code} })().catch(reject); })`,
    );
    const balance = { asset: 'PQ', total: '200', reserved: '0', available: '200', amount: '200' };
    expect(traded).to.deep.equal({
      wallet: wallet.addresses[0]!.toLowerCase(),
      outcome: 'placed',
      status: 'cancelled',
      bids: [{ price: '1000000000.01', size: '0.0000001' }],
      balances: [balance],
    });
  });
});
