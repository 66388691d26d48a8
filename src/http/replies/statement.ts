/** Writes a page of a statement. Its amounts are exact JSON numbers. */

import type { statementSchema } from '../../contract/statement.ts';
import type { Amount } from '../../contract/values.ts';
import type { Written } from '../../contract/written.ts';
import { JsonText } from '../../domain/json.ts';
import type { StatementPage, StatementSpan } from '../../ledger/index.ts';
import { decimalOf } from '../../statements/amounts.ts';
import { rowsOfLine, STATEMENT_COLUMNS } from '../../statements/statement.ts';
import { timestamp } from './timestamp.ts';

type StatementReply = Written<typeof statementSchema>;
type Line = Exclude<StatementReply, JsonText>['lines'] extends readonly (infer Item)[] ? Item : never;

export function statementReply(
  { wallet, fromMs, toMs }: StatementSpan,
  { settled, opening, stated, closing, scales }: StatementPage,
  nextCursor: string | null,
): StatementReply {
  const balances = (atomsByAsset: ReadonlyMap<string, bigint> | null) =>
    atomsByAsset &&
    [...atomsByAsset].map(([asset, atoms]) => ({
      asset,
      amount: new JsonText<Amount>(decimalOf(scales, asset, atoms)),
    }));
  const lineOf = (cells: ReturnType<typeof rowsOfLine>[number]): Line =>
    Object.fromEntries(
      STATEMENT_COLUMNS.map(({ name, isAmount }, at) => {
        const cell = cells[at] ?? null;
        return [name, isAmount && cell !== null ? new JsonText(String(cell)) : cell];
      }),
    ) as Line;
  return {
    wallet,
    from: timestamp(fromMs),
    to: timestamp(toMs),
    settledTo: settled.timeMs === null ? null : timestamp(settled.timeMs),
    opening: balances(opening),
    lines: stated.flatMap((line) => rowsOfLine(line, scales)).map(lineOf),
    closing: balances(closing),
    nextCursor,
  };
}
