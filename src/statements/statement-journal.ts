/** A statement as a journal of hledger. */

import type { Stated, StatementPage, StatementSpan } from '../ledger/index.ts';
import { decimalOf, isoTime, type Scales } from './amounts.ts';
import { receivedAtoms } from './statement.ts';
import type { StatementText } from './statement-text.ts';

/** Digits in a commodity need quotes. */
const commodity = (asset: string): string => (/\d/.test(asset) ? `"${asset}"` : asset);

const amountOf = (scales: Scales, asset: string, atoms: bigint): string =>
  `${decimalOf(scales, asset, atoms)} ${commodity(asset)}`;

/** A reference is text that strangers chose: it stays in its line, and a comma would begin another tag. */
const tag = (name: string, value: string | number | bigint): string =>
  `    ; ${name}:${String(value).replace(/[\s,\p{C}]+/gu, ' ')}`;

const transaction = (timeMs: number, words: string, lines: readonly string[]): string =>
  `\n${isoTime(timeMs).slice(0, 10)} * ${words}\n${lines.join('\n')}\n`;

const posting = (account: string, amount: string): string => `    ${account}  ${amount}`;

const accountOf = (wallet: string): string => `assets:redbook:${wallet}`;

type Movement = Exclude<Stated, { kind: 'trade' }>;
type Trade = Extract<Stated, { kind: 'trade' }>;

function ofMovement(line: Movement, account: string, scales: Scales): string {
  const { kind, asset, reference, txid, sequence, timeMs } = line;
  const atoms = receivedAtoms(line);
  // A confirmation changes no balance, and the request has its transaction.
  if (atoms === 0n) return '';
  return transaction(timeMs, kind.replaceAll('_', ' '), [
    tag('time', isoTime(timeMs)),
    tag('event', sequence),
    tag('reference', reference),
    ...(txid === null ? [] : [tag('txid', txid)]),
    posting(account, amountOf(scales, asset, atoms)),
    posting('equity:transfers', amountOf(scales, asset, -atoms)),
  ]);
}

/** The base asset has its exact cost in the quote asset, of which the fee is another posting. */
function ofTrade(line: Trade, account: string, scales: Scales): string {
  const { base, quote, side, market, timeMs, feeAtoms, notionalAtoms } = line;
  const sign = side === 'buy' ? 1n : -1n;
  const cost = amountOf(scales, quote, notionalAtoms);
  const fee = feeAtoms === 0n ? [] : [posting('expenses:fees:redbook', amountOf(scales, quote, feeAtoms))];
  return transaction(timeMs, `${side} ${market}`, [
    tag('time', isoTime(timeMs)),
    tag('trade', line.tradeId),
    tag('order', line.orderId),
    tag('role', line.role),
    posting(account, `${amountOf(scales, base, sign * line.baseAtoms)} @@ ${cost}`),
    posting(account, amountOf(scales, quote, -sign * notionalAtoms - feeAtoms)),
    ...fee,
  ]);
}

/**
 * Sets the opening balances: what the journal has already is not added again, so the journals of several months go
 * together, and one of them stands alone.
 */
function ofOpening({ opening, scales }: StatementPage, { wallet, fromMs }: StatementSpan): string {
  if (opening === null || opening.size === 0) return '';
  const set = [...opening].map(([asset, atoms]) =>
    posting(accountOf(wallet), `= ${amountOf(scales, asset, atoms)}`),
  );
  return transaction(fromMs, 'opening balances', [...set, '    equity:opening balances']);
}

/** Asserts the closing balances: hledger refuses a journal that does not sum to them. */
function ofClosing({ closing, scales }: StatementPage, { wallet, toMs }: StatementSpan): string {
  if (closing === null || closing.size === 0) return '';
  const asserted = [...closing].map(([asset, atoms]) =>
    posting(accountOf(wallet), `0 ${commodity(asset)} = ${amountOf(scales, asset, atoms)}`),
  );
  return transaction(toMs, 'closing balances', asserted);
}

export const hledger: StatementText = {
  extension: 'journal',
  head: ({ wallet, fromMs, toMs }) =>
    `; Statement of ${wallet} from ${isoTime(fromMs)} to ${isoTime(toMs)}\ndecimal-mark .\n`,
  page(page, span) {
    const account = accountOf(span.wallet);
    const lines = page.stated.map((line) =>
      line.kind === 'trade' ? ofTrade(line, account, page.scales) : ofMovement(line, account, page.scales),
    );
    return [ofOpening(page, span), ...lines, ofClosing(page, span)].join('');
  },
};
