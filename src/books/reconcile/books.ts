/** Checks books, their levels and the list of live orders against the live orders of the ledger. */

import type { Side } from '../../domain/order.ts';
import {
  BOOK_MEMBER_BYTES,
  LIVE_MEMBER_BYTES,
  readBookMember,
  readLiveMember,
  writeBookMember,
  writeLiveMember,
} from '../../engine/index.ts';
import { type AuditedOrder, storable } from '../../ledger/index.ts';
import type { Audited } from './audited.ts';
import type { CheckResult } from './comparison.ts';
import { Comparison } from './comparison.ts';
import { ENGINE_CHECKS } from './definitions.ts';
import { compareFields, type ExpectedAmount, ExpectedAmounts } from './fields.ts';
import { bookName, type FollowedOrder } from './follower.ts';
import { compareMembers, LiveOrders, type OrderedSet } from './members.ts';

const NO_ORDER = 'no live order';
/** Bytes of price key, epoch and sequence. They end an order id and give the order's place in its book. */
const PLACE_BYTES = 15;
const BOOK_PREFIX_DIGITS = 4;

interface BookKey {
  readonly market: string;
  readonly number: number;
  readonly side: Side;
  /** Prefix of the ids of the book's orders. */
  readonly prefix: string;
}

const memberOf = (order: AuditedOrder | FollowedOrder): Buffer =>
  writeBookMember(order.id, order.wallet, order.remainingSteps);

const bookSet = ({ engine }: Audited, book: BookKey): OrderedSet => ({
  scan: (after) => engine.pages.scanBook(book.market, book.side, after),
  keyBytes: PLACE_BYTES,
  has: ({ id }) => id.startsWith(book.prefix),
  entryOf: (order) => ({
    key: order.id.slice(BOOK_PREFIX_DIGITS),
    member: memberOf(order).toString('hex'),
  }),
});

function describeMember(hex: string | null, { number, side, market }: BookKey): string {
  if (hex === null) return NO_ORDER;
  const member = Buffer.from(hex, 'hex');
  if (member.length !== BOOK_MEMBER_BYTES) return `a member of ${member.length} bytes: ${hex}`;
  const { wallet, priceTicks, remainingSteps } = readBookMember(member, number, side);
  return `${side} ${remainingSteps} steps at ${priceTicks} ticks on ${market} for ${wallet}`;
}

const idOf = (member: string, { prefix }: BookKey): string => prefix + member.slice(0, PLACE_BYTES * 2);

/** Returns every book that the ledger or the engine may have, in the order of their orders' ids. */
const booksOf = ({ markets }: Audited): BookKey[] =>
  [...markets.values()]
    .sort((a, b) => a.number - b.number)
    .flatMap(({ symbol: market, number }) =>
      (['buy', 'sell'] as const).map((side) => {
        const prefix = (number * 2 + (side === 'sell' ? 1 : 0))
          .toString(16)
          .padStart(BOOK_PREFIX_DIGITS, '0');
        return { market, number, side, prefix };
      }),
    );

export async function checkBooks(audited: Audited): Promise<CheckResult[]> {
  const { audit, follower } = audited;
  const orders = new Comparison();
  const levels = new Comparison();
  const rows = new LiveOrders(audit.liveOrders('id'));
  await rows.begin(follower);
  for (const book of booksOf(audited)) {
    await passOver(rows, book.prefix, orders);
    const settled = new Map<string, ExpectedAmount>();
    const set: OrderedSet = {
      ...bookSet(audited, book),
      settled({ priceTicks, remainingSteps }) {
        const name = `${priceTicks}`;
        const amount = (settled.get(name)?.amount ?? 0n) + remainingSteps;
        settled.set(name, { amount, isFound: false });
      },
    };
    const see = (expected: string | null, found: string | null): void =>
      orders.equal(
        `key book:${book.market} order ${idOf(found ?? expected!, book)}`,
        expected === found ? '' : describeMember(expected, book),
        expected === found ? '' : describeMember(found, book),
      );
    await compareMembers(follower, set, rows, see, (member) =>
      orders.equal(`order ${idOf(member, book)}`, 'score 0', 'another score, which hides it'),
    );
    await checkLevels(audited, book, settled, levels);
  }
  await passOver(rows, null, orders);
  await rows.end();
  for (const id of follower.unknown) orders.equal(`order ${id}`, 'a row in orders', 'none');
  const at = `# orders up to event ${follower.sequence}`;
  return [
    orders.result(ENGINE_CHECKS.book, null, at),
    levels.result(ENGINE_CHECKS.levels, null, `# levels up to event ${follower.sequence}`),
  ];
}

/**
 * Skips rows that sort before a book and belong to no book.
 * @param prefix null: skips all remaining rows
 */
async function passOver(rows: LiveOrders, prefix: string | null, orders: Comparison): Promise<void> {
  for (;;) {
    const row = await rows.peek();
    if (row === undefined || (prefix !== null && row.id >= prefix)) return;
    rows.take();
    orders.equal(`order ${row.id}`, 'a place in a book', 'its id is of no market');
  }
}

async function checkLevels(
  audited: Audited,
  { market, side }: BookKey,
  settled: ReadonlyMap<string, ExpectedAmount>,
  comparison: Comparison,
): Promise<void> {
  const name = bookName({ market, side });
  const expectation = new ExpectedAmounts(settled, audited.follower.levels.of(name));
  await compareFields(audited, { of: 'levels', market, side }, expectation, (price, expected, found) =>
    comparison.equal(`${name} at ${price} ticks`, `${expected ?? 0} steps`, `${found ?? 0} steps`),
  );
}

const WALLET_BYTES = 20;
const REFERENCE_BYTES = 17;

export async function checkLiveList({ engine, audit, follower }: Audited): Promise<CheckResult> {
  const comparison = new Comparison();
  const set: OrderedSet = {
    scan: (after) => engine.pages.scanLive(after),
    keyBytes: WALLET_BYTES + REFERENCE_BYTES,
    has: () => true,
    entryOf: (order) => ({
      key: order.wallet.slice(2) + order.id,
      member: writeLiveMember(order).toString('hex'),
    }),
  };
  const orders = new LiveOrders(audit.liveOrders('wallet'));
  await orders.begin(follower);
  const describe = (hex: string | null): string => {
    if (hex === null) return 'not live';
    const member = Buffer.from(hex, 'hex');
    if (member.length < LIVE_MEMBER_BYTES) return `a member of ${member.length} bytes: ${hex}`;
    const { wallet, sizeSteps, clientOrderId } = readLiveMember(member);
    // The ledger stores a digest of a text that Postgres cannot hold.
    const named = clientOrderId === null ? 'without a client order id' : `as ${storable(clientOrderId)}`;
    return `live, ${sizeSteps} steps in all, of ${wallet}, ${named}`;
  };
  const see = (expected: string | null, found: string | null): void => {
    const id = (found ?? expected!).slice(WALLET_BYTES * 2, (WALLET_BYTES + REFERENCE_BYTES) * 2);
    const isEqual = expected === found;
    comparison.equal(
      `key live order ${id}`,
      isEqual ? '' : describe(expected),
      isEqual ? '' : describe(found),
    );
  };
  await compareMembers(follower, set, orders, see, (member) =>
    comparison.equal(`live order ${member}`, 'score 0', 'another score, which hides it'),
  );
  await orders.end();
  return comparison.result(ENGINE_CHECKS.liveList, null, `# orders up to event ${follower.sequence}`);
}
