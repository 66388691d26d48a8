/**
 * Checks the unsettled index, by which a wallet's lists find events that Postgres does not have yet, against the stream.
 */

import type { Cursor, EngineEvent } from '../../domain/event.ts';
import { visitOrders } from '../../domain/order-life.ts';
import { FIELDS_TOGETHER } from '../../engine/index.ts';
import { type AuditSummary, isLost } from '../../ledger/index.ts';
import type { Servers } from '../servers.ts';
import { type CheckResult, Comparison } from './comparison.ts';
import { ENGINE_CHECKS } from './definitions.ts';
import { turnOf } from './fields.ts';

const WALLET_BYTES = 20;
const GENERATIONS = [0, 1] as const;
const EVENTS_TOGETHER = 500;

/** Returns the wallets whose lists an event changes, in hex. */
function walletsOf(event: EngineEvent): string[] {
  const wallets = new Set<string>();
  if ('wallet' in event && event.kind !== 'operator_acted') wallets.add(event.wallet.slice(2));
  visitOrders(event, {
    placed: ({ order }) => void wallets.add(order.wallet.slice(2)),
    filled: ({ makerWallet }) => void wallets.add(makerWallet.slice(2)),
    closed: ({ wallet }) => void wallets.add(wallet.slice(2)),
  });
  return [...wallets];
}

const placeOf = (member: Buffer): Cursor => ({
  epoch: member.readUInt16BE(WALLET_BYTES),
  sequence: member.readUIntBE(WALLET_BYTES + 2, 6),
});

function memberOf(wallet: string, { epoch, sequence }: Cursor): Buffer {
  const member = Buffer.alloc(WALLET_BYTES + 8);
  member.write(wallet, 'hex');
  member.writeUInt16BE(epoch, WALLET_BYTES);
  member.writeUIntBE(sequence, WALLET_BYTES + 2, 6);
  return member;
}

function subjectOf(member: Buffer): string {
  const { epoch, sequence } = placeOf(member);
  return `unsettled index: event ${epoch}-${sequence} of 0x${member.toString('hex', 0, WALLET_BYTES)}`;
}

export async function checkUnsettledIndex(
  servers: Servers,
  summary: Pick<AuditSummary, 'seams'>,
): Promise<CheckResult> {
  const comparison = new Comparison();
  await compareEvents(servers, comparison);
  const begun = await turnOf(servers.engine, 'unsettled');
  const misplaced = new Comparison();
  for (const generation of GENERATIONS)
    await compareIndex(servers, { generation, summary, begun, misplaced }, comparison);
  // Entries that are read while a generation turns say nothing about their places.
  const { since } = await turnOf(servers.engine, 'unsettled');
  if (since === begun.since) comparison.take(misplaced);
  return comparison.result(ENGINE_CHECKS.unsettled, null, '# entries');
}

/** Checks that the index has each event of its newer generation, and each that is not settled. */
async function compareEvents({ engine, ledger }: Servers, comparison: Comparison): Promise<void> {
  const settled = await ledger.checks.cursor();
  const { turnedAt } = await engine.pages.areIndexed([Buffer.alloc(WALLET_BYTES + 8)]);
  const { sequence: last } = await engine.reads.state();
  let from: Cursor = { epoch: settled.epoch, sequence: Math.min(turnedAt, settled.sequence) };
  for (;;) {
    const read = await engine.outbox.readEvents(from, EVENTS_TOGETHER);
    const events = read.filter(({ sequence }) => sequence > from.sequence && sequence <= last);
    if (events.length === 0) return;
    const members = events.flatMap((event) => walletsOf(event).map((wallet) => memberOf(wallet, event)));
    for (let at = 0; at < members.length; at += FIELDS_TOGETHER) {
      const asked = members.slice(at, at + FIELDS_TOGETHER);
      const { turnedAt: gone, found } = await engine.pages.areIndexed(asked);
      asked.forEach((member, index) => {
        const isDue = placeOf(member).sequence > gone;
        if (isDue) comparison.equal(subjectOf(member), 'an entry', found[index] ? 'an entry' : 'none');
      });
    }
    from = events.at(-1)!;
  }
}

interface IndexedEvents {
  readonly generation: 0 | 1;
  /** Entries of events that a seam stands for stay after them. */
  readonly summary: Pick<AuditSummary, 'seams'>;
  readonly begun: { readonly current: number; readonly since: number };
  readonly misplaced: Comparison;
}

/** Checks that each entry of a generation is of an event that touches its wallet. */
async function compareIndex(
  { engine }: Servers,
  { generation, summary, begun, misplaced }: IndexedEvents,
  comparison: Comparison,
): Promise<void> {
  let after: Buffer | null = null;
  for (;;) {
    const page = await engine.pages.scanUnsettled(generation, after);
    if (page.misplaced !== null && after === null)
      comparison.equal(`unsettled index: ${page.misplaced.toString('hex')}`, 'score 0', 'another score');
    const events = await Promise.all(
      page.members.map(async (member) => {
        const [event] = await engine.outbox.readEvents(placeOf(member), 0);
        return event;
      }),
    );
    // Events that are gone from the stream were settled long ago, and nobody reads their entries.
    const [oldest] = await engine.outbox.readEvents({ epoch: 0, sequence: 0 }, 0);
    page.members.forEach((member, at) => {
      const { epoch, sequence } = placeOf(member);
      const event = events[at];
      const isThere = event?.epoch === epoch && event.sequence === sequence;
      const isGone =
        !isThere && (sequence < (oldest?.sequence ?? page.sequence + 1) || isLost(summary, sequence));
      const isRight = isThere && walletsOf(event).includes(member.toString('hex', 0, WALLET_BYTES));
      comparison.equal(subjectOf(member), 'an entry', isGone || isRight ? 'an entry' : 'no such event');
      const place = sequence > begun.since ? begun.current : 1 - begun.current;
      misplaced.equal(subjectOf(member), `in generation ${place}`, `in generation ${generation}`);
    });
    if (page.isLast) return;
    after = page.members.at(-1)!;
  }
}
