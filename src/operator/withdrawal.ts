/** Requests, confirms, returns and lists withdrawals that custody pays later. */

import { type Command, Option } from 'commander';
import { listWithdrawals } from '../books/withdrawals.ts';
import { WITHDRAWAL_STATES, type WithdrawalState } from '../domain/withdrawal-states.ts';
import { column, renderTable, shown } from '../terminal/table.ts';
import { readSequence } from './arguments.ts';
import { addOperation } from './operation.ts';
import {
  confirmWithdrawal,
  getWithdrawal,
  requestWithdrawal,
  returnWithdrawal,
} from './operations/withdrawals.ts';
import type { OperatorServices } from './services.ts';
import { addNoun, type CommandResult, type RunCommand } from './verb.ts';

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
  for (const one of [requestWithdrawal, confirmWithdrawal, returnWithdrawal, getWithdrawal])
    addOperation(withdrawal, perform, one);
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
