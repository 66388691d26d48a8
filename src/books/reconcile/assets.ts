/**
 * Checks the money of one asset: balances and reservations in the engine, against entries and live orders of the
 * ledger.
 */

import { formatScaled } from '../../domain/units.ts';
import type { Audited } from './audited.ts';
import { type CheckResult, Comparison } from './comparison.ts';
import { ENGINE_CHECKS } from './definitions.ts';
import { compareFields, type ExpectedAmount, ExpectedAmounts } from './fields.ts';
import { availableTo, fieldsOf, reservedBy, SUPPLY } from './follower.ts';

const WHOLE = /^-?\d+$/;
const OWED_FIELD = /^owed by /;
const WALLET_FIELD = /^(?:available to|reserved by) (0x[0-9a-f]{40})$/;

/** Deviations of the engine in atoms, per field and in total. */
class Deviations {
  readonly available = new Map<string, bigint>();
  readonly reserved = new Map<string, bigint>();
  readonly odd: string[] = [];
  supply = 0n;
  balances = 0n;
  fields = 0;

  add(name: string, deviation: bigint): void {
    this.fields += 1;
    if (name === SUPPLY) {
      this.supply += deviation;
      return;
    }
    // Receivables are no part of the supply.
    if (OWED_FIELD.test(name)) return;
    this.balances += deviation;
    if (deviation === 0n) return;
    const wallet = WALLET_FIELD.exec(name)?.[1];
    if (wallet !== undefined && name === reservedBy(wallet)) this.reserved.set(wallet, deviation);
    else this.available.set(wallet ?? name, deviation);
  }
}

/** Checks all assets; the ledger's accounts are read once, asset by asset. @returns results in the order of assets */
export async function checkAssets(audited: Audited): Promise<CheckResult[]> {
  const results = new Map<string, CheckResult[]>();
  // A live order may name an asset that nobody has: the check of its market reports the order.
  for await (const { asset, settled } of accountsByAsset(audited))
    if (audited.assets.has(asset)) results.set(asset, await checkAsset(audited, asset, settled));
  for (const asset of audited.assets.keys())
    if (!results.has(asset)) results.set(asset, await checkAsset(audited, asset, new Map()));
  return [...audited.assets.keys()].sort().flatMap((asset) => results.get(asset)!);
}

interface SettledAsset {
  readonly asset: string;
  /** The fields that the asset's balances must have at the snapshot. */
  readonly settled: Map<string, ExpectedAmount>;
}

/** Yields each asset that the ledger has accounts of, with its accounts in memory. */
async function* accountsByAsset({ audit, follower }: Audited): AsyncGenerator<SettledAsset> {
  let current: SettledAsset | undefined;
  const chunks = audit.accounts()[Symbol.asyncIterator]();
  for (;;) {
    const chunk = await follower.during(chunks.next());
    if (chunk.done === true) break;
    for (const { asset, account, atoms, reservedAtoms } of chunk.value) {
      if (asset !== current?.asset) {
        if (current !== undefined) yield current;
        current = { asset, settled: new Map() };
      }
      const { settled } = current;
      for (const [name, sign] of fieldsOf(account)) {
        const amount = (settled.get(name)?.amount ?? 0n) + sign * (atoms - reservedAtoms);
        settled.set(name, { amount, isFound: false });
      }
      if (reservedAtoms !== 0n) settled.set(reservedBy(account), { amount: reservedAtoms, isFound: false });
    }
  }
  if (current !== undefined) yield current;
}

async function checkAsset(
  audited: Audited,
  asset: string,
  settled: ReadonlyMap<string, ExpectedAmount>,
): Promise<CheckResult[]> {
  const { follower } = audited;
  const expectation = new ExpectedAmounts(settled, follower.balances.of(asset));
  const deviations = new Deviations();
  const reserved = new Comparison();
  const totals = new Comparison();
  const decimal = (atoms: bigint): string => formatScaled(atoms, audited.assets.get(asset)!);
  await compareFields(audited, { of: 'balances', asset }, expectation, (name, expected, found) => {
    if (found !== null && !WHOLE.test(found)) {
      totals.equal(name, expected ?? '0', `no whole number: ${found}`);
      return;
    }
    const atoms = BigInt(found ?? 0);
    deviations.add(name, atoms - BigInt(expected ?? 0));
    if (OWED_FIELD.test(name)) totals.equal(name, decimal(BigInt(expected ?? 0)), decimal(atoms));
    if (name.startsWith('reserved by ')) reserved.equal(name, decimal(BigInt(expected ?? 0)), decimal(atoms));
    if (atoms < 0n) reserved.equal(name, '0 or more', decimal(atoms));
  });
  compareTotals(deviations, expectation, totals, decimal);
  const event = follower.sequence;
  const supply = new Comparison();
  const conservation = new Comparison();
  const inLedger = expectation.amount(SUPPLY);
  const inEngine = inLedger + deviations.supply;
  supply.equal(SUPPLY, decimal(inLedger), decimal(inEngine));
  conservation.equal(
    SUPPLY,
    decimal(inEngine),
    decimal(expectation.sumWhere((name) => name !== SUPPLY && !OWED_FIELD.test(name)) + deviations.balances),
  );
  return [
    conservation.result(ENGINE_CHECKS.conservation, asset, `${deviations.fields} balances`),
    reserved.result(ENGINE_CHECKS.reserved, asset, `# balances up to event ${event}`),
    supply.result(ENGINE_CHECKS.supply, asset, `event ${event}`),
    totals.result(ENGINE_CHECKS.totals, asset, `${deviations.fields} balances up to event ${event}`),
  ];
}

/** Compares available and reserved together for each account that deviates. */
function compareTotals(
  { available, reserved }: Deviations,
  expectation: ExpectedAmounts,
  totals: Comparison,
  decimal: (atoms: bigint) => string,
): void {
  for (const account of new Set([...available.keys(), ...reserved.keys()])) {
    const isWallet = account.startsWith('0x');
    const expected =
      expectation.amount(isWallet ? availableTo(account) : account) +
      (isWallet ? expectation.amount(reservedBy(account)) : 0n);
    const found = expected + (available.get(account) ?? 0n) + (reserved.get(account) ?? 0n);
    totals.equal(account, decimal(expected), decimal(found));
  }
}
