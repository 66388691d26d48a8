/** Checks used ids: the engine must still know every id that the ledger has. */

import {
  BITS_PER_ID,
  claimName,
  FIELDS_TOGETHER,
  movementRecord,
  reversalName,
  type UsedId,
} from '../../engine/index.ts';
import { type AuditedId, type AuditedName, isLost } from '../../ledger/index.ts';
import type { Audited } from './audited.ts';
import { type CheckResult, Comparison } from './comparison.ts';
import { ENGINE_CHECKS } from './definitions.ts';
import { turnOf } from './fields.ts';

const GENERATIONS = [0, 1] as const;
const REFERENCE_BYTES = 17;
/** Place of the event in the hex digits of an order's id. */
const SEQUENCE_AT = 22;
const eventOf = (orderId: string): number => Number.parseInt(orderId.slice(SEQUENCE_AT), 16);
/** Matches the digest that the ledger stores for a text that Postgres cannot hold. */
const DIGEST = /^sha256:[0-9a-f]{64}$/;
/** Maximum times that the filter may grow during the check. */
const MAX_FILTERS = 3;

const usedOf = ({ kind, wallet, id }: AuditedName): UsedId =>
  kind === 'order' ? { kind, wallet, clientOrderId: id } : { kind, reference: id };

const subjectOf = ({ kind, id, usedBy }: AuditedName): string =>
  kind === 'order'
    ? `client order id ${id} of order ${usedBy}`
    : `reference ${id} of movement ${usedBy} (${kind})`;

/** Returns the value that the engine stores for an id: an order's id in hex, or a movement as JSON. */
const meaningOf = (id: AuditedId): string =>
  id.kind === 'order'
    ? id.usedBy
    : movementRecord({
        kind: id.kind,
        wallet: id.wallet,
        asset: id.asset,
        amountAtoms: id.atoms,
        reference: id.id,
        reverses: id.reverses ?? undefined,
        txid: id.txid ?? undefined,
        owedAtoms: id.owed ?? undefined,
      });

const readMeaning = (value: Buffer): string =>
  value.length === REFERENCE_BYTES ? value.toString('hex') : value.toString();

/** The filter only gains bits, so a copy that is made after the ledger's snapshot has every id of the snapshot. */
export async function checkFilter(audited: Audited): Promise<CheckResult> {
  let comparison = new Comparison();
  for (let tries = 1; tries <= MAX_FILTERS; tries += 1) {
    comparison = new Comparison();
    const name = await audited.engine.claimFilter.name();
    if (name === null) {
      comparison.equal('key engine filter', 'a filter', 'no name of a filter');
      break;
    }
    await compareFilter(audited, comparison);
    if ((await audited.engine.claimFilter.name()) === name) break;
  }
  return comparison.result(ENGINE_CHECKS.filter, null, '# ids');
}

async function compareFilter({ engine, audit, summary }: Audited, comparison: Comparison): Promise<void> {
  let ids = 0;
  let ones = 0;
  for await (const stretch of engine.claimFilter.copy()) {
    ids = 0;
    ones += stretch.ones;
    for await (const names of audit.usedNames())
      for (const name of names) {
        ids += 1;
        const isKnown = stretch.has(usedOf(name));
        if (isKnown === undefined || DIGEST.test(name.id)) continue;
        if (isKnown) comparison.agree();
        else comparison.equal(subjectOf(name), 'in the claim filter', 'not in it');
      }
  }
  // Each event after the ledger's snapshot may have used an id, and so may each lost one.
  const { sequence } = await engine.reads.state();
  const lost = summary.seams.reduce((sum, seam) => sum + seam.sequence - seam.afterSequence, 0);
  const maxOnes = BITS_PER_ID * (ids + lost + Math.max(0, sequence - audit.cursor.sequence));
  if (ones > maxOnes)
    comparison.equal('claim filter', `at most ${maxOnes} bits of ${ids} ids`, `${ones} bits`);
}

export async function checkRecentClaims(audited: Audited): Promise<CheckResult[]> {
  const comparison = new Comparison();
  const begun = await turnOf(audited.engine, 'claims');
  const misplaced = new Comparison();
  for (const generation of GENERATIONS)
    await compareKept(audited, generation, { comparison, misplaced, begun });
  // Claims that are read while a generation turns say nothing about their places.
  const isSame = JSON.stringify(await turnOf(audited.engine, 'claims')) === JSON.stringify(begun);
  await compareRecent(audited, comparison);
  const recent = comparison.result(ENGINE_CHECKS.claims, null, '# claims');
  if (!isSame) return [recent];
  const places = misplaced.result(ENGINE_CHECKS.generations, null, '# claims');
  return [recent, places];
}

/** Checks that Redis has the recent ids of the ledger. */
async function compareRecent(audited: Audited, comparison: Comparison): Promise<void> {
  // Ids of later events are in the newer generation, or were until it became the older one.
  const { since } = await turnOf(audited.engine, 'claims');
  let waiting: AuditedId[] = [];
  for await (const ids of audited.audit.usedIdsAfter(since)) {
    waiting.push(...ids.filter(({ id }) => !DIGEST.test(id)));
    for (; waiting.length >= FIELDS_TOGETHER; waiting = waiting.slice(FIELDS_TOGETHER))
      await compareTogether(audited, waiting.slice(0, FIELDS_TOGETHER), comparison);
  }
  if (waiting.length > 0) await compareTogether(audited, waiting, comparison);
}

async function compareTogether(
  audited: Audited,
  ids: readonly AuditedId[],
  comparison: Comparison,
): Promise<void> {
  const names = ids.map((id) => claimName(usedOf(id)));
  const [older, newer] = await Promise.all(
    GENERATIONS.map((generation) => audited.engine.pages.readFields({ of: 'claims', generation }, names)),
  );
  // A generation that turned meanwhile has dropped older ids.
  const { since } = await turnOf(audited.engine, 'claims');
  ids.forEach((id, index) => {
    const found = older!.values[index] ?? newer!.values[index] ?? null;
    if (found === null && id.sequence <= since) return;
    comparison.equal(
      `key claims ${subjectOf(id)}`,
      meaningOf(id),
      found === null ? 'no claim' : readMeaning(found),
    );
  });
}

interface KeptClaims {
  readonly comparison: Comparison;
  readonly misplaced: Comparison;
  readonly begun: { readonly current: number; readonly since: number };
}

/** Checks that each claim in Redis belongs to an order or a movement. */
async function compareKept(
  audited: Audited,
  generation: 0 | 1,
  { comparison, misplaced, begun }: KeptClaims,
): Promise<void> {
  const { engine, audit, follower, summary } = audited;
  let cursor: string | null = null;
  do {
    const page = await engine.pages.scanFields({ of: 'claims', generation }, cursor);
    await follower.advanceTo(page.sequence);
    const asked = page.fields.flatMap(([, value]) =>
      value.length === REFERENCE_BYTES ? [value.toString('hex')] : [],
    );
    const orders = new Map(
      asked.length === 0 ? [] : (await audit.ordersById(asked)).map((order) => [order.id, order]),
    );
    for (const [name, value] of page.fields) {
      const order = orders.get(value.toString('hex')) ?? follower.order(value.toString('hex'));
      // The ledger never had the order of a lost event, or not its client order id.
      if (order?.clientOrderId == null && value.length === REFERENCE_BYTES) {
        if (isLost(summary, eventOf(value.toString('hex')))) continue;
      }
      const expected = value.length === REFERENCE_BYTES ? orderNames(order) : movementNames(value.toString());
      comparison.equal(
        `key claims:${generation} ${name}`,
        expected.includes(name) ? name : (expected[0] ?? 'no such claim'),
        expected.includes(name) ? name : `${name} for ${readMeaning(value)}`,
      );
      if (order === undefined) continue;
      const event = eventOf(order.id);
      const place = event > begun.since ? begun.current : 1 - begun.current;
      const said = (of: number): string => `generation ${of} for event ${event}, turned at ${begun.since}`;
      misplaced.equal(`key claims ${name}`, said(place), said(generation));
    }
    cursor = page.next;
  } while (cursor !== null);
}

const orderNames = (
  order: { readonly wallet: string; readonly clientOrderId: string | null } | undefined,
): string[] =>
  order?.clientOrderId == null
    ? []
    : [claimName({ kind: 'order', wallet: order.wallet, clientOrderId: order.clientOrderId })];

function movementNames(text: string): string[] {
  try {
    const { reference, reverses } = JSON.parse(text) as { reference: string; reverses?: string };
    return (['credited', 'debited', 'confirmed', 'announced'] as const).flatMap((kind) => [
      claimName({ kind, reference }),
      ...(reverses === undefined ? [] : [reversalName(reverses, kind)]),
    ]);
  } catch {
    return [];
  }
}
