/** Placing and cancelling: the TypeScript face of `place_order.lua`, `admit_order.lua` and `cancel_orders.lua`. */

import { Refusal } from '../domain/errors.ts';
import type { OrdersClosed } from '../domain/event.ts';
import { type Market, marketGrid } from '../domain/market.ts';
import {
  type ClosedOrder,
  type Order,
  type OrderStatus,
  orderAfter,
  type RejectReason,
  type Trade,
} from '../domain/order.ts';
import { measureOrder, type OrderAmounts, type OrderRefusal, type OrderRequest } from '../domain/placing.ts';
import { toInteger } from '../domain/units.ts';
import { type ScriptClaim, scriptClaim } from './claim-filter.ts';
import { checkedAtMs, type Moment, orderClaim } from './claims.ts';
import { REFERENCE_BYTES, readBookMember, readClosed, readFills, readOrderId, walletBytes } from './codec.ts';
import type { EngineCore, Reply } from './core.ts';
import { type TermsRecord, termsOf } from './event-codec.ts';
import { balancesKey, bookKey, KEYS, levelsKey } from './keys.ts';
import type { EngineMarkets } from './markets.ts';
import type { EnginePages, MemberPage } from './pages.ts';

/** One placement. */
export interface PlaceOrder {
  readonly wallet: string;
  readonly request: OrderRequest;
  /** Whether the caller's country is blocked. */
  readonly restricted?: boolean;
  /** The moment before which Postgres was found not to know the client order id. */
  readonly checked?: Moment;
}

export type Placement =
  /** The order as it stands after its match; `rejectReason` when the engine refused it and recorded it. */
  | {
      readonly outcome: 'placed';
      readonly order: Order;
      /** The market, with the rules that the order met. */
      readonly market: Market;
      readonly trades: Trade[];
      readonly rejectReason: RejectReason | null;
    }
  /** The client order id belongs to this order already. */
  | { readonly outcome: 'claimed'; readonly orderId: string }
  /** Only Postgres can tell whether the client order id is known: look there, then place again with this moment. */
  | { readonly outcome: 'unchecked'; readonly moment: Moment };

/** Outcome of cancelling one page of a wallet's live orders. */
export interface CancelledPage {
  readonly closed: readonly ClosedOrder[];
  /** One for each market whose orders could not be cancelled, because a reservation is missing. */
  readonly failures: readonly Error[];
  /** Where the next page begins; null after the last one. */
  readonly next: Buffer | null;
}

export interface OrderLimits {
  /** Most makers one placement meets. */
  readonly maxMakers: number;
  /** Most live orders of one wallet. */
  readonly maxLiveOrders: number;
}

/** Orders cancelled by one script, and live orders in a later page: a script runs alone, so a batch must stay short. */
const CANCEL_BATCH = 100;
const NOTHING_CLOSED: Reply = [Buffer.from('closed'), Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0)];
/** Live orders in the first page of a wallet's: few wallets have more. */
const FIRST_PAGE = 25;
/** Where epoch and sequence begin in a reference. */
const STAMP_AT = 9;

export class EngineOrders {
  readonly #core: EngineCore;
  readonly #markets: EngineMarkets;
  readonly #limits: OrderLimits;

  constructor(core: EngineCore, markets: EngineMarkets, limits: OrderLimits) {
    this.#core = core;
    this.#markets = markets;
    this.#limits = limits;
  }

  /** @throws Refusal with the first code of the documented precedence; nothing was written then. */
  async place(command: PlaceOrder): Promise<Placement> {
    const { request } = command;
    let market: Market | undefined;
    let terms: TermsRecord | undefined;
    let refusal: OrderRefusal | undefined;
    let epoch = 0;
    const reply = await this.#core.settle(
      async () => {
        market = await this.#markets.bySymbol(request.market);
        epoch = this.#core.epoch;
        const measured = measureOrder(request, market);
        if ('refusal' in measured) {
          refusal = measured.refusal;
          return this.#admit(command, market);
        }
        terms = termsRecord(command.wallet, request, market!, measured.amounts);
        return this.#match(command, market!, measured.amounts, terms);
      },
      async () => void (await this.#markets.refresh()),
    );
    switch (reply[0].toString()) {
      case 'claimed':
        return { outcome: 'claimed', orderId: (reply[1] as Buffer).toString('hex') };
      case 'unchecked':
        return { outcome: 'unchecked', moment: { epoch, timeMs: Number(reply[1]) } };
      case 'admitted':
        throw new Refusal(refusal!.code, refusal!.message);
      default:
        return this.#placed(market!, terms!, reply as readonly Buffer[]);
    }
  }

  /** Takes the orders of one market off the book; those not live or not `wallet`'s are passed over. */
  async #close(
    scope: { readonly wallet: string | null; readonly symbol: string | null },
    cause: OrdersClosed['cause'],
    marketNumber: number,
    references: readonly Buffer[],
  ): Promise<ClosedOrder[]> {
    const closed: ClosedOrder[] = [];
    for (let at = 0; at < references.length; at += CANCEL_BATCH) {
      const batch = Buffer.concat(references.slice(at, at + CANCEL_BATCH));
      let market: Market | undefined;
      const reply = await this.#core.settle(
        async () => {
          market = await this.#markets.byNumber(marketNumber);
          const isMeant = market !== undefined && (scope.symbol ?? market.symbol) === market.symbol;
          return isMeant ? this.#cancel(market!, scope.wallet, cause, batch) : NOTHING_CLOSED;
        },
        async () => void (await this.#markets.refresh()),
      );
      if (reply[0].toString() === 'corrupt') {
        throw new Error(
          `a reservation of ${market!.symbol} is missing: nothing was cancelled; reconcile the ledger`,
        );
      }
      closed.push(...readClosed(reply[3] as Buffer, () => market!, cause));
    }
    return closed;
  }

  #cancel(
    market: Market,
    wallet: string | null,
    cause: OrdersClosed['cause'],
    references: Buffer,
  ): Promise<Reply> {
    const keys = [...bookKeys(market), KEYS.live, ...KEYS.unsettled, ...levelKeys(market), KEYS.markets];
    return this.#core.run('cancel_orders', keys, [
      ...[this.#core.epoch, wallet === null ? '' : walletBytes(wallet), cause],
      ...[String(market.baseAtomsPerStep), String(market.quoteAtomsPerLot), references],
      ...[market.number, market.symbol, market.version],
    ]) as Promise<Reply>;
  }

  /** @throws Refusal ORDER_NOT_FOUND when it is not a live order of the wallet (null: of any wallet). */
  async closeOne(wallet: string | null, orderId: string, cause: OrdersClosed['cause']): Promise<ClosedOrder> {
    const reference = readOrderId(orderId);
    const [closed] = reference
      ? await this.#close({ wallet, symbol: null }, cause, reference.marketNumber, [reference.bytes])
      : [];
    if (closed === undefined) throw new Refusal('ORDER_NOT_FOUND');
    return closed;
  }

  /** Closes the live orders of a wallet that stand when it starts, of one market or of all (null). */
  async closeAll(
    wallet: string,
    symbol: string | null,
    cause: OrdersClosed['cause'],
  ): Promise<ClosedOrder[]> {
    const closed: ClosedOrder[] = [];
    const live = await this.liveReferences(wallet);
    // An engine that was emptied has no live orders either: it must not pass for an answer.
    if (live.length === 0) await this.#core.confirm();
    for (const [number, references] of byMarketNumber(live))
      closed.push(...(await this.#close({ wallet, symbol }, cause, number, references)));
    return closed;
  }

  /**
   * Cancels what one page of a wallet's live orders holds up to a stamp. Orders keep their place in that list, so pages
   * read one after the other miss none. A market that cannot be closed does not keep the others from it.
   * @param newest stamp of the newest order that is cancelled
   */
  async cancelPage(wallet: string, newest: Buffer, after: Buffer | null): Promise<CancelledPage> {
    const [first, bytes] = [Buffer.from('['), walletBytes(wallet)];
    const from = after === null ? Buffer.concat([first, bytes]) : Buffer.concat([Buffer.from('('), after]);
    const to = Buffer.concat([Buffer.from('('), bytes, Buffer.from([255])]);
    const most = after === null ? FIRST_PAGE : CANCEL_BATCH;
    const members = await this.#core.call(() =>
      this.#core.redis.zrangeBuffer(KEYS.live, from, to, 'BYLEX', 'LIMIT', 0, most),
    );
    const references = members
      .map((member) => member.subarray(20, 20 + REFERENCE_BYTES))
      .filter((reference) => Buffer.compare(reference.subarray(STAMP_AT), newest) <= 0);
    const closed: ClosedOrder[] = [];
    const failures: Error[] = [];
    for (const [number, group] of byMarketNumber(references)) {
      try {
        closed.push(...(await this.#close({ wallet, symbol: null }, 'cancel', number, group)));
      } catch (error) {
        if (error instanceof Refusal || !(error instanceof Error)) throw error;
        failures.push(error);
      }
    }
    return { closed, failures, next: members.length < most ? null : members.at(-1)! };
  }

  /** Closes the orders of a market that stand when it starts, side by side, in pages. */
  async clear(symbol: string, pages: EnginePages): Promise<ClosedOrder[]> {
    const market = (await this.#markets.refresh()).bySymbol.get(symbol);
    if (market === undefined) return [];
    const references: Buffer[] = [];
    for (const side of ['buy', 'sell'] as const) {
      let page: MemberPage | undefined;
      do {
        page = await pages.scanBook(symbol, side, page?.members.at(-1) ?? null);
        for (const member of page.members)
          references.push(Buffer.from(readBookMember(member, market.number, side).id, 'hex'));
      } while (!page.isLast);
    }
    return this.#close({ wallet: null, symbol }, 'clear', market.number, references);
  }

  /** References of the live orders of one wallet at one moment. */
  async liveReferences(wallet: string): Promise<Buffer[]> {
    const args = [walletBytes(wallet)];
    const [, members] = (await this.#core.run('find_live_orders', [KEYS.engine, KEYS.live], args)) as [
      Buffer,
      Buffer[],
    ];
    return members.map((member) => member.subarray(20, 20 + REFERENCE_BYTES));
  }

  #admit(command: PlaceOrder, market: Market | undefined): Promise<Reply> {
    const { wallet, request, restricted } = command;
    const claim = this.#claimOf(command);
    const keys = [KEYS.engine, ...KEYS.claims, claim.key, KEYS.markets];
    return this.#core.run('admit_order', keys, [
      ...[this.#core.epoch, market?.version ?? '', market?.number ?? '', walletBytes(wallet)],
      ...[request.clientOrderId ?? '', claim.offset, claim.mask, checkedAtMs(command.checked, this.#core)],
      ...[restricted ? 1 : 0, claim.field, claim.layout, market?.symbol ?? ''],
    ]) as Promise<Reply>;
  }

  #claimOf({ wallet, request }: PlaceOrder): ScriptClaim {
    const { clientOrderId } = request;
    return scriptClaim(clientOrderId === null ? null : orderClaim(wallet, clientOrderId), this.#core.filter);
  }

  #match(command: PlaceOrder, market: Market, amounts: OrderAmounts, terms: TermsRecord): Promise<Reply> {
    const { wallet, request, restricted } = command;
    const claim = this.#claimOf(command);
    const keys = [
      ...[...bookKeys(market), KEYS.live, ...KEYS.claims, claim.key],
      ...[...KEYS.unsettled, KEYS.markets, ...levelKeys(market), claim.nextKey],
    ];
    const { minSteps, maxSteps } = marketGrid(market);
    const decimal = (value: bigint | null): string => value?.toString() ?? '';
    return this.#core.run('place_order', keys, [
      ...[this.#core.epoch, market.version, market.number, market.symbol, walletBytes(wallet)],
      ...[request.side, request.type, request.timeInForce, request.postOnly ? 1 : 0],
      ...[decimal(amounts.priceTicks), decimal(amounts.sizeSteps), decimal(amounts.budgetAtoms)],
      ...[request.clientOrderId ?? '', claim.offset, claim.mask, checkedAtMs(command.checked, this.#core)],
      ...[String(market.baseAtomsPerStep), String(market.quoteAtomsPerLot), market.feeBps, market.selfTrade],
      ...[decimal(minSteps), decimal(maxSteps), market.referencePrice === null ? 0 : 1],
      ...[market.status === 'pre_open' ? 1 : 0, this.#limits.maxMakers, this.#limits.maxLiveOrders],
      ...[JSON.stringify(terms), restricted ? 1 : 0, claim.field],
      ...[claim.layout, claim.nextOffset],
    ]) as Promise<Reply>;
  }

  #placed(market: Market, record: TermsRecord, reply: readonly Buffer[]): Placement {
    const [sequence, timeMs] = [Number(reply[1]), Number(reply[2])];
    const reason = reply[8]!.toString();
    if (reason === 'SETTLEMENT_FAILED') throw new Refusal('SETTLEMENT_FAILED');
    const terms = termsOf(
      record,
      market,
      BigInt(String(reply[4])),
      { epoch: Number(reply[9]), sequence },
      timeMs,
    );
    const status = reply[3]!.toString() as OrderStatus;
    const order = orderAfter(terms, status, BigInt(String(reply[5])), timeMs);
    const trades = readFills(reply[7]!, {
      market: market.symbol,
      marketNumber: market.number,
      takerSide: order.side,
      takerOrderId: order.id,
      takerWallet: record.wallet,
      timeMs,
      sequence,
      lot: order.lot,
      firstTradeId: Number(reply[6]),
    });
    return {
      outcome: 'placed',
      order,
      market,
      trades,
      rejectReason: reason === '' ? null : (reason as RejectReason),
    };
  }
}

function byMarketNumber(references: readonly Buffer[]): Map<number, Buffer[]> {
  const groups = new Map<number, Buffer[]>();
  for (const reference of references) {
    const number = reference.readUInt16BE(0) >> 1;
    const group = groups.get(number);
    if (group === undefined) groups.set(number, [reference]);
    else group.push(reference);
  }
  return groups;
}

const bookKeys = ({ symbol, base, quote }: Market): string[] => [
  ...[KEYS.engine, KEYS.events, bookKey(symbol, 'bids'), bookKey(symbol, 'asks')],
  ...[balancesKey(base.symbol), balancesKey(quote.symbol)],
];

const levelKeys = ({ symbol }: Market): string[] => [levelsKey(symbol, 'bids'), levelsKey(symbol, 'asks')];

const termsRecord = (
  wallet: string,
  request: OrderRequest,
  market: Market,
  amounts: OrderAmounts,
): TermsRecord => ({
  wallet,
  market: market.number,
  side: request.side,
  type: request.type,
  timeInForce: request.timeInForce,
  postOnly: request.postOnly,
  leverage: request.leverage === null ? null : toInteger(request.leverage),
  price: amounts.priceTicks?.toString() ?? null,
  clientOrderId: request.clientOrderId,
});
