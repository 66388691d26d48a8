/** Keys of the routes for operators: makes and finds them. */

import { createHash, randomBytes } from 'node:crypto';
import type { Act } from '../domain/act.ts';
import { OperatorRefusal } from '../domain/errors.ts';
import { type OperatorKey, type OperatorRight, OTHER_ASSETS } from '../domain/operator-rights.ts';
import { type Decimal, formatDecimal, isPositive } from '../domain/units.ts';
import { atomsOf, findAsset } from './movements.ts';
import type { Servers } from './servers.ts';

const KEY = /^rbk_[A-Za-z0-9_-]{43}$/;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

const digestOf = (key: string): Buffer => createHash('sha256').update(key).digest();

export interface NewKey {
  readonly name: string;
  readonly rights: readonly OperatorRight[];
  /** Maximum that the key may move in a day (UTC), by asset or `OTHER_ASSETS`. */
  readonly caps: ReadonlyMap<string, Decimal>;
  /** Maximum that the key may move without the approval of another one, likewise. */
  readonly twoPersons?: ReadonlyMap<string, Decimal>;
}

/**
 * Makes a key and keeps its digest.
 * @returns the key, which nobody can read again
 * @throws OperatorRefusal INVALID_KEY_NAME | KEY_EXISTS | INVALID_AMOUNT | UNKNOWN_ASSET
 */
export async function createKey(
  { engine, ledger }: Servers,
  { name, rights, caps, twoPersons = new Map() }: NewKey,
  act: Act,
): Promise<string> {
  if (!NAME.test(name))
    throw new OperatorRefusal(
      'INVALID_KEY_NAME',
      'the name of a key is 1 to 64 letters, digits, dots, hyphens or underscores, a letter or digit first',
    );
  for (const [symbol, cap] of caps)
    if (!isPositive(cap))
      throw new OperatorRefusal('INVALID_AMOUNT', `the cap of ${symbol} must be positive`);
  for (const [symbol, limit] of [...caps, ...twoPersons])
    if (symbol !== OTHER_ASSETS) atomsOf(limit, await findAsset(engine, symbol));
  const known = (await ledger.keys.all()).some((one) => one.name === name);
  if (known) throw keyExists(name);
  const key = `rbk_${randomBytes(32).toString('base64url')}`;
  const digest = digestOf(key);
  const written = writtenLimits(caps);
  const alone = writtenLimits(twoPersons);
  // All of the key is in the act, which a reconcile compares with its row.
  const limits = [
    ...written.map(([asset, cap]) => `${asset}=${cap}/day`),
    ...alone.map(([asset, limit]) => `two-persons:${asset}=${limit}`),
  ];
  const after = [rights.join(','), ...limits, `sha256:${digest.toString('hex')}`].join(' ');
  await engine.acts.note({ name: 'key create', subject: name, after }, act);
  const made = {
    name,
    rights,
    caps: Object.fromEntries(written),
    twoPersons: Object.fromEntries(alone),
    digest,
  };
  if (!(await ledger.keys.add(made))) throw keyExists(name);
  return key;
}

const writtenLimits = (limits: ReadonlyMap<string, Decimal>) =>
  [...limits].sort().map(([asset, limit]) => [asset, formatDecimal(limit)] as const);

const keyExists = (name: string): OperatorRefusal =>
  new OperatorRefusal('KEY_EXISTS', `a key of the name ${name} exists or existed: choose another name`);

/** Returns the key that a request sent, if it is in force. */
export const findKey = async (
  { ledger }: Pick<Servers, 'ledger'>,
  sent: string,
): Promise<OperatorKey | undefined> => (KEY.test(sent) ? ledger.keys.find(digestOf(sent)) : undefined);

/**
 * Revokes a key at once and for ever.
 * @throws OperatorRefusal UNKNOWN_KEY
 */
export async function revokeKey({ engine, ledger }: Servers, name: string, act: Act): Promise<OperatorKey> {
  // Revoked first: a key that leaked must end also while the engine is away.
  const revoked = await ledger.keys.revoke(name);
  if (revoked === undefined) throw new OperatorRefusal('UNKNOWN_KEY', `there is no key of the name ${name}`);
  await engine.acts.note({ name: 'key revoke', subject: name }, act);
  return revoked;
}
