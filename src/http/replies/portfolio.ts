/** Writes balances and their value: docs/api.md 2.4. */

import type { balanceSchema, portfolioSchema } from '../../contract/portfolio.ts';
import type { Amount } from '../../contract/values.ts';
import type { Written } from '../../contract/written.ts';
import { JsonText } from '../../domain/json.ts';
import type { Asset } from '../../domain/market.ts';
import { formatScaled, sumOfProducts } from '../../domain/units.ts';

interface Holding {
  readonly asset: Asset;
  readonly availableAtoms: bigint;
  readonly reservedAtoms: bigint;
  /** Value of one whole unit in the numeraire, as a plain decimal; 0 if the asset has no price. */
  readonly mark: string;
}

export function portfolioReply(
  wallet: string,
  holdings: readonly Holding[],
): Written<typeof portfolioSchema> {
  const worth = (atomsOf: (holding: Holding) => bigint): JsonText<Amount> =>
    new JsonText(
      sumOfProducts(
        holdings.map((holding) => ({
          atoms: atomsOf(holding),
          scale: holding.asset.scale,
          price: holding.mark,
        })),
      ),
    );
  return {
    address: wallet,
    equity: worth(totalAtoms),
    freeCollateral: worth((holding) => holding.availableAtoms),
    balances: holdings.map(balanceReply),
    positions: [],
  };
}

const totalAtoms = ({ availableAtoms, reservedAtoms }: Holding): bigint => availableAtoms + reservedAtoms;

function balanceReply(holding: Holding): Written<typeof balanceSchema> {
  const { asset, availableAtoms, reservedAtoms } = holding;
  const amount = (atoms: bigint): JsonText<Amount> => new JsonText(formatScaled(atoms, asset.scale));
  const total = amount(totalAtoms(holding));
  return {
    asset: asset.symbol,
    total,
    reserved: amount(reservedAtoms),
    available: amount(availableAtoms),
    amount: total,
  };
}
