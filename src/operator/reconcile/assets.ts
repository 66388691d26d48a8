/** Money: one asset's balances, reservations and books, all at one event. */

import type { Asset } from '../../domain/market.ts';
import { heldAtoms } from '../../domain/order.ts';
import { formatScaled } from '../../domain/units.ts';
import type { AssetSnapshot } from '../../engine/index.ts';
import { CUSTODY } from '../../ledger/index.ts';
import { type CheckResult, Comparison } from './comparison.ts';
import { checkBook } from './orders.ts';
import { type Servers, untilSettled } from './settled.ts';

export async function* checkAsset(
  servers: Servers,
  asset: Asset,
  patienceMs: number,
): AsyncGenerator<CheckResult> {
  const snapshot = await servers.engine.snapshotAsset(asset.symbol);
  yield checkConservation(asset, snapshot);
  yield checkReservations(asset, snapshot);
  await untilSettled(servers, snapshot.sequence, patienceMs);
  yield* checkBalances(servers, asset, snapshot);
  yield await checkBook(servers, asset, snapshot);
}

function checkConservation({ symbol, scale }: Asset, snapshot: AssetSnapshot): CheckResult {
  const comparison = new Comparison();
  let sum = 0n;
  for (const { availableAtoms, reservedAtoms } of snapshot.balances.values()) {
    sum += availableAtoms + reservedAtoms;
  }
  comparison.equal('supply', formatScaled(snapshot.supplyAtoms, scale), formatScaled(sum, scale));
  return comparison.result(
    'conservation',
    symbol,
    `${snapshot.balances.size} accounts`,
    'all balances and the fees earned add up to what was deposited and not withdrawn',
  );
}

/** Per wallet. */
function checkReservations({ symbol, scale }: Asset, snapshot: AssetSnapshot): CheckResult {
  const comparison = new Comparison();
  const needed = new Map<string, bigint>();
  for (const order of snapshot.resting) {
    const { wallet, market } = order;
    needed.set(wallet, (needed.get(wallet) ?? 0n) + heldAtoms(order, market));
  }
  for (const wallet of new Set([...needed.keys(), ...snapshot.balances.keys()])) {
    const { availableAtoms = 0n, reservedAtoms = 0n } = snapshot.balances.get(wallet) ?? {};
    comparison.equal(
      `reserved by ${wallet}`,
      formatScaled(needed.get(wallet) ?? 0n, scale),
      formatScaled(reservedAtoms, scale),
    );
    if (availableAtoms < 0n) {
      comparison.equal(`available to ${wallet}`, '0 or more', formatScaled(availableAtoms, scale));
    }
  }
  return comparison.result(
    'reserved = live orders',
    symbol,
    '# accounts',
    'what each account has reserved is what its resting orders need, and no balance is negative',
  );
}

/** Each account, and the supply, against the ledger summed up to the event of the snapshot. */
async function* checkBalances(
  { ledger }: Servers,
  { symbol, scale }: Asset,
  snapshot: AssetSnapshot,
): AsyncGenerator<CheckResult> {
  const supply = new Comparison();
  const accounts = new Comparison();
  const decimal = (atoms: bigint): string => formatScaled(atoms, scale);
  const inLedger = new Set<string>();
  let custodyAtoms = 0n;
  for await (const { account, atoms } of ledger.balancesAt(symbol, snapshot.sequence)) {
    if (account === CUSTODY) {
      custodyAtoms = atoms;
      continue;
    }
    inLedger.add(account);
    const { availableAtoms = 0n, reservedAtoms = 0n } = snapshot.balances.get(account) ?? {};
    accounts.equal(account, decimal(atoms), decimal(availableAtoms + reservedAtoms));
  }
  for (const [account, { availableAtoms, reservedAtoms }] of snapshot.balances) {
    if (!inLedger.has(account)) accounts.equal(account, '0', decimal(availableAtoms + reservedAtoms));
  }
  supply.equal('supply', decimal(-custodyAtoms), decimal(snapshot.supplyAtoms));
  yield supply.result(
    'supply = credits - debits',
    symbol,
    `event ${snapshot.sequence}`,
    'the supply in Redis is the deposits less the withdrawals in Postgres',
  );
  yield accounts.result(
    'Redis = Postgres',
    symbol,
    `# accounts at event ${snapshot.sequence}`,
    'each account has in Redis what its ledger entries in Postgres add up to at the same event',
  );
}
