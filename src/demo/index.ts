/**
 * `npm run demo`: a short story on the running service. Three new wallets sign in, are funded, quote, trade, cancel and
 * withdraw, and a reconcile shows that no funds were lost or created.
 *
 * The wallets use HTTP like any client; operator steps (funding, reconcile) use the operator's commands. The demo can be
 * repeated: wallets are new each time, quotes stay out of reach of other orders, and none of its orders rests in the
 * book at the end.
 *
 * Uses: client, books, terminal, domain.
 * Begin at `script.ts` for the story, `live.ts` for the market that lives on.
 */

import { moveFundsOnce } from '../books/movements.ts';
import { reconcile } from '../books/reconcile/index.ts';
import { renderReconciliation } from '../books/reconcile/text.ts';
import type { Servers } from '../books/servers.ts';
import { type Order, openConnection } from '../client/index.ts';
import { Refusal } from '../domain/errors.ts';
import { formatScaled } from '../domain/units.ts';
import { COLOURED, PLAIN } from '../terminal/paint.ts';
import { COLUMNS, openScript, type StoryTeller } from './script.ts';
import { isRunning, tellNotRunning, withdrawAll } from './service.ts';
import { type Stage, setStage } from './stage.ts';
import { DemoStopped, makeTrader, type Trader } from './trader.ts';

interface DemoOptions {
  /** Address of the running service, like `http://localhost:8080`. */
  readonly baseUrl: string;
  /** A web host that a SIWE message may name. */
  readonly webHost: string;
  /** Used for operator steps; the caller closes them. */
  readonly services: Servers;
  readonly print: (line: string) => void;
  /** True when the lines may be coloured. */
  readonly colours?: boolean;
}

interface Cast {
  readonly ada: Trader;
  readonly ben: Trader;
  readonly cleo: Trader;
}

interface Play extends Cast {
  readonly stage: Stage;
  readonly script: StoryTeller;
  readonly options: DemoOptions;
  /** Atoms deposited, by wallet and asset. */
  readonly deposits: Map<string, bigint>;
}

const SETTLEMENT_PATIENCE_MS = 10_000;

/**
 * Tells the story.
 * @returns the exit status: 0 when the story was completed and everything holds
 */
export async function runDemo(options: DemoOptions): Promise<number> {
  const { baseUrl, print } = options;
  const paint = options.colours ? COLOURED : PLAIN;
  if (!(await isRunning(baseUrl))) return tellNotRunning(baseUrl, print);
  const connection = openConnection({ baseUrl });
  const [ada, ben, cleo] = ['Ada', 'Ben', 'Cleo'].map((name) => makeTrader(name, connection)) as [
    Trader,
    Trader,
    Trader,
  ];
  const cast = { ada, ben, cleo };
  try {
    const stage = await setStage(connection);
    const script = openScript(print, paint);
    const play: Play = { ...cast, stage, script, options, deposits: new Map() };
    print(`${paint('bold', 'Three wallets trade')} ${stage.market.symbol} at ${baseUrl}`);
    await signIn(play);
    await fund(play);
    await quote(play);
    await trade(play);
    await refuseAndRepeat(play);
    await cancel(play);
    await lookBack(play);
    await withdraw(play);
    return await balanceTheBooks(play);
  } catch (error) {
    if (!(error instanceof DemoStopped || error instanceof Refusal)) throw error;
    print('');
    print(paint('red', `The demo stops here: ${error.message}`));
    return 1;
  } finally {
    await tidyUp(cast, options.services);
  }
}

async function signIn({ ada, ben, cleo, script, options }: Play): Promise<void> {
  script.scene('Sign in: prove that you hold the key, send no password');
  for (const trader of [ada, ben]) {
    await trader.signInByTypedData();
    script.say(`${nameOf(trader)} ${trader.wallet} signs typed data (EIP-712)`);
  }
  await cleo.signInByMessage(options.webHost);
  script.say(`${nameOf(cleo)} ${cleo.wallet} signs a message (SIWE, EIP-4361)`);
  script.say('Each has a session of eight hours now.');
  const [version] = await Promise.all([ada, ben, cleo].map((trader) => trader.acceptTerms()));
  if (version !== null) script.say(`All three accept the terms, version ${version}.`);
}

async function fund(play: Play): Promise<void> {
  const { ada, ben, cleo, stage, script } = play;
  const { base, quote } = stage.market;
  script.scene('Deposits: an operator credits what arrived in custody');
  const deposits: [Trader, { symbol: string; scale: number }, bigint][] = [
    [ada, base, stage.baseAtoms(12n)],
    [ada, quote, stage.quoteAtoms(12n, 0n)],
    [ben, quote, stage.quoteAtoms(8n, 0n)],
    [cleo, base, stage.baseAtoms(8n)],
  ];
  for (const [{ name, wallet }, { symbol, scale }, amountAtoms] of deposits) {
    const reference = `demo ${wallet} ${symbol}`;
    const movement = { kind: 'credited', wallet, asset: symbol, amountAtoms, reference } as const;
    await moveFundsOnce(play.options.services, movement);
    play.deposits.set(`${wallet} ${symbol}`, amountAtoms);
    script.say(`${name.padEnd(4)} receives ${formatScaled(amountAtoms, scale)} ${symbol}`);
  }
}

async function quote({ ada, stage, script }: Play): Promise<void> {
  const { symbol } = stage.market;
  script.scene('Quote: resting orders reserve what they would pay');
  const ladder: string[][] = [];
  for (const level of [3n, 2n, 1n, -1n, -2n, -3n]) {
    const side = level > 0n ? 'sell' : 'buy';
    const size = stage.size(level === 1n || level === -1n ? 2n : 4n);
    const price = stage.price(level);
    const { order } = await ada.place({ market: symbol, side, type: 'limit', price, size, postOnly: true });
    ladder.push([side, price, size, order.status]);
  }
  script.say('Ada quotes three levels a side, post-only: she makes the market and pays no fee.');
  script.table(COLUMNS.ladder, ladder);
  script.gap();
  for (const { asset, total, reserved, available } of await ada.balances())
    script.say(`Of her ${total} ${asset}, ${reserved} are reserved and ${available} available.`);
}

async function trade({ ben, cleo, stage, script }: Play): Promise<void> {
  const { symbol, quote } = stage.market;
  script.scene('Trade: best price first, first come first, the taker pays the fee');
  const quoteAmount = stage.notional(4n, 0n);
  script.say(`Ben buys at market for at most ${quoteAmount} ${quote.symbol}.`);
  const market = symbol;
  const bought = await ben.place({ market, side: 'buy', type: 'market', quoteAmount });
  tellFills(script, bought.order);
  const price = stage.price(-1n);
  const size = stage.size(3n);
  script.say(`Cleo sells ${size} at ${price} or better.`);
  const sold = await cleo.place({ market, side: 'sell', type: 'limit', price, size });
  tellFills(script, sold.order);
}

async function refuseAndRepeat({ ada, ben, stage, script }: Play): Promise<void> {
  const market = stage.market.symbol;
  script.scene('Two safeguards: post-only, and an id that counts once');
  const price = stage.price(-1n);
  const size = stage.size(1n);
  const bid = { market, side: 'buy', type: 'limit', price, size } as const;
  const crossing = await ada.place({ ...bid, postOnly: true });
  const refused = `${crossing.order.status}, ${crossing.rejectCode}`;
  script.say(`Ada bids ${price} post-only, where an ask waits: ${refused}.`);
  const clientOrderId = `${ben.wallet}-1`;
  const order = { ...bid, timeInForce: 'IOC', clientOrderId } as const;
  const first = await ben.place(order);
  script.say('Ben takes that ask, and sends the same order again as if the reply had been lost.');
  tellFills(script, first.order);
  const again = await ben.place(order);
  const same = again.order.id === first.order.id ? 'the same order, not a second one' : 'ANOTHER ORDER';
  script.say(`  the second reply: ${same}`);
}

async function cancel({ ada, script }: Play): Promise<void> {
  script.scene('Cancel: one, then all');
  const live = await ada.orders('live');
  const { status } = await ada.cancel(live[0]!.id);
  script.say(`Ada cancels her order at ${live[0]!.price}: ${status}.`);
  const { count } = await ada.cancelAll();
  script.say(`Ada cancels all that is left: ${count} orders. Nothing is reserved any more.`);
}

async function lookBack(play: Play): Promise<void> {
  const { stage, script } = play;
  const { base, quote } = stage.market;
  const traders = [play.ada, play.ben, play.cleo];
  const names = new Map(traders.map(({ name, wallet }) => [wallet, name]));
  script.scene('What each of them sees now');
  const [orders, trades, balances] = await Promise.all([
    Promise.all(traders.map((trader) => trader.orders())),
    Promise.all(traders.map((trader) => trader.trades())),
    Promise.all(traders.map((trader) => trader.balances())),
  ]);
  script.say('Orders, as GET /v1/orders lists them, oldest first');
  script.table(
    COLUMNS.orders,
    traders.flatMap(({ name }, index) =>
      orders[index]!.toReversed().map((order) => [name, ...orderCells(order)]),
    ),
  );
  script.gap();
  script.say(`Fills, as GET /v1/trades lists them: two sides to each trade, fees in ${quote.symbol}`);
  script.table(
    COLUMNS.fills,
    traders
      .flatMap(({ name }, index) => trades[index]!.map((trade) => ({ name, ...trade })))
      .sort((one, other) => Number(one.id) - Number(other.id) || (one.role === 'taker' ? -1 : 1))
      .map((trade) => [
        trade.id,
        trade.name,
        trade.role,
        trade.side,
        String(trade.price),
        String(trade.size),
        String(trade.notional),
        String(trade.feeAmount),
        names.get(trade.counterparty) ?? trade.counterparty,
      ]),
  );
  script.gap();
  script.say('Balances, as GET /v1/portfolio shows them');
  script.table(
    COLUMNS.balances,
    traders.flatMap(({ name, wallet }, index) =>
      balances[index]!.map(({ asset, total, reserved, available }) => {
        const { scale } = asset === base.symbol ? base : quote;
        const deposited = formatScaled(play.deposits.get(`${wallet} ${asset}`) ?? 0n, scale);
        return [name, asset, deposited, String(total), String(reserved), String(available)];
      }),
    ),
  );
}

async function withdraw({ ada, ben, cleo, script, options }: Play): Promise<void> {
  script.scene('Withdrawals: everything goes home');
  for (const trader of [ada, ben, cleo]) {
    const withdrawn = await withdrawAll(trader, options.services);
    script.say(`${nameOf(trader)} withdraws ${withdrawn.join(' and ')}`);
  }
}

async function balanceTheBooks({ script, options }: Play): Promise<number> {
  script.scene('Reconcile: Redis and Postgres, recomputed and held against each other');
  const result = await reconcile(options.services, { patienceMs: SETTLEMENT_PATIENCE_MS });
  const paint = options.colours ? COLOURED : PLAIN;
  script.gap();
  script.block(renderReconciliation(result, paint));
  script.gap();
  return result.holds ? 0 : 1;
}

/** Cancels and withdraws everything, also when the story broke off. */
async function tidyUp({ ada, ben, cleo }: Cast, services: DemoOptions['services']): Promise<void> {
  for (const trader of [ada, ben, cleo].filter((one) => one.isSignedIn())) {
    await trader.cancelAll().catch(() => undefined);
    await withdrawAll(trader, services).catch(() => undefined);
  }
}

const nameOf = ({ name }: Trader): string => name.padEnd(4);

function tellFills(script: StoryTeller, order: Order): void {
  for (const { size, price, feeAmount, feeAsset } of order.fills)
    script.say(`  filled ${size} at ${price}, fee ${feeAmount} ${feeAsset}`);
  script.say(`  ${order.status}: ${order.filledSize} of ${order.size}`);
}

const orderCells = (order: Order): string[] => [
  order.side,
  `${order.type} ${order.timeInForce}${order.postOnly ? ' post-only' : ''}`,
  order.price === null ? '-' : String(order.price),
  String(order.size),
  String(order.filledSize),
  order.status,
];
