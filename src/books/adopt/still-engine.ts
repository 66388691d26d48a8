/** Reads the engine as of one event. Nothing may change meanwhile. */

import { OperatorRefusal } from '../../domain/errors.ts';
import type { Market } from '../../domain/market.ts';
import { readMarketRecord } from '../../domain/market-record.ts';
import { readTake, type Take } from '../../domain/withdrawal-states.ts';
import {
  type Engine,
  type EngineHash,
  type LiveMember,
  readBookMember,
  readLiveMember,
} from '../../engine/index.ts';
import { CUSTODY, HOUSE, receivableOf, WITHDRAWALS } from '../../ledger/index.ts';
import { AccountSums } from './tail.ts';

/** A live order as the engine knows it. */
interface HeldOrder {
  readonly id: string;
  readonly wallet: string;
  readonly market: string;
  readonly sizeSteps: bigint;
  readonly remainingSteps: bigint;
  readonly clientOrderId: string | null;
}

export interface HeldState {
  /** The last event of the engine. */
  readonly sequence: number;
  readonly timeMs: number;
  readonly lastTradeId: number;
  readonly paused: boolean;
  readonly termsVersion: string | null;
  readonly holds: ReadonlySet<string>;
  /** Takes of withdrawals by reference. */
  readonly takes: ReadonlyMap<string, Take>;
  /** Version that each wallet accepted last. */
  readonly acceptedTerms: ReadonlyMap<string, string>;
  /** Scales by symbol. */
  readonly assets: ReadonlyMap<string, number>;
  readonly markets: ReadonlyMap<string, Market>;
  /** Prices of the last trades in ticks, by market. */
  readonly lastPrices: ReadonlyMap<string, bigint>;
  readonly orders: ReadonlyMap<string, HeldOrder>;
  /** Atoms of each account, those of custody and receivables included. */
  readonly balances: AccountSums;
}

const HOLD = 'hold of ';
const TAKE = 'taken withdrawal ';
const TERMS = 'terms of ';
const LAST_PRICE = 'last price of market ';
const OWED_FIELD = /^owed by (0x[0-9a-f]{40})$/;
const WALLET_FIELD = /^(?:available to|reserved by) (0x[0-9a-f]{40})$/;

class StillReader {
  readonly #engine: Engine;
  readonly #sequence: number;

  constructor(engine: Engine, sequence: number) {
    this.#engine = engine;
    this.#sequence = sequence;
  }

  /** @throws OperatorRefusal ENGINE_BUSY */
  check(sequence: number): void {
    if (sequence !== this.#sequence)
      throw new OperatorRefusal(
        'ENGINE_BUSY',
        'the engine changed meanwhile, and nothing was done: stop all processes but its Redis, and run the command again',
      );
  }

  /** Returns the fields of a hash. */
  async fields(hash: EngineHash): Promise<Map<string, string>> {
    const fields = new Map<string, string>();
    let cursor: string | null = null;
    do {
      const page = await this.#engine.pages.scanFields(hash, cursor);
      this.check(page.sequence);
      for (const [name, value] of page.fields) fields.set(name, value.toString());
      cursor = page.next;
    } while (cursor !== null);
    return fields;
  }

  /** Yields the members of a book or of the live orders. */
  async *members(
    scan: (after: Buffer | null) => ReturnType<Engine['pages']['scanLive']>,
  ): AsyncGenerator<Buffer> {
    let after: Buffer | null = null;
    for (let isLast = false; !isLast; ) {
      const page = await scan(after);
      this.check(page.sequence);
      yield* page.members;
      after = page.members.at(-1) ?? null;
      isLast = page.isLast;
    }
  }
}

async function readOrders(
  { pages }: Engine,
  still: StillReader,
  markets: ReadonlyMap<string, Market>,
): Promise<Map<string, HeldOrder>> {
  const listed = new Map<string, LiveMember>();
  for await (const member of still.members((after) => pages.scanLive(after))) {
    const live = readLiveMember(member);
    listed.set(live.id, live);
  }
  const orders = new Map<string, HeldOrder>();
  for (const { symbol: market, number } of markets.values())
    for (const side of ['buy', 'sell'] as const)
      for await (const bytes of still.members((after) => pages.scanBook(market, side, after))) {
        const { id, wallet, remainingSteps } = readBookMember(bytes, number, side);
        const { sizeSteps = remainingSteps, clientOrderId = null } = listed.get(id) ?? {};
        orders.set(id, { id, wallet, market, sizeSteps, remainingSteps, clientOrderId });
      }
  return orders;
}

/** @throws OperatorRefusal ENGINE_INCONSISTENT when the balances do not add up to the supply */
async function readBalances(still: StillReader, assets: Iterable<string>): Promise<AccountSums> {
  const balances = new AccountSums();
  for (const asset of assets) {
    let sum = 0n;
    for (const [name, value] of await still.fields({ of: 'balances', asset })) {
      const debtor = OWED_FIELD.exec(name)?.[1];
      if (debtor !== undefined) {
        // The supply is what all others hold: what is owed came out of custody.
        balances.add(asset, receivableOf(debtor), -BigInt(value));
        balances.add(asset, CUSTODY, BigInt(value));
        continue;
      }
      const account = name === 'supply' ? CUSTODY : (WALLET_FIELD.exec(name)?.[1] ?? name);
      if (![CUSTODY, HOUSE, WITHDRAWALS].includes(account) && !account.startsWith('0x')) continue;
      const atoms = account === CUSTODY ? -BigInt(value) : BigInt(value);
      balances.add(asset, account, atoms);
      sum += atoms;
    }
    if (sum !== 0n)
      throw new OperatorRefusal(
        'ENGINE_INCONSISTENT',
        `the balances of ${asset} in the engine are ${sum} atoms more than its supply: nothing was done`,
      );
  }
  return balances;
}

const subjects = <Value>(
  fields: ReadonlyMap<string, string>,
  start: string,
  read: (text: string) => Value,
): Map<string, Value> =>
  new Map(
    [...fields]
      .filter(([name]) => name.startsWith(start))
      .map(([name, value]) => [name.slice(start.length), read(value)]),
  );

/** @throws OperatorRefusal ENGINE_BUSY | ENGINE_INCONSISTENT */
export async function readStillEngine(engine: Engine): Promise<HeldState> {
  const { sequence, timeMs } = await engine.reads.state();
  const still = new StillReader(engine, sequence);
  const own = await still.fields({ of: 'engine' });
  const records = await still.fields({ of: 'markets' });
  const markets = new Map([...records].map(([symbol, record]) => [symbol, readMarketRecord(record)]));
  const prices = subjects(own, LAST_PRICE, BigInt);
  const scales = [...(await still.fields({ of: 'assets' }))].filter(([name]) => !name.includes(' '));
  const assets = new Map(scales.map(([symbol, scale]) => [symbol, Number(scale)]));
  for (const { base, quote } of markets.values())
    for (const { symbol, scale } of [base, quote]) assets.set(symbol, scale);
  const state: HeldState = {
    sequence,
    timeMs,
    lastTradeId: Number(own.get('trade') ?? 0),
    paused: own.get('paused') === '1',
    termsVersion: own.get('terms') ?? null,
    holds: new Set(subjects(own, HOLD, String).keys()),
    takes: subjects(own, TAKE, readTake),
    acceptedTerms: subjects(own, TERMS, String),
    assets,
    markets,
    lastPrices: new Map(
      [...markets.values()].flatMap(({ symbol, number }) => {
        const ticks = prices.get(`${number}`);
        return ticks === undefined ? [] : [[symbol, ticks] as const];
      }),
    ),
    orders: await readOrders(engine, still, markets),
    balances: await readBalances(still, assets.keys()),
  };
  still.check((await engine.reads.state()).sequence);
  return state;
}
