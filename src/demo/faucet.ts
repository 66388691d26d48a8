/**
 * The faucet: credits play money to wallets that try the service.
 *
 * The references of the credits enforce the caps. There are `CREDITS_IN_ALL` of them for each asset, `faucet:USDC:0` to
 * `faucet:USDC:1023`, and the engine takes each reference only once. A wallet tries them in its own fixed order and
 * takes the first free one. No reference is ever freed, so all credits of a wallet come before its first free
 * reference. The wallet passes all of them on the way there, and its own cap is exact as well. Neither a restart nor
 * concurrent requests can exceed the caps.
 */

import { createHash } from 'node:crypto';
import { atomsOf, findAsset, moveUnlessKnown } from '../books/movements.ts';
import type { Servers } from '../books/servers.ts';
import { OperatorRefusal, Refusal } from '../domain/errors.ts';
import { parseDecimal } from '../domain/units.ts';
import { FAUCET_AMOUNTS } from './markets.ts';

export const CREDITS_PER_WALLET = 5;
/** Maximum credits of one asset for all wallets together; a power of two. */
const CREDITS_IN_ALL = 1024;

interface FaucetCredit {
  /** Whole units as a plain decimal. */
  readonly amount: string;
  /** Number of further credits of the asset that the wallet can have. */
  readonly creditsLeft: number;
}

export interface Faucet {
  /**
   * Credits an asset once.
   * @param wallet lower case
   * @throws Refusal VALIDATION_ERROR for an asset that no demo market has; BAD_REQUEST when the wallet has had its
   *   credits or none is left; SERVICE_UNAVAILABLE when the outcome is unknown
   */
  credit(wallet: string, asset: string): Promise<FaucetCredit>;
}

/** @param creditsInAll of each asset: a power of two */
export function openFaucet(services: Servers, creditsInAll = CREDITS_IN_ALL): Faucet {
  /** The wallet that used each reference, as far as this process knows. It never changes. */
  const takers = new Map<string, string>();

  /**
   * @returns the wallet that used the reference before, or null when the reference was free and this call has used it
   */
  async function take(wallet: string, asset: string, reference: string): Promise<string | null> {
    const known = takers.get(reference);
    if (known !== undefined) return known;
    const { scale } = await findAsset(services.engine, asset);
    const amountAtoms = atomsOf(parseDecimal(FAUCET_AMOUNTS[asset]!)!, { symbol: asset, scale });
    const movement = { kind: 'credited', wallet, asset, amountAtoms, reference } as const;
    const { movement: earlier, duplicate } = await moveUnlessKnown(services, movement, scale);
    takers.set(reference, earlier.wallet);
    return duplicate ? earlier.wallet : null;
  }

  return {
    async credit(wallet, asset) {
      if (!Object.hasOwn(FAUCET_AMOUNTS, asset)) {
        const assets = Object.keys(FAUCET_AMOUNTS).join(', ');
        throw new Refusal('VALIDATION_ERROR', `asset: must be one of ${assets}`);
      }
      let received = 0;
      for (const reference of referencesOf(wallet, asset, creditsInAll)) {
        const taker = await take(wallet, asset, reference).catch(asRefusal);
        if (taker === null)
          return { amount: FAUCET_AMOUNTS[asset]!, creditsLeft: CREDITS_PER_WALLET - received - 1 };
        if (taker !== wallet) continue;
        received += 1;
        if (received === CREDITS_PER_WALLET)
          throw new Refusal(
            'BAD_REQUEST',
            `the faucet has given this wallet all the ${asset} it gives a wallet`,
          );
      }
      throw new Refusal('BAD_REQUEST', `the faucet has no ${asset} left`);
    },
  };
}

/** Yields every reference of an asset, in the order in which the wallet tries them. */
function* referencesOf(wallet: string, asset: string, count: number): Generator<string> {
  const digest = createHash('sha256').update(`${wallet} ${asset}`).digest();
  const first = digest.readUInt16BE(0);
  // An odd stride visits every number below a power of two once.
  const stride = digest.readUInt16BE(2) | 1;
  for (let at = 0; at < count; at += 1) yield `faucet:${asset}:${(first + at * stride) % count}`;
}

/** Turns an operator's error into a refusal of the request, for example of a market that was never published. */
function asRefusal(error: unknown): never {
  if (error instanceof OperatorRefusal) throw new Refusal('BAD_REQUEST', error.message, { cause: error });
  throw error;
}
