/** Requests, confirms, returns and lists withdrawals that custody pays later. */

import { type Command, Option } from 'commander';
import { moveFundsOnce, scaledMovement } from '../books/movements.ts';
import { endWithdrawal, findWithdrawal, listWithdrawals, type WithdrawalEnd } from '../books/withdrawals.ts';
import type { Decimal } from '../domain/units.ts';
import { WITHDRAWAL_STATES, type WithdrawalState } from '../domain/withdrawal-states.ts';
import { column, renderTable, shown } from '../terminal/table.ts';
import { WALLET } from './account.ts';
import { type ActOptions, actOf, withAct } from './acts.ts';
import { readDecimal, readSequence, readWallet } from './arguments.ts';
import type { OperatorServices } from './services.ts';
import { addNoun, type CommandResult, type RunCommand, shortResult } from './verb.ts';

const REFERENCE = 'reference of the withdrawal';
const REPEAT = '\nIf the outcome is unknown, repeat the command: it counts only once.';

const COLUMNS = [
  ...['REFERENCE', 'WALLET', 'ASSET'].map((title) => column(title)),
  column('AMOUNT', 'point'),
  ...['REQUESTED', 'ENDED', 'TRANSACTION', 'HOLD'].map((title) => column(title)),
];

/** Withdrawals that are read at once. */
const PAGE = 500;

export function addWithdrawalCommands(program: Command, perform: RunCommand): void {
  const withdrawal = addNoun(
    program,
    'withdrawal',
    'manage withdrawals that custody pays after their request',
  );
  withAct(withdrawal.command('request'))
    .argument('<wallet>', WALLET, readWallet)
    .argument('<asset>', 'asset symbol, like USDC')
    .argument('<amount>', 'decimal amount, at most as fine as the atom of the asset', readDecimal)
    .requiredOption('--reference <id>', 'unique reference of the withdrawal')
    .addHelpText('after', REPEAT)
    .description('take an amount from the available balance; it is pending until it is confirmed or returned')
    .action((wallet: string, asset: string, amount: Decimal, options: ActOptions & { reference: string }) =>
      perform(async (services) => {
        const { reference } = options;
        const asked = { kind: 'requested', wallet, asset, amount, reference } as const;
        const { scale, ...movement } = await scaledMovement(services.engine, asked);
        const { duplicate } = await moveFundsOnce(services, movement, scale, actOf(options));
        return told(services, reference, duplicate);
      }),
    );
  withAct(withdrawal.command('confirm'))
    .argument('<reference>', REFERENCE)
    .requiredOption('--txid <id>', 'transaction that paid the withdrawal')
    .addHelpText('after', REPEAT)
    .description('confirm that a transaction paid a withdrawal')
    .action((reference: string, { txid, ...options }: ActOptions & { txid: string }) =>
      perform((services) => end(services, reference, { kind: 'confirmed', txid }, options)),
    );
  withAct(withdrawal.command('return'))
    .argument('<reference>', REFERENCE)
    .addHelpText('after', REPEAT)
    .description('give the amount of a withdrawal back to the wallet')
    .action((reference: string, options: ActOptions) =>
      perform((services) => end(services, reference, { kind: 'returned' }, options)),
    );
  withdrawal
    .command('show')
    .argument('<reference>', REFERENCE)
    .description('show a withdrawal and its state')
    .action((reference: string) => perform((services) => told(services, reference, false)));
  withdrawal
    .command('list')
    .addOption(
      new Option('--state <state>', 'only withdrawals of this state')
        .choices(WITHDRAWAL_STATES)
        .default('pending'),
    )
    .option('--after <sequence>', 'only those after this one, by their `sequence` (--json)', readSequence, 0)
    .description(`list withdrawals in the order in which they came into their state, at most ${PAGE} at once`)
    .action(({ state, after }: { state: WithdrawalState; after: number }) =>
      perform((services) => list(services, state, after)),
    );
}

async function list(
  services: OperatorServices,
  state: WithdrawalState,
  after: number,
): Promise<CommandResult> {
  const withdrawals = await listWithdrawals(services, state, after, PAGE);
  const rows = withdrawals.map((one) => [
    shown(one.reference),
    one.wallet,
    one.asset,
    one.amount,
    one.requestedAt,
    one.endedAt ?? '-',
    one.txid === null ? '-' : shown(one.txid),
    one.held ? 'on hold' : '-',
  ]);
  return {
    document: { withdrawals },
    text: (paint) => renderTable(COLUMNS, rows, paint, `(no ${state} withdrawals)`),
  };
}

async function end(
  services: OperatorServices,
  reference: string,
  how: WithdrawalEnd,
  options: ActOptions,
): Promise<CommandResult> {
  const { duplicate } = await endWithdrawal(services, reference, how, actOf(options));
  return told(services, reference, duplicate);
}

async function told(
  services: OperatorServices,
  reference: string,
  duplicate: boolean,
): Promise<CommandResult> {
  const withdrawal = await findWithdrawal(services, reference);
  const { wallet, asset, amount, state, txid } = withdrawal;
  const paid = txid === null ? '' : ` by ${shown(txid)}`;
  const earlier = duplicate ? ': known already, nothing moved' : '';
  return shortResult(
    `withdrawal ${shown(reference)} of ${amount} ${asset} for ${wallet} is ${state}${paid}${earlier}`,
    { ...withdrawal, duplicate },
  );
}
