/** Credits, debits, shows, holds and releases a wallet's account. */

import type { Command } from 'commander';
import { readAccount } from '../books/accounts.ts';
import { type AskedMovement, moveFundsOnce, scaledMovement } from '../books/movements.ts';
import type { Act } from '../domain/act.ts';
import { Refusal } from '../domain/errors.ts';
import { type Decimal, formatScaled } from '../domain/units.ts';
import { EventRefused } from '../engine/index.ts';
import { column, renderFacts, renderTable, shown } from '../terminal/table.ts';
import { type ActOptions, actOf, withAct } from './acts.ts';
import { readDecimal, readWallet } from './arguments.ts';
import { closedOrders } from './closed-orders.ts';
import { bookFile } from './movement-file.ts';
import type { OperatorServices } from './services.ts';
import { addNoun, type CommandResult, type RunCommand, shortResult } from './verb.ts';

export const WALLET = 'address: 0x and 40 hex digits, in any case';

export function addAccountCommands(program: Command, perform: RunCommand): void {
  const account = addNoun(program, 'account', 'manage balances, deposits, withdrawals and holds of wallets');
  addMovement(account, perform, 'credited');
  addMovement(account, perform, 'debited');

  account
    .command('show')
    .argument('<wallet>', WALLET, readWallet)
    .description('show the balances, live orders, hold and terms of a wallet')
    .action((wallet: string) => perform((services) => show(services, wallet)));

  withAct(account.command('hold'))
    .argument('<wallet>', WALLET, readWallet)
    .description('put a wallet on hold: cancel its live orders, and refuse its orders and withdrawals')
    .action((wallet: string, options: ActOptions) =>
      perform(async ({ engine }) => {
        const closed = await engine.switches.hold(wallet, actOf(options));
        return closedOrders(`${wallet} is on hold`, closed, { wallet, held: true });
      }),
    );

  withAct(account.command('release'))
    .argument('<wallet>', WALLET, readWallet)
    .description('release a wallet from hold')
    .action((wallet: string, options: ActOptions) =>
      perform(async ({ engine }) => {
        await engine.switches.release(wallet, actOf(options));
        return shortResult(`${wallet} is not on hold`, { wallet, held: false });
      }),
    );
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

async function show(services: OperatorServices, wallet: string): Promise<CommandResult> {
  const document = await readAccount(services, wallet);
  const { held, terms, balances, liveOrders } = document;
  return {
    document,
    text: (paint) =>
      [
        renderFacts(
          [
            ['wallet', wallet],
            ['custody hold', held ? 'yes: orders and withdrawals are refused' : 'no'],
            ['terms', termsInWords(terms)],
          ],
          paint,
        ),
        renderTable(
          BALANCES,
          balances.map((balance) => [balance.asset, balance.total, balance.available, balance.reserved]),
          paint,
          '(no balances)',
        ),
        renderTable(
          LIVE_ORDERS,
          liveOrders.map((order) => [
            order.id,
            order.market,
            order.side,
            order.price,
            order.size,
            order.remaining,
            order.clientOrderId ?? '-',
          ]),
          paint,
          '(no live orders)',
        ),
      ].join('\n'),
  };
}

const BALANCES = [
  column('ASSET'),
  column('TOTAL', 'point'),
  column('AVAILABLE', 'point'),
  column('RESERVED', 'point'),
];

const LIVE_ORDERS = [
  column('ORDER'),
  column('MARKET'),
  column('SIDE'),
  column('PRICE', 'point'),
  column('SIZE', 'point'),
  column('REMAINING', 'point'),
  column('CLIENT ORDER ID'),
];

function termsInWords({ accepted, required }: { accepted: string | null; required: string | null }): string {
  if (required === null) return accepted === null ? 'none required' : `none required; accepted ${accepted}`;
  if (accepted === required) return `accepted ${accepted}, the required version`;
  return `accepted ${accepted ?? 'none'}; ${required} is required: it cannot place orders`;
}
