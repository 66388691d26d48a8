/** The routes for operators as a target: their document, keys of several rights, and values that their schemas take. */

import { OPERATOR_RIGHTS } from '../../../src/domain/operator-rights.ts';
import type { Random } from '../../support/seed.ts';
import { ask, bodyOf, placeResting } from './client.ts';
import { Lives, type Unfinished } from './lives.ts';
import { operationsOf } from './operations.ts';
import type { Scene } from './target.ts';
import { Judge } from './verdict.ts';
import { Line } from './wire.ts';
import { type SignedIn, World } from './world.ts';

const DOCUMENT = '/operator/v1/openapi.json';
const RIGHTS = OPERATOR_RIGHTS.join(',');
/** Options of the keys, the first of which makes the first valid requests. */
const KEYS: readonly (readonly string[])[] = [
  ['--may', RIGHTS],
  ['--may', RIGHTS],
  ['--may', RIGHTS],
  ['--may', RIGHTS, '--cap', 'USDC=100/day'],
  ['--may', 'read'],
];
/** Options of the key that asks for movements. */
const ASKING = ['--may', RIGHTS, '--two-persons', 'USDC=1'];
/** The markets that hostile operators change, the second of them halted. Ordinary clients trade on others. */
const MARKETS = ['OPS/USDC', 'HALT/USDC'] as const;
const NEW_SYMBOLS = 40;
const ASSET = 'TST';
/** Withdrawals that are there at first, one in each state, and the number of other references. */
const WITHDRAWALS = ['hostile-0', 'hostile-1', 'hostile-2'] as const;
const REFERENCES = 5_000;
/** The only transaction that requests name: the same one again is no contradiction. */
const TXID = 'a';
const reason = 'hostile';
/** Many of their routes ask for a state that an earlier request must have made. */
const LEAST_JUDGED = 100;
/** The end of each take. The routes allow seven days. */
const UNTIL = new Date(Date.now() + 86_400_000).toISOString();
/** Live orders that may be voided. */
const ORDERS = 60;

/** Values of the names that the routes for operators give another meaning, or have alone. */
class OperatorWorld extends World {
  readonly #orderIds: readonly string[];
  readonly #unfinished: Unfinished;

  constructor(wallets: readonly SignedIn[], orderIds: readonly string[], unfinished: Unfinished) {
    super(wallets, MARKETS);
    this.#orderIds = orderIds;
    this.#unfinished = unfinished;
  }

  #reference(dice: Random): string {
    const { pending, announced, waiting } = this.#unfinished;
    if (dice.chance(0.7)) return dice.pick([pending, announced, waiting.reference]);
    return dice.chance(0.6) ? dice.pick(WITHDRAWALS) : `hostile-${dice.below(REFERENCES)}`;
  }

  override valueOf(name: string, wallet: SignedIn, dice: Random): unknown {
    const drawn = (one: string): unknown => this.valueOf(one, wallet, dice);
    const values: Readonly<Record<string, () => unknown>> = {
      movement: () => ({
        reference: drawn('reference'),
        kind: dice.pick(['deposit', 'withdrawal']),
        wallet: drawn('wallet'),
        asset: drawn('asset'),
        amount: drawn('amount'),
        reason,
      }),
      reference: () => this.#reference(dice),
      askedAt: () => this.#unfinished.waiting.askedAt,
      until: () => UNTIL,
      txid: () => TXID,
      wallet: () => dice.pick(this.wallets).address,
      asset: () => dice.pick(['USDC', 'ETH']),
      amount: () => dice.pick(['0.5', '1', 2, '30']),
      orderId: () => dice.pick(this.#orderIds),
      // One name for markets and for assets.
      symbol: () => {
        const number = dice.below(NEW_SYMBOLS);
        const often = [MARKETS[1], `N${number}/USDC`, ASSET];
        return dice.pick([MARKETS[0], ...often, ...often]);
      },
      market: () => dice.pick(MARKETS),
      tickSize: () => '0.01',
      sizeStep: () => dice.pick([null, '0.0001']),
      minOrderSize: () => dice.pick([null, '0.001']),
      maxOrderSize: () => dice.pick([null, '1000']),
      minNotional: () => dice.pick([null, '1']),
      referencePrice: () => dice.pick([null, '2000']),
      ucid: () => '1',
      minWithdraw: () => '1',
      networkId: () => '1',
      // Two months: the first is refused while the second is closed. None of them has entries.
      month: () => dice.pick(['2026-01', '2026-02']),
      empty: () => true,
      // Holds are paged by wallet.
      cursor: () => (dice.chance(0.5) ? drawn('wallet') : super.valueOf('cursor', wallet, dice)),
      since: () => '2026-01-01',
      after: () => `${dice.below(1_000)}-${dice.below(9)}`,
      version: () => dice.pick(['1', '2', null]),
    };
    return Object.hasOwn(values, name) ? values[name]!() : super.valueOf(name, wallet, dice);
  }
}

/** Returns the scene of requests to operator-api; undefined where the cluster has none. */
export async function openOperators(scene: Scene, owner: SignedIn): Promise<Scene | undefined> {
  const { target, findings, secrets, world } = scene;
  const { cluster } = target;
  const ports = cluster.of('operator-api').map(({ port }) => port);
  if (ports.length === 0) return undefined;
  const createKey = async (name: string, options: readonly string[]): Promise<string> => {
    const called = `hostile-${name}-${Date.now()}`;
    const { key } = (await cluster.operate('key', 'create', called, ...options)) as { key: string };
    secrets.addKey(key);
    return key;
  };
  const keys: SignedIn[] = [];
  for (const [index, options] of KEYS.entries())
    keys.push({ ...world.wallets[index]!, token: await createKey(`${index}`, options) });
  const document = await prepared(ports[0]!, keys[0]!);
  const lives = new Lives(ports[0]!, keys[0]!, await createKey('asking', ASKING));
  const unfinished = await lives.first();
  return {
    ...scene,
    api: ports,
    streams: [],
    everyPort: ports,
    clients: keys,
    operations: operationsOf(document),
    stock: (turn) => lives.begin(unfinished, turn),
    world: new OperatorWorld(keys, await restingOrders(scene, owner), unfinished),
    judge: new Judge(document, findings),
    option: '--operators ',
    leastJudged: LEAST_JUDGED,
  };
}

/** Makes the markets and the withdrawals. @returns the document of the routes */
async function prepared(port: number, { token, address }: SignedIn): Promise<Record<string, unknown>> {
  const line = new Line(port);
  const post = async (path: string, body: object): Promise<void> => {
    const reply = await ask(line, { method: 'POST', path: `/operator/v1${path}`, token, body });
    if (reply.status > 201) throw new Error(`${path} answered ${reply.text}`);
  };
  await post('/assets', { symbol: ASSET, scale: 6, reason });
  for (const symbol of MARKETS)
    await post('/markets', { symbol, tickSize: '0.01', sizeStep: '0.0001', feeBps: 10, reason });
  await post(`/markets/${encodeURIComponent(MARKETS[1])}`, { status: 'halted', reason });
  for (const reference of WITHDRAWALS)
    await post('/withdrawals', { reference, wallet: address, asset: 'USDC', amount: '1', reason });
  await post(`/withdrawals/${WITHDRAWALS[0]}/return`, { reason });
  await post(`/withdrawals/${WITHDRAWALS[1]}/confirm`, { txid: TXID });
  const document = bodyOf(await ask(line, { method: 'GET', path: DOCUMENT }));
  line.close();
  return document;
}

async function restingOrders({ api }: Scene, { token }: SignedIn): Promise<string[]> {
  const line = new Line(api[0]!);
  const ids: string[] = [];
  for (let left = ORDERS; left > 0; left -= 1) {
    const reply = await placeResting(line, token);
    if (reply.status !== 200) throw new Error(`no order rests: ${reply.text}`);
    ids.push(String(bodyOf(reply).id));
  }
  line.close();
  return ids;
}
