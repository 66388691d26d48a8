/**
 * The faucet: play money for wallets that try the service out.
 *
 * The references of the credits are the count: there are `CREDITS_IN_ALL` of them for each asset, `faucet:USDC:0` to
 * `faucet:USDC:1023`, and the engine takes each reference once for ever. A wallet tries them in an order of its own,
 * which is always the same, and takes the first free one. No reference is ever given back, so every credit of a wallet
 * lies before the first free one: the wallet meets all its credits on the way there, and its cap is exact as well.
 * Neither a restart nor concurrent requests pass the caps.
 */

import { createHash } from 'node:crypto';
import { assetOf, atomsOf, moveUnlessKnown } from '../books/movements.ts';
import type { Servers } from '../books/servers.ts';
import { OperatorRefusal, Refusal } from '../domain/errors.ts';
import { parseDecimal } from '../domain/units.ts';
import { FAUCET_AMOUNTS } from './markets.ts';

/** Credits of one asset that a wallet can have. */
export const CREDITS_PER_WALLET = 5;
/** Credits of one asset that all wallets together can have: a power of two. */
const CREDITS_IN_ALL = 1024;

interface FaucetCredit {
  /** In whole units, a plain decimal. */
  readonly amount: string;
  /** Further credits of the asset that the wallet can have. */
  readonly creditsLeft: number;
}

export interface Faucet {
  /**
   * Credits an asset once.
   * @param wallet lower case
   * @throws Refusal VALIDATION_ERROR for an asset that no demo market has; BAD_REQUEST when the wallet has had its
   * credits or none is left; SERVICE_UNAVAILABLE when the outcome is not known
   */
  credit(wallet: string, asset: string): Promise<FaucetCredit>;
}

/** @param creditsInAll of each asset: a power of two */
export function openFaucet(services: Servers, creditsInAll = CREDITS_IN_ALL): Faucet {
  /** The wallet that each reference was used for, as far as this process has met it. It never changes. */
  const takers = new Map<string, string>();

  /** @returns the wallet that the reference is used for, or null when it was free and this call has used it */
  async function take(wallet: string, asset: string, reference: string): Promise<string | null> {
    const known = takers.get(reference);
    if (known !== undefined) return known;
    const { scale } = await assetOf(services.engine, asset);
    const amountAtoms = atomsOf(parseDecimal(FAUCET_AMOUNTS[asset]!)!, { symbol: asset, scale });
    const movement = { kind: 'credited', wallet, asset, amountAtoms, reference } as const;
    const earlier = await moveUnlessKnown(services, movement, scale);
    takers.set(reference, earlier?.wallet ?? wallet);
    return earlier?.wallet ?? null;
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

/** Every reference of an asset, in the order in which the wallet tries them. */
function* referencesOf(wallet: string, asset: string, count: number): Generator<string> {
  const digest = createHash('sha256').update(`${wallet} ${asset}`).digest();
  const first = digest.readUInt16BE(0);
  // An odd stride meets every number below a power of two once.
  const stride = digest.readUInt16BE(2) | 1;
  for (let at = 0; at < count; at += 1) yield `faucet:${asset}:${(first + at * stride) % count}`;
}

/** Turns an operator's error into a refusal of the request, for example of a market that was never published. */
function asRefusal(error: unknown): never {
  if (error instanceof OperatorRefusal) throw new Refusal('BAD_REQUEST', error.message, { cause: error });
  throw error;
}
