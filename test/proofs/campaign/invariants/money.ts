/** Money in exact integers: each store is added up by itself, and then they are compared. */

import { type Rest, told } from './events.ts';

interface CheckDocument {
  readonly checks: readonly {
    readonly name: string;
    readonly count: number;
    readonly differences: unknown;
  }[];
}

export async function reconcileHolds({ cluster }: Pick<Rest, 'cluster'>): Promise<string[]> {
  try {
    await cluster.operate('ledger', 'reconcile', '--patience', '60');
    return [];
  } catch (error) {
    const { message, cause } = error as Error;
    return [message.slice(0, 600), ...differencesIn(typeof cause === 'string' ? cause : '')];
  }
}

/** Names the checks of a reconcile that do not hold. It writes no document when it ends early. */
function differencesIn(output: string): string[] {
  if (!output.startsWith('{')) return [];
  const { checks } = JSON.parse(output) as CheckDocument;
  return checks
    .filter(({ count }) => count > 0)
    .map(({ name, count, differences }) => `${name}, ${count}: ${JSON.stringify(differences).slice(0, 400)}`);
}

interface Held {
  account: string;
  asset: string;
  atoms: string;
}

const heldIn = ({ cluster }: Rest): Promise<Held[]> =>
  cluster.sql<Held>(
    'select account, asset, sum(amount_atoms)::text as atoms from ledger_entries group by 1, 2',
  );

/** Custody owes what came in and did not go out. No other account is below zero. */
export async function conservationInPostgres(rest: Rest): Promise<string[]> {
  const held = await heldIn(rest);
  const moved = await rest.cluster.sql<{ asset: string; atoms: string }>(`
    select asset, sum(case when kind = 'credited' then amount_atoms
      when kind in ('debited', 'confirmed') then -amount_atoms else 0 end)::text as atoms
    from movements group by 1`);
  const found: string[] = [];
  for (const { asset, atoms } of moved) {
    const accounts = held.filter((one) => one.asset === asset);
    const sum = accounts.reduce((total, one) => total + BigInt(one.atoms), 0n);
    const custody = accounts.find(({ account }) => account === 'custody')?.atoms ?? '0';
    if (sum !== 0n) found.push(`all accounts together hold ${sum} atoms of ${asset}`);
    if (BigInt(custody) !== -BigInt(atoms)) found.push(`custody of ${asset} is ${custody}, moved ${atoms}`);
    for (const { account, atoms: own } of accounts)
      if (account !== 'custody' && BigInt(own) < 0n) found.push(`${account} holds ${own} atoms of ${asset}`);
  }
  return told(found);
}

interface Balances {
  readonly supply: bigint;
  readonly house: bigint;
  /** Requested, and neither confirmed nor returned. */
  readonly withdrawals: bigint;
  /** Atoms of each wallet. Addresses are in lower case. */
  readonly available: ReadonlyMap<string, bigint>;
  readonly reserved: ReadonlyMap<string, bigint>;
  readonly owed: ReadonlyMap<string, bigint>;
}

const WALLET_BYTES = 20;

/** The balances of an asset as the engine keeps them. */
async function balancesOf({ cluster }: Rest, asset: string): Promise<Balances> {
  const entries = Object.entries(await readBalances(cluster, asset));
  const of = (ending: string): Map<string, bigint> =>
    new Map(
      entries
        .filter(([field]) => field.length === WALLET_BYTES * 2 + 1 && field.endsWith(ending))
        .map(([field, value]) => [`0x${field.slice(0, -1)}`, value]),
    );
  const named = (name: string): bigint => entries.find(([field]) => field === name)?.[1] ?? 0n;
  const [supply, house, withdrawals] = ['supply', 'house', 'withdrawals'].map(named) as [
    bigint,
    bigint,
    bigint,
  ];
  return { supply, house, withdrawals, available: of('a'), reserved: of('r'), owed: of('o') };
}

/** Field names are binary, so they are read as buffers: wallets as hex digits, then `a`, `r` or `o`. */
async function readBalances(cluster: Rest['cluster'], asset: string): Promise<Record<string, bigint>> {
  const flat = (await cluster.redis.callBuffer('HGETALL', `{redbook}:balances:${asset}`)) as Buffer[];
  const read: Record<string, bigint> = {};
  for (let at = 0; at < flat.length; at += 2) {
    const field = flat[at]!;
    const value = BigInt(flat[at + 1]!.toString());
    const isWallet = field.length === WALLET_BYTES + 1;
    const name = isWallet
      ? field.toString('hex', 0, WALLET_BYTES) + field.toString('latin1', WALLET_BYTES)
      : field.toString();
    read[name] = value;
  }
  return read;
}

const assetsOf = async ({ cluster }: Rest): Promise<string[]> =>
  (await cluster.sql<{ symbol: string }>('select symbol from assets')).map(({ symbol }) => symbol);

const sumOf = (amounts: Iterable<bigint>): bigint => [...amounts].reduce((sum, one) => sum + one, 0n);

/** All balances are the supply, none is negative, and each is what the ledger says. */
export async function conservationInRedis(rest: Rest): Promise<string[]> {
  const held = await heldIn(rest);
  const found: string[] = [];
  for (const asset of await assetsOf(rest)) {
    const { supply, house, withdrawals, available, reserved, owed } = await balancesOf(rest, asset);
    const sum = house + withdrawals + sumOf(available.values()) + sumOf(reserved.values());
    if (sum !== supply) found.push(`balances of ${asset} add up to ${sum}, the supply is ${supply}`);
    for (const [name, amounts] of [
      ['available', available],
      ['reserved', reserved],
      ['owed', owed],
    ] as const)
      for (const [wallet, atoms] of amounts)
        if (atoms < 0n) found.push(`${name} ${asset} of ${wallet} is ${atoms}`);
    for (const { account, asset: of, atoms } of held) {
      if (of !== asset || account === 'custody') continue;
      const own = { house, withdrawals }[account];
      const debtor = /^receivable:(.*)$/.exec(account)?.[1];
      const inRedis =
        debtor !== undefined
          ? -(owed.get(debtor) ?? 0n)
          : (own ?? (available.get(account) ?? 0n) + (reserved.get(account) ?? 0n));
      if (inRedis !== BigInt(atoms))
        found.push(`${account} has ${inRedis} atoms of ${asset} in Redis, ${atoms} in Postgres`);
    }
  }
  return told(found);
}

/** A live bid holds its price times what is left of it; a live ask holds what is left of it. */
export async function reservedIsOfLiveOrders(rest: Rest): Promise<string[]> {
  const needs = await rest.cluster.sql<{ wallet: string; asset: string; atoms: string }>(`
    select wallet, case side when 'buy' then quote else base end as asset,
      sum((size_steps - filled_steps) * case side when 'buy' then price_ticks * quote_atoms_per_lot
        else base_atoms_per_step end)::text as atoms
    from orders where closed_sequence is null group by 1, 2`);
  const found: string[] = [];
  for (const asset of await assetsOf(rest)) {
    const { reserved } = await balancesOf(rest, asset);
    const needed = new Map(
      needs.filter((one) => one.asset === asset).map(({ wallet, atoms }) => [wallet, BigInt(atoms)]),
    );
    for (const wallet of new Set([...reserved.keys(), ...needed.keys()])) {
      const has = reserved.get(wallet) ?? 0n;
      const needs = needed.get(wallet) ?? 0n;
      if (has !== needs) found.push(`${wallet} has ${has} ${asset} reserved, its live orders hold ${needs}`);
    }
  }
  return told(found);
}

const KINDS = {
  credit: 'credited',
  debit: 'debited',
  request: 'requested',
  confirm: 'confirmed',
  return: 'returned',
  announce: 'announced',
  arrive: 'credited',
  drop: 'dropped',
} as const;

/** Each credit, debit and step of a withdrawal or deposit that an operator was told of counts once, with its amount. */
export async function movementsAreThere({ cluster, model, driver }: Rest): Promise<string[]> {
  const rows = await cluster.sql<{
    kind: string;
    wallet: string;
    asset: string;
    reference: string;
    atoms: string;
    scale: number;
  }>(`
    select kind, wallet, asset, reference, amount_atoms::text as atoms, scale
    from movements join assets on symbol = asset`);
  const byName = new Map<string, typeof rows>();
  for (const row of rows) {
    const name = `${row.kind} ${row.reference}`;
    byName.set(name, [...(byName.get(name) ?? []), row]);
  }
  const found: string[] = [];
  for (const { state, wallet, movement, isUnsure } of model.movements.values()) {
    const { reference } = movement;
    const kind = KINDS[movement.kind];
    const [row, ...others] = byName.get(`${kind} ${reference}`) ?? [];
    if (others.length > 0) found.push(`${kind} ${reference} is ${others.length + 1} times in the ledger`);
    if (state === 'moved' && row === undefined) found.push(`${kind} ${reference} is not in the ledger`);
    if (row === undefined) continue;
    if (state === 'refused' && !isUnsure) found.push(`${kind} ${reference} was refused and is in the ledger`);
    const atoms = BigInt(Math.round(Number(movement.amount) * 10 ** row.scale));
    const isSame = BigInt(row.atoms) === atoms && row.asset === movement.asset;
    if (!isSame || row.wallet !== driver.wallets[wallet]!.address)
      found.push(
        `${kind} ${reference} is ${row.atoms} atoms of ${row.asset} for ${row.wallet}, asked for ${movement.amount} ${movement.asset}`,
      );
  }
  return told(found);
}
