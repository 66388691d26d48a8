/** Deposits, withdrawals with their steps, and balances. */

import type { Act } from '../domain/act.ts';
import { OperatorRefusal } from '../domain/errors.ts';
import type { AccountMoved, MovementKind } from '../domain/event.ts';
import { isTextUpTo } from '../domain/text.ts';
import {
  beginningOfTakes,
  endsWithdrawal,
  otherStepOf,
  readTake,
  type Take,
  writeTake,
} from '../domain/withdrawal-states.ts';
import type { EngineAssets } from './assets.ts';
import { type Claim, checkedAtMs, type EngineMoment, movementClaim, reversalClaim } from './claims.ts';
import { walletBytes } from './codec.ts';
import type { EngineCore } from './core.ts';
import { actText, readMovement } from './event-codec.ts';
import { type ScriptClaim, scriptClaim } from './filter-layout.ts';
import { balancesKey, KEYS, takenField } from './keys.ts';
import type { Stale } from './outcomes.ts';
import { MOVE_FUNDS, READ_BALANCES, TAKE_WITHDRAWAL } from './scripts.ts';

/** Maximum atoms of an asset's supply, and so of any balance: sums stay inside 64 bits. */
const SUPPLY_LIMIT = 2n ** 62n;

interface Balance {
  readonly asset: string;
  /** Decimals of the asset. */
  readonly scale: number;
  readonly availableAtoms: bigint;
  readonly reservedAtoms: bigint;
  /** The wallet owes this since a deposit was reversed that it had spent. */
  readonly owedAtoms: bigint;
}

type Movement =
  | { readonly outcome: 'moved'; readonly movement: AccountMoved; readonly sequence: number }
  /** The reference was used before, for this movement. */
  | { readonly outcome: 'claimed'; readonly movement: AccountMoved }
  /** Only Postgres can tell if the reference was used: look there, then move again with this moment. */
  | { readonly outcome: 'unchecked'; readonly moment: EngineMoment };

/** A pending withdrawal, by its request. */
type Requested = Pick<AccountMoved, 'reference' | 'wallet' | 'asset'>;

/** A look in Postgres, which the engine had asked for. */
export interface PostgresLook extends EngineMoment {
  /** Atoms of the reversed movement that Postgres has no reversal of. */
  readonly leftAtoms?: bigint | undefined;
}

/** A claim and the moment of its call, as scripts read them. */
interface CalledClaim extends ScriptClaim {
  readonly epoch: number;
  readonly checkedAt: number;
}

type Taking =
  | { readonly outcome: 'changed' | 'unchanged' }
  /** The withdrawal ended before, by this movement. */
  | { readonly outcome: 'claimed'; readonly movement: AccountMoved }
  | { readonly outcome: 'unchecked'; readonly moment: EngineMoment };

export class EngineFunds {
  readonly #core: EngineCore;
  readonly #assets: EngineAssets;

  constructor(core: EngineCore, assets: EngineAssets) {
    this.#core = core;
    this.#assets = assets;
  }

  /**
   * Credits (a deposit), debits (a withdrawal that leaves at once), or carries out a step of a withdrawal that custody
   * pays later; a reference counts once.
   * @param look what Postgres had, if it was asked
   * @param scale decimals of the asset that the amount was made with; unless given, the scale in the engine
   * @param takenBy name of whoever took the withdrawal that is confirmed
   * @throws Refusal INSUFFICIENT_BALANCE | CUSTODY_HOLD;
   * OperatorRefusal RECEIVABLE_OPEN | PAYMENT_UNDER_WAY | ALREADY_REVERSED | SUPPLY_LIMIT | UNKNOWN_ASSET | SCALE_CHANGED | INVALID_AMOUNT
   */
  async move(
    movement: AccountMoved,
    look?: PostgresLook,
    scale?: number,
    act?: Act,
    takenBy = '',
  ): Promise<Movement> {
    const { kind, wallet, asset, amountAtoms, reference, reverses } = movement;
    await this.#checkMovement(movement);
    const id = movementClaim(kind, reference);
    const record = movementRecord(movement);
    const takesFunds = (kind === 'debited' && reverses === undefined) || kind === 'requested';
    const other = otherStepOf(kind);
    const allBalances = takesFunds ? await this.#allBalances() : [];
    const { reply, epoch } = await this.#whileClaimed(id, look, (claim) =>
      this.#core.scripts.run(MOVE_FUNDS, {
        balances: balancesKey(asset),
        allBalances,
        ...claim,
        kind,
        wallet: walletBytes(wallet),
        asset,
        amount: amountAtoms.toString(),
        scale: scale ?? '',
        maxSupply: (SUPPLY_LIMIT - amountAtoms).toString(),
        record,
        reversal: reverses === undefined ? '' : reversalClaim(reverses, kind).field,
        left: (look?.leftAtoms ?? 0n).toString(),
        otherStep: other === undefined ? '' : movementClaim(other, reference).field,
        taken: endsWithdrawal(kind) ? takenField(reference) : '',
        taker: beginningOfTakes(takenBy),
        act: actText(act),
      }),
    );
    switch (reply.outcome) {
      case 'claimed':
        return { outcome: 'claimed', movement: claimedMovement(kind, reply.record) };
      case 'unchecked':
        return { outcome: 'unchecked', moment: { epoch, timeMs: reply.timeMs } };
      case 'reversed':
        throw new OperatorRefusal(
          'ALREADY_REVERSED',
          `${reply.leftAtoms} atoms of ${reverses} are left after earlier reversals: nothing was moved`,
        );
      case 'moved':
        return { outcome: 'moved', movement: { ...movement, ...reply.owed }, sequence: reply.sequence };
    }
  }

  /**
   * Takes a pending withdrawal, so that nobody else pays or returns it; the same again changes nothing.
   * @throws Refusal CUSTODY_HOLD | VALIDATION_ERROR for its time; OperatorRefusal RECEIVABLE_OPEN | PAYMENT_UNDER_WAY
   */
  take(withdrawal: Requested, take: Take, act: Act, checked?: EngineMoment): Promise<Taking> {
    const { by, key, untilMs } = take;
    const asked = { take: writeTake(take), taker: beginningOfTakes(by, key), untilMs };
    return this.#take(withdrawal, { ...asked, detail: { take } }, act, checked);
  }

  /**
   * Ends a take; nothing changes if nobody took the withdrawal.
   * @param by name of whoever took it
   * @throws OperatorRefusal PAYMENT_UNDER_WAY if another one took it
   */
  release(withdrawal: Requested, by: string, act: Act, checked?: EngineMoment): Promise<Taking> {
    const asked = { take: '', taker: beginningOfTakes(by), untilMs: 0, detail: {} };
    return this.#take(withdrawal, asked, act, checked);
  }

  async #take(
    { reference, wallet, asset }: Requested,
    { detail, ...asked }: { take: string; taker: string; untilMs: number; detail: object },
    act: Act,
    checked?: EngineMoment,
  ): Promise<Taking> {
    const id = movementClaim('confirmed', reference);
    const allBalances = await this.#allBalances();
    const { reply, epoch } = await this.#whileClaimed(id, checked, (claim) =>
      this.#core.scripts.run(TAKE_WITHDRAWAL, {
        ...claim,
        allBalances,
        field: takenField(reference),
        ...asked,
        wallet: walletBytes(wallet),
        detail: JSON.stringify({ reference, wallet, asset, ...detail }),
        request: movementClaim('requested', reference).field,
        act: actText(act),
      }),
    );
    if (reply.outcome === 'claimed')
      return { outcome: 'claimed', movement: claimedMovement('confirmed', reply.record) };
    if (reply.outcome === 'unchecked')
      return { outcome: 'unchecked', moment: { epoch, timeMs: reply.timeMs } };
    return reply;
  }

  /**
   * Runs a script with a claim, unless a sealed filter may have its id and Postgres was not asked.
   * @param run is given what the script reads of the claim, and of the moment
   */
  async #whileClaimed<Reply>(
    id: Claim,
    checked: EngineMoment | undefined,
    run: (claim: CalledClaim) => Promise<Reply | Stale>,
  ) {
    let epoch = 0;
    const reply = await this.#core.whileCurrent(async () => {
      epoch = this.#core.lifecycle.epoch;
      const { filter, timeMs } = await this.#core.filter.lookInSealed(id);
      const checkedAt = checkedAtMs(checked, this.#core.lifecycle);
      if (timeMs !== null && checkedAt === 0) return { outcome: 'unchecked', timeMs } as const;
      return run({ epoch, checkedAt, ...scriptClaim(id, filter) });
    });
    return { reply, epoch };
  }

  /** Returns who took a withdrawal; null for nobody. */
  async takeOf(reference: string): Promise<Take | null> {
    const text = await this.#core.scripts.call(() =>
      this.#core.redis.hget(KEYS.engine, takenField(reference)),
    );
    return text === null ? null : readTake(text);
  }

  /** Returns the movement that a reference stands for, if the engine still remembers it. */
  async claimed(kind: MovementKind, reference: string): Promise<AccountMoved | null> {
    const { field } = movementClaim(kind, reference);
    const found = await this.#core.scripts.call(() =>
      Promise.all(KEYS.claims.map((claims) => this.#core.redis.hget(claims, field))),
    );
    const record = found.find((one) => one !== null);
    return record == null ? null : claimedMovement(kind, record);
  }

  /** Returns the balances of every asset: a wallet that owes in one withdraws from none. */
  async #allBalances(): Promise<string[]> {
    return (await this.#assets.all()).map(({ symbol }) => balancesKey(symbol));
  }

  async #checkMovement(movement: AccountMoved): Promise<void> {
    const { asset, amountAtoms, reference, reverses = reference, txid = reference } = movement;
    if ((await this.#assets.bySymbol(asset)) === undefined) {
      throw new OperatorRefusal(
        'UNKNOWN_ASSET',
        `unknown asset ${asset}: create a market that uses it, or register it with asset set ${asset} --scale N`,
      );
    }
    if (amountAtoms <= 0n || amountAtoms > SUPPLY_LIMIT) {
      throw new OperatorRefusal('INVALID_AMOUNT', 'the amount must be positive and at most 2^62 atoms');
    }
    if (![reference, reverses, txid].every((text) => isTextUpTo(text, 256))) {
      throw new OperatorRefusal(
        'INVALID_REFERENCE',
        'references and the id of a transaction must be 1 to 256 characters of valid text',
      );
    }
  }

  /** A wallet's balances in every asset at one moment; assets it never had are left out. */
  async readBalances(wallet: string): Promise<Balance[]> {
    const assets = await this.#assets.all();
    if (assets.length === 0) return [];
    const found = await this.#core.scripts.run(READ_BALANCES, {
      balances: assets.map(({ symbol }) => balancesKey(symbol)),
      wallet: walletBytes(wallet),
    });
    return assets.flatMap(({ symbol, scale }, index) => {
      const { available, reserved, owed } = found[index]!;
      if (available === null && reserved === null && owed === null) return [];
      return [
        {
          asset: symbol,
          scale,
          availableAtoms: BigInt(String(available ?? 0)),
          reservedAtoms: BigInt(String(reserved ?? 0)),
          owedAtoms: BigInt(String(owed ?? 0)),
        },
      ];
    });
  }
}

const DEPOSITS: ReadonlySet<MovementKind> = new Set(['credited', 'announced', 'dropped']);

/** Reads the claim of a reference of a kind. A deposit, and a withdrawal that left at once, name no kind. */
const claimedMovement = (kind: MovementKind, record: string): AccountMoved =>
  readMovement(DEPOSITS.has(kind) ? 'credited' : 'debited', record);

/** Returns a movement as claims and events store it. Deposits and withdrawals that leave at once name no kind. */
export const movementRecord = ({
  kind,
  wallet,
  asset,
  amountAtoms,
  reference,
  reverses,
  txid,
  owedAtoms,
}: AccountMoved): string => {
  const step = kind === 'credited' || kind === 'debited' ? undefined : kind;
  return JSON.stringify({
    wallet,
    asset,
    amount: amountAtoms.toString(),
    reference,
    reverses,
    kind: step,
    txid,
    owed: owedAtoms?.toString(),
  });
};

/**
 * Checks that a reference stands for the same movement as before.
 * @throws OperatorRefusal REFERENCE_CONFLICT
 */
export function checkSameMovement(asked: AccountMoved, earlier: AccountMoved): void {
  const same =
    asked.wallet === earlier.wallet &&
    asked.asset === earlier.asset &&
    asked.amountAtoms === earlier.amountAtoms &&
    asked.kind === earlier.kind &&
    asked.txid === earlier.txid &&
    asked.reverses === earlier.reverses;
  if (!same) {
    const { kind, amountAtoms, asset, wallet, txid } = earlier;
    const ends =
      [asked.kind, kind].some((one) => one === 'announced' || one === 'dropped') ||
      (endsWithdrawal(kind) && endsWithdrawal(asked.kind));
    const paid = txid === undefined ? '' : `, paid by ${txid}`;
    const message = ends
      ? `the ${endsWithdrawal(kind) ? 'withdrawal' : 'deposit'} ${asked.reference} was ${kind} before${paid}`
      : `the reference ${asked.reference} was used for another movement: ${amountAtoms} atoms of ${asset} ${kind} for ${wallet}${paid}`;
    throw new OperatorRefusal('REFERENCE_CONFLICT', message);
  }
}
