/** Writes the state of the engine into a Postgres that lacks its events. */

import { adoptEngine, type Seam } from '../../books/adopt/index.ts';
import { OperatorRefusal } from '../../domain/errors.ts';
import { decimalOf } from '../../statements/amounts.ts';
import type { Paint } from '../../terminal/paint.ts';
import { column, formatCounted, renderTable } from '../../terminal/table.ts';
import { type ActOptions, actOf } from '../act-options.ts';
import { readWholeNumber } from '../arguments.ts';
import type { WorkingVerb } from '../verb.ts';

interface AdoptOptions extends ActOptions {
  confirm?: number;
}

/** Balances that are listed on the terminal; --json has them all. */
const LISTED_BALANCES = 100;

function seamText({ balances, orders, scales, ...seam }: Seam): (paint: Paint) => string {
  const { afterSequence, sequence, lastSequence, settings, pendingWithdrawals, announcedDeposits } = seam;
  const counts = [
    `${formatCounted(orders.placed)} live orders are new, ${formatCounted(orders.filled)} were filled further`,
    `${formatCounted(orders.ended)} have ended, ${formatCounted(settings)} settings changed`,
  ].join(', ');
  const facts = [
    `events ${afterSequence + 1} to ${sequence} are lost: Postgres has none of them, and the engine only what they left`,
    sequence === lastSequence
      ? 'no event follows them'
      : `events ${sequence + 1} to ${lastSequence} follow, and settlement writes them`,
    counts,
    `${formatCounted(balances.length)} balances differ${balances.length > LISTED_BALANCES ? '; the first ones:' : ''}`,
  ];
  const rows = balances
    .slice(0, LISTED_BALANCES)
    .map(({ account, asset, atoms }) => [account, asset, String(decimalOf(scales, asset, atoms))]);
  const pending = `${formatCounted(pendingWithdrawals)} withdrawals are pending by Postgres: ask custody which of them have ended`;
  const announced = `${formatCounted(announcedDeposits)} deposits are announced by Postgres: ask custody which of them were credited, and drop those`;
  return (paint) =>
    [
      ...facts,
      ...(rows.length > 0
        ? [
            renderTable(
              [column('ACCOUNT'), column('ASSET'), column('CHANGE', 'point')],
              rows,
              paint,
            ).trimEnd(),
          ]
        : []),
      ...(pendingWithdrawals > 0 ? [pending] : []),
      ...(announcedDeposits > 0 ? [announced] : []),
      seam.isWritten ? `adopted: the ledger continues after event ${sequence}` : '',
    ].join('\n');
}

export const adoptVerb: WorkingVerb = {
  verb: 'adopt',
  isAct: true,
  describe: (command) =>
    command
      .option('--confirm <event>', 'the last lost event, as the command has named it', readWholeNumber)
      .addHelpText(
        'after',
        `
For a Postgres that was restored to before the events that the engine still has. Stop all processes but Redis and
Postgres first. Without --confirm it lists what the lost events changed, and changes nothing. With --confirm the ledger
gets the engine's balances, live orders, markets and settings; start settlement again afterwards. The trades, deposits
and withdrawals of the lost events stay lost, and so do their references and client order ids.`,
      )
      .description(
        'write the state of the engine into a Postgres that lacks events which the engine has dropped',
      ),
  work:
    ({ confirm, ...options }: AdoptOptions) =>
    async (services) => {
      const seam = await adoptEngine(services, { act: actOf(options), confirmed: confirm });
      const { scales, ...shown } = seam;
      const balances = seam.balances.map(({ account, asset, atoms }) => ({
        account,
        asset,
        change: decimalOf(scales, asset, atoms),
      }));
      return {
        document: { ...shown, balances },
        text: (paint) => `${seamText(seam)(paint).trimEnd()}\n`,
        failure: seam.isWritten
          ? undefined
          : new OperatorRefusal(
              'CONFIRM',
              `nothing was changed. To adopt the engine, repeat the command with --confirm ${seam.sequence}`,
            ),
      };
    },
};
