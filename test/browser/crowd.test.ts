/** Tests the page with a wallet that has the maximum number of live orders. */

import { parseDecimal } from '../../src/domain/units.ts';
import { bookState, readTable, showTab, signIn, untilRead } from './screen.ts';
import { type Stage, sharedStage } from './stage.ts';
import { browserTest } from './visit.ts';
import { createWallet } from './wallets.ts';

const SYMBOL = 'CROWD/USDC';
const ORDERS = 10_000;
const AT_ONCE = 250;
/** Orders that the page loads by itself, and those of one page. */
const LISTED = 1_000;
const PAGE = 100;

/** Places bids of one unit in concurrent calls, directly at the engine. */
async function placeMany(stage: Stage, wallet: string): Promise<void> {
  const rules = { timeInForce: 'GTC', postOnly: false, reduceOnly: false, leverage: null } as const;
  for (let placed = 0; placed < ORDERS; placed += AT_ONCE)
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_none, index) =>
        stage.engine.orders.place({
          wallet: wallet.toLowerCase(),
          request: {
            ...rules,
            market: SYMBOL,
            side: 'buy',
            type: 'limit',
            clientOrderId: null,
            size: parseDecimal('1')!,
            price: parseDecimal(`${1 + ((placed + index) % 200)}`)!,
          },
        }),
      ),
    );
}

describe('a wallet with 10,000 live orders', () => {
  let stage: Stage;
  const wallet = createWallet();
  before(async () => {
    stage = await sharedStage();
    await stage.market({ symbol: SYMBOL }, { CROWD: 8, USDC: 6 });
    await stage.credit(wallet.addresses[0]!, { USDC: '10000000' });
    await placeMany(stage, wallet.addresses[0]!);
    // Lists are refused while more than 10,000 events of a wallet are not in Postgres.
    await stage.settled();
  });

  browserTest('sees its newest 1,000, loads more, and learns what the others reserve', async (open) => {
    const { page } = await open(`${stage.url}/trade/CROWD_USDC`, { wallets: [wallet] });
    await bookState(page, 'live').waitFor();
    await signIn(page, wallet);
    await showTab(page, 'Open orders');
    const rowsOf = async (): Promise<number> => (await readTable(page, 'Open orders')).rows.length;
    await untilRead(rowsOf, (count) => count === LISTED, 60_000);
    await page.getByRole('tab', { name: `Open orders ${LISTED}+` }).waitFor();
    // 10,000 bids at 1 to 200. Five at each price are listed: the others reserve 45 times 20,100.
    await page.getByText(/reserve 904500\sUSDC/).waitFor();
    await page.getByRole('button', { name: 'Load more' }).click();
    await untilRead(rowsOf, (count) => count === LISTED + PAGE);
  });
});
