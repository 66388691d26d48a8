/** Shows a wallet, holds and releases it, and lists the wallets on hold. */

import { z } from 'zod';
import { readAccount } from '../../books/accounts.ts';
import { inLowerCase, limit, reasonRequest, walletRequest } from '../../contract/operator.ts';
import { assetSymbol, decimalText, marketSymbol, side, timestamp, wallet } from '../../contract/values.ts';
import { isoTime } from '../../statements/amounts.ts';
import { column, renderFacts, renderTable } from '../../terminal/table.ts';
import { readWallet, WALLET } from '../arguments.ts';
import { closedOrders, endedOrders } from '../closed-orders.ts';
import { type Noun, operation, replyNames } from '../operation.ts';
import { shortResult } from '../verb.ts';
import { getMovementChanges } from './changes.ts';
import { getMovement, postMovements } from './movements.ts';

const BALANCES = [
  column('ASSET'),
  column('TOTAL', 'point'),
  column('AVAILABLE', 'point'),
  column('RESERVED', 'point'),
  column('OWED', 'point'),
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

const accountSchema = z
  .strictObject({
    wallet,
    held: z.boolean().describe('on custody hold'),
    terms: z.strictObject({ accepted: z.string().nullable(), required: z.string().nullable() }),
    balances: z.array(
      z.strictObject({
        asset: assetSymbol,
        total: decimalText,
        available: decimalText,
        reserved: decimalText.describe('held by live orders'),
        receivable: decimalText.describe(
          'what the wallet owes since a deposit was reversed that it had spent; it withdraws nothing until it is paid',
        ),
      }),
    ),
    liveOrders: z.array(
      z.strictObject({
        id: z.string(),
        market: marketSymbol,
        side,
        price: decimalText,
        size: decimalText,
        remaining: decimalText,
        clientOrderId: z.string().nullable(),
      }),
    ),
  })
  .register(replyNames, { id: 'Account' });

const holdSchema = z
  .strictObject({ wallet, held: z.boolean(), ...endedOrders })
  .register(replyNames, { id: 'Hold' });

export const getWallet = operation({
  id: 'getWallet',
  tag: 'Wallets',
  summary: 'Returns balances, live orders, hold and terms of a wallet',
  method: 'GET',
  path: '/wallets/:wallet',
  rights: ['read'],
  params: walletRequest,
  reply: accountSchema,
  run: async (services, { wallet }) => ({ reply: await readAccount(services, wallet) }),
  verbs: [
    {
      verb: 'show',
      describe: (command) =>
        command
          .argument('<wallet>', WALLET, readWallet)
          .description('show the balances, live orders, hold and terms of a wallet'),
      input: (wallet: string) => ({ wallet }),
      answer({ reply }) {
        const { wallet, held, terms, balances, liveOrders } = reply;
        const facts = [
          ['wallet', wallet],
          ['custody hold', held ? 'yes: orders and withdrawals are refused' : 'no'],
          ['terms', termsInWords(terms)],
        ] as const;
        const balanceRows = balances.map(({ asset, total, available, reserved, receivable }) => [
          asset,
          total,
          available,
          reserved,
          receivable,
        ]);
        const orderRows = liveOrders.map(({ id, market, side, price, size, remaining, clientOrderId }) => [
          id,
          market,
          side,
          price,
          size,
          remaining,
          clientOrderId ?? '-',
        ]);
        return {
          document: reply,
          text: (paint) =>
            [
              renderFacts(facts, paint),
              renderTable(BALANCES, balanceRows, paint, '(no balances)'),
              renderTable(LIVE_ORDERS, orderRows, paint, '(no live orders)'),
            ].join('\n'),
        };
      },
    },
  ],
});

export const holdWallet = operation({
  id: 'holdWallet',
  tag: 'Wallets',
  summary: 'Puts a wallet on custody hold and cancels its live orders',
  description: 'The wallet can then neither place orders nor withdraw.',
  method: 'POST',
  path: '/wallets/:wallet/hold',
  rights: ['hold'],
  params: walletRequest,
  body: reasonRequest,
  reply: holdSchema,
  async run({ engine }, { wallet }, { act }) {
    const cancelled = await engine.switches.hold(wallet, act);
    return { reply: { wallet, held: true, cancelled, count: cancelled.length } };
  },
  verbs: [
    {
      verb: 'hold',
      needsReason: true,
      describe: (command) =>
        command
          .argument('<wallet>', WALLET, readWallet)
          .description('put a wallet on hold: cancel its live orders, and refuse its orders and withdrawals'),
      input: (wallet: string) => ({ wallet }),
      answer: ({ reply: { wallet, held, cancelled } }) =>
        closedOrders(`${wallet} is on hold`, cancelled, { wallet, held }),
    },
  ],
});

export const releaseWallet = operation({
  id: 'releaseWallet',
  tag: 'Wallets',
  summary: 'Ends the custody hold of a wallet',
  method: 'POST',
  path: '/wallets/:wallet/release',
  rights: ['hold'],
  params: walletRequest,
  body: reasonRequest,
  reply: holdSchema,
  async run({ engine }, { wallet }, { act }) {
    await engine.switches.release(wallet, act);
    return { reply: { wallet, held: false, cancelled: [], count: 0 } };
  },
  verbs: [
    {
      verb: 'release',
      needsReason: true,
      describe: (command) =>
        command.argument('<wallet>', WALLET, readWallet).description('release a wallet from hold'),
      input: (wallet: string) => ({ wallet }),
      answer: ({ reply: { wallet, held } }) => shortResult(`${wallet} is not on hold`, { wallet, held }),
    },
  ],
});

const getHolds = operation({
  id: 'listHolds',
  tag: 'Wallets',
  summary: 'Lists the wallets on custody hold',
  method: 'GET',
  path: '/holds',
  rights: ['read'],
  query: z.object({ limit, cursor: inLowerCase.optional().describe('`nextCursor`') }),
  reply: z
    .strictObject({
      holds: z.array(z.strictObject({ wallet, since: timestamp })).describe('by wallet, as settled'),
      nextCursor: wallet.nullable(),
    })
    .register(replyNames, { id: 'Holds' }),
  async run({ ledger }, { limit, cursor = '' }) {
    // One wallet more than the page tells that another page follows.
    const found = await ledger.state.holds(cursor, limit + 1);
    const holds = found.slice(0, limit).map(({ wallet, heldAtMs }) => ({ wallet, since: isoTime(heldAtMs) }));
    return { reply: { holds, nextCursor: found.length > limit ? holds.at(-1)!.wallet : null } };
  },
});

export const ACCOUNT: Noun = {
  name: 'account',
  description: 'manage balances, deposits, withdrawals and holds of wallets',
  parts: [postMovements, getMovementChanges, getMovement, getWallet, holdWallet, releaseWallet, getHolds],
};
