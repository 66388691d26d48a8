/** Credits, debits, shows, holds and releases a wallet's account. */

import type { Command } from 'commander';
import { type AskedMovement, moveFundsOnce, scaledMovement } from '../books/movements.ts';
import type { Act } from '../domain/act.ts';
import { Refusal } from '../domain/errors.ts';
import { type Decimal, formatScaled } from '../domain/units.ts';
import { EventRefused } from '../engine/index.ts';
import { shown } from '../terminal/table.ts';
import { type ActOptions, actOf, withAct } from './act-options.ts';
import { readDecimal, readWallet, WALLET } from './arguments.ts';
import { bookFile } from './movement-file.ts';
import { addOperation } from './operation.ts';
import { getWallet, holdWallet, releaseWallet } from './operations/wallets.ts';
import type { OperatorServices } from './services.ts';
import { addNoun, type CommandResult, type RunCommand, shortResult } from './verb.ts';

export function addAccountCommands(program: Command, perform: RunCommand): void {
  const account = addNoun(program, 'account', 'manage balances, deposits, withdrawals and holds of wallets');
  addMovement(account, perform, 'credited');
  addMovement(account, perform, 'debited');

  for (const one of [getWallet, holdWallet, releaseWallet]) addOperation(account, perform, one);
}

const MOVEMENTS = {
  credited: {
    verb: 'credit',
    description: 'book a deposit; a reference counts only once',
    reverses: 'reference of the withdrawal that this corrects, of the same wallet and asset',
    sentence: (amount: string, wallet: string) => `credited ${amount} to ${wallet}`,
  },
  debited: {
    verb: 'debit',
    description: 'book a withdrawal from the available balance; a reference counts only once',
    reverses: 'reference of the deposit that this corrects, of the same wallet and asset',
    sentence: (amount: string, wallet: string) => `debited ${amount} from ${wallet}`,
  },
} as const;

function addMovement(account: Command, perform: RunCommand, kind: keyof typeof MOVEMENTS): void {
  withAct(account.command(MOVEMENTS[kind].verb))
    .argument('[wallet]', WALLET, readWallet)
    .argument('[asset]', 'asset symbol, like USDC')
    .argument('[amount]', 'decimal amount, at most as fine as the atom of the asset', readDecimal)
    .option('--reference <id>', 'unique reference of the movement')
    .option('--reverses <id>', MOVEMENTS[kind].reverses)
    .option('--file <path>', 'book lines of JSON instead; - reads the standard input')
    .addHelpText('after', MOVEMENT_HELP)
    .description(MOVEMENTS[kind].description)
    .action((...[wallet, asset, amount, options, command]: MovementArguments) => {
      const { file, reference, reverses } = options;
      const words = [wallet, asset, amount, reference];
      if (file !== undefined) {
        if ([...words, reverses].some((word) => word !== undefined))
          command.error('error: with --file, the lines name the movements');
        return perform(async (services, { terminal }) => {
          await bookFile(services, kind, file, actOf(options), terminal);
          return undefined;
        });
      }
      if (wallet === undefined || asset === undefined || amount === undefined || reference === undefined)
        return command.error('error: wallet, asset, amount and --reference are required without --file');
      const movement = { reference, ...(reverses !== undefined && { reverses }) };
      return perform((services) =>
        move(services, { ...movement, kind, wallet, asset, amount }, actOf(options)),
      );
    });
}

type MovementArguments = [
  wallet: string | undefined,
  asset: string | undefined,
  amount: Decimal | undefined,
  options: MovementOptions,
  command: Command,
];

const MOVEMENT_HELP = `
If the outcome is unknown, repeat the command with the same reference.
A line of a file is like {"reference": "…", "wallet": "0x…", "asset": "USDC", "amount": "12.5", "reason": "…"}; the reason
may be left out. Each line is answered by a line. The exit status is 1 if one of them was refused.`;

interface MovementOptions extends ActOptions {
  reference?: string;
  reverses?: string;
  file?: string;
}

async function move(
  services: OperatorServices,
  asked: AskedMovement & { readonly kind: keyof typeof MOVEMENTS },
  act: Act,
): Promise<CommandResult> {
  const { amount, ...movement } = asked;
  const { kind, wallet, reference } = movement;
  try {
    const { scale, ...scaled } = await scaledMovement(services.engine, asked);
    const { duplicate } = await moveFundsOnce(services, scaled, scale, act);
    const moved = formatScaled(scaled.amountAtoms, scale);
    const sentence = MOVEMENTS[kind].sentence(`${moved} ${movement.asset}`, wallet);
    return shortResult(
      `${sentence} (reference ${shown(reference)})${duplicate ? ': already booked, nothing moved' : ''}`,
      { ...movement, amount: moved, duplicate },
    );
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'SERVICE_UNAVAILABLE') throw error;
    if (error instanceof EventRefused) throw error;
    throw new Refusal(
      error.code,
      `${error.message}. The outcome is unknown: repeat the command with the same reference, which counts only once`,
      { cause: error },
    );
  }
}
