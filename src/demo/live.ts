/**
 * `npm run demo -- --live`: a few wallets quote around prices that walk at random, and trade until the demo is stopped.
 * Then they cancel their orders and withdraw what is left.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { moveFundsOnce } from '../books/movements.ts';
import type { Servers } from '../books/servers.ts';
import { openConnection } from '../client/index.ts';
import { Refusal } from '../domain/errors.ts';
import { type Desk, openDesk, type Wallets } from './live-desk.ts';
import { findLiveMarkets, type LiveMarket } from './live-market.ts';
import { type Random, random } from './random.ts';
import { isRunning, tellNotRunning, withdrawAll } from './service.ts';
import { DemoStopped, makeTrader, type Trader } from './trader.ts';

export interface LiveOptions {
  /** Address of the running service, like `http://localhost:8080`. */
  readonly baseUrl: string;
  /** Used for operator steps; the caller closes them. */
  readonly services: Servers;
  readonly print: (line: string) => void;
  /** Ends the demo when it is aborted. */
  readonly signal: AbortSignal;
  /** Seed of the walk. The same seed makes the same walk from the same price. */
  readonly seed: number;
  /** Symbol of the only market to trade on; otherwise the first few. */
  readonly market?: string | undefined;
  /** Average milliseconds between two turns on a market. */
  readonly turnMs?: number;
}

const MAKERS = 2;
const TAKERS = 3;
const MAX_MARKETS = 3;
const TURN_MS = 1_000;
const TOLD_EVERY_MS = 10_000;
const FIRST_BACK_OFF_MS = 500;
const MAX_BACK_OFF_MS = 10_000;
/** Number of orders of the least size that each wallet can pay with its initial funds, on either side. */
const FUNDED_ORDERS = 500n;
/** Dead-man timeout, which cancels the quotes of a demo that was killed; each turn renews it. */
const DEAD_MAN_MS = 60_000;
const RENEWED_EVERY_MS = 20_000;

/**
 * Trades until the signal.
 * @returns the exit status: 0 when the demo ended in order
 */
export async function runLive(options: LiveOptions): Promise<number> {
  const { baseUrl, print, services, signal, seed } = options;
  if (!(await isRunning(baseUrl))) return tellNotRunning(baseUrl, print);
  const connection = openConnection({ baseUrl });
  const wallets: Wallets = {
    makers: Array.from({ length: MAKERS }, (_, at) => makeTrader(`maker ${at + 1}`, connection)),
    takers: Array.from({ length: TAKERS }, (_, at) => makeTrader(`taker ${at + 1}`, connection)),
  };
  const all = [...wallets.makers, ...wallets.takers];
  // A turn that waits for a lost answer ends later.
  signal.addEventListener('abort', () => print('Stopping …'));
  try {
    const markets = await findLiveMarkets(connection, options.market, MAX_MARKETS);
    for (const trader of all) await prepare(trader, markets, services);
    const desks = markets.map((live, at) => openDesk(live, wallets, seed + at));
    const symbols = markets.map(({ market }) => market.symbol).join(' and ');
    print(`${all.length} wallets trade ${symbols} at ${baseUrl} until Ctrl-C.`);
    print(`The seed is ${seed}: --seed ${seed} repeats the walk of the prices.`);
    await Promise.all([
      ...desks.map((desk, at) => keepTrading(desk, wallets, random(seed - at - 1), options)),
      keepTelling(desks, options),
    ]);
  } catch (error) {
    if (!(error instanceof DemoStopped || error instanceof Refusal)) throw error;
    print(`The demo stops here: ${error.message}`);
    await leave(all, services, () => undefined);
    return 1;
  }
  return leave(all, services, print);
}

/** Signs in, accepts the terms and takes funds. */
async function prepare(trader: Trader, markets: readonly LiveMarket[], services: Servers): Promise<void> {
  await trader.signInByTypedData();
  await trader.acceptTerms();
  for (const { market, minOrderSteps, startTicks } of markets) {
    const steps = minOrderSteps * FUNDED_ORDERS;
    const funds = [
      [market.base, steps * market.baseAtomsPerStep],
      [market.quote, steps * startTicks * market.quoteAtomsPerLot],
    ] as const;
    for (const [{ symbol: asset }, amountAtoms] of funds) {
      const reference = `demo ${trader.wallet} ${market.symbol} ${asset}`;
      const movement = { kind: 'credited', wallet: trader.wallet, asset, amountAtoms, reference } as const;
      await moveFundsOnce(services, movement);
    }
  }
}

/** Runs turn after turn, with growing pauses while the service refuses or is unavailable. */
async function keepTrading(
  desk: Desk,
  { makers }: Wallets,
  pauses: Random,
  { signal, print, turnMs = TURN_MS }: LiveOptions,
): Promise<void> {
  const { symbol } = desk.live.market;
  let failures = 0;
  let told = '';
  let renewedMs = 0;
  while (!signal.aborted) {
    let pauseMs = turnMs * (0.7 + 0.006 * pauses.below(100));
    try {
      if (Date.now() - renewedMs > RENEWED_EVERY_MS) {
        for (const maker of makers) await maker.cancelAfter(DEAD_MAN_MS);
        renewedMs = Date.now();
      }
      await desk.turn();
      if (failures > 0) print(`${symbol}: trading goes on.`);
      [failures, told] = [0, ''];
    } catch (error) {
      if (!(error instanceof DemoStopped)) throw error;
      if (signal.aborted) return;
      if (error.message !== told) print(`${symbol}: ${error.message}. The demo tries again.`);
      told = error.message;
      failures += 1;
      const backOffMs = Math.min(FIRST_BACK_OFF_MS * 2 ** (failures - 1), MAX_BACK_OFF_MS);
      pauseMs = backOffMs * (0.5 + 0.005 * pauses.below(100));
    }
    await pause(pauseMs, signal);
  }
}

async function keepTelling(desks: readonly Desk[], { signal, print }: LiveOptions): Promise<void> {
  while (!signal.aborted) {
    await pause(TOLD_EVERY_MS, signal);
    if (signal.aborted) return;
    const time = new Date().toISOString().slice(11, 19);
    const told = desks.map((desk) => `${desk.live.market.symbol} ${desk.price()} (${desk.trades()} trades)`);
    print(`${time}  ${told.join('   ')}`);
  }
}

const pause = (durationMs: number, signal: AbortSignal): Promise<void> =>
  sleep(durationMs, undefined, { signal }).catch(() => undefined);

/** Cancels every order and withdraws every balance. @returns the exit status */
async function leave(
  traders: readonly Trader[],
  services: Servers,
  print: (line: string) => void,
): Promise<number> {
  const signedIn = traders.filter((one) => one.isSignedIn());
  let cancelled = 0;
  try {
    for (const trader of signedIn) cancelled += (await trader.cancelAll()).count;
    for (const trader of signedIn) await withdrawAll(trader, services);
    print(`${cancelled} orders are cancelled, and the funds of the wallets are withdrawn.`);
    return 0;
  } catch (error) {
    if (!(error instanceof DemoStopped || error instanceof Refusal)) throw error;
    print(`Not everything could be cancelled and withdrawn: ${error.message}.`);
    print(`The orders that are left are cancelled ${DEAD_MAN_MS / 1000} s after the last turn.`);
    return 1;
  }
}
