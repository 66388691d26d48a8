/** Checks the engine's own hash, its markets and its assets against the ledger and the stream. */

import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalMarketRecord, readMarketRecord } from '../../domain/market-record.ts';
import type { Switches } from '../../domain/switches.ts';
import { writeTake } from '../../domain/withdrawal-states.ts';
import { ENGINE_FORMAT, MAX_EPOCH } from '../../engine/index.ts';
import { storable } from '../../ledger/index.ts';
import type { Servers } from '../servers.ts';
import type { Audited } from './audited.ts';
import { type CheckResult, Comparison } from './comparison.ts';
import { ENGINE_CHECKS } from './definitions.ts';
import { compareFields, type Expectation, ExpectedTexts } from './fields.ts';

const NOTHING = 'nothing';
const LOOKS_AT_EPOCH = 5;
const LOOK_EVERY_MS = 100;

/** Fields that are neither switches nor marks of trading: progress of settlement, generations in use, and a clock. */
const MARKS =
  /^(?:format|server|epoch|trade|sequence|time|settled|mark|mark:at|filter|switch_clock|(?:unsettled|claims)(?::turned_at|:ready_at)?)$/;
const TRADED = /^last price of market /;
const WHOLE = /^\d+$/;
/** Trade ids of each epoch begin at a multiple of this number. */
const TRADE_IDS_OF_EPOCH = 2n ** 37n;

/** Returns each switch that differs from its default, by name. */
const switchFields = (switches: Switches): Map<string, string> =>
  new Map([
    ...(switches.paused ? [['paused', '1'] as const] : []),
    ...(switches.termsVersion === null ? [] : [['terms', switches.termsVersion] as const]),
    ...switches.holds.map((wallet) => [`hold of ${wallet}`, '1'] as const),
    ...[...switches.takes].map(
      ([reference, take]) => [`taken withdrawal ${reference}`, writeTake(take)] as const,
    ),
    ...[...switches.acceptedTerms].map(([wallet, version]) => [`terms of ${wallet}`, version] as const),
    ...switches.markets.map(
      ({ number, symbol }) =>
        [`rules of market ${number}`, `${switches.marketVersions.get(number)} ${symbol}`] as const,
    ),
  ]);

/** Checks the state that the last trades left, at the event of the follower. */
function expectedTrading({ summary, follower, markets }: Audited): Expectation {
  const numberOf = (symbol: string): number | undefined => markets.get(symbol)?.number;
  const settled = new Map<string, string>();
  for (const { market, priceTicks } of summary.lastTrades)
    settled.set(`last price of market ${numberOf(market)}`, `${priceTicks}`);
  return new ExpectedTexts(settled, follower.lastPrices);
}

export async function checkEngineHash(audited: Audited, servers: Servers): Promise<CheckResult[]> {
  const { audit, follower } = audited;
  const switches = new Comparison();
  const trading = new Comparison();
  const marks = new Comparison();
  const expectedSwitches = new ExpectedTexts(switchFields(audit.switches), follower.switches);
  const expectedTrades = expectedTrading(audited);
  // Read before the fields, which may only move on.
  const [oldest] = await audited.engine.outbox.readEvents({ epoch: 0, sequence: 0 }, 0);
  const found = new Map<string, string>();
  const both: Expectation = {
    value: (name) =>
      TRADED.test(name) ? expectedTrades.value(name) : MARKS.test(name) ? null : expectedSwitches.value(name),
    find: (name) => [expectedSwitches, expectedTrades].map((one) => one.find(name)).every(Boolean),
    unfound: () => [...new Set([...expectedSwitches.unfound(), ...expectedTrades.unfound()])],
  };
  await compareFields(audited, { of: 'engine' }, both, (name, expected, value) => {
    if (MARKS.test(name)) found.set(name, value ?? NOTHING);
    else if (TRADED.test(name)) trading.equal(`key engine ${name}`, expected ?? NOTHING, value ?? NOTHING);
    else switches.equal(`key engine ${name}`, storable(expected ?? NOTHING), storable(value ?? NOTHING));
  });
  await compareEpoch(trading, marks, audited);
  await compareMarks(marks, found, servers);
  compareTrimmed(marks, found, oldest?.sequence ?? 0);
  if (audited.engine.lifecycle.isOpen()) await compareNotedEpoch(marks, servers);
  const at = `event ${follower.sequence}`;
  return [
    switches.result(ENGINE_CHECKS.switches, null, `# switches up to ${at}`),
    trading.result(ENGINE_CHECKS.trading, null, `# fields up to ${at}`),
    marks.result(ENGINE_CHECKS.marks, null, '# fields'),
  ];
}

function lastTradeId({ summary, follower }: Audited): bigint {
  if (follower.lastTradeId !== null) return BigInt(follower.lastTradeId);
  const ids = [
    ...summary.lastTrades.map(({ tradeId }) => tradeId),
    ...summary.seams.map(({ lastTradeId }) => lastTradeId),
  ];
  return BigInt(Math.max(0, ...ids));
}

/**
 * Compares epoch and counter. The counter is the last trade id, or the first of its epoch. A new epoch is no event, so
 * both are read at once.
 */
async function compareEpoch(trading: Comparison, marks: Comparison, audited: Audited): Promise<void> {
  const { engine, audit, follower } = audited;
  const { sequence, values } = await engine.pages.readFields({ of: 'engine' }, ['server', 'epoch', 'trade']);
  await follower.advanceTo(sequence);
  const [runId, epoch, trade] = values.map((value) => value?.toString() ?? NOTHING) as [
    string,
    string,
    string,
  ];
  const server = await engine.lifecycle.serverRunId();
  // A restarted server has no epoch of its own until this process has opened it.
  if (engine.lifecycle.isOpen()) marks.equal('key engine server', server, runId);
  const isEpoch = WHOLE.test(epoch) && Number(epoch) >= audit.cursor.epoch && Number(epoch) <= MAX_EPOCH;
  marks.equal('key engine epoch', isEpoch ? epoch : `${audit.cursor.epoch} or later`, epoch);
  if (!isEpoch || runId === NOTHING) return;
  const last = lastTradeId(audited);
  const first = BigInt(epoch) * TRADE_IDS_OF_EPOCH;
  trading.equal(`key engine trade in epoch ${epoch}`, `${last > first ? last : first}`, trade);
}

/** @param found marks by name */
async function compareMarks(
  marks: Comparison,
  found: ReadonlyMap<string, string>,
  { engine, ledger }: Servers,
): Promise<void> {
  marks.equal('key engine format', `${ENGINE_FORMAT}`, found.get('format') ?? NOTHING);
  const { sequence } = await ledger.checks.cursor();
  const nowMs = await engine.reads.time().catch(() => Number.MAX_SAFE_INTEGER);
  const atMost = (name: string, limit: number): void => {
    const text = found.get(name);
    if (text === undefined) return;
    const isRight = WHOLE.test(text) && Number(text) <= limit;
    marks.equal(`key engine ${name}`, isRight ? text : `at most ${limit}`, text);
  };
  atMost('settled', sequence);
  for (const name of ['mark:at', 'unsettled:ready_at', 'claims:ready_at']) atMost(name, nowMs);
  for (const name of ['unsettled', 'claims']) atMost(name, 1);
  for (const name of ['unsettled:turned_at', 'claims:turned_at'])
    atMost(name, (await engine.reads.state()).sequence);
  const clock = found.get('switch_clock');
  if (clock !== undefined || (await engine.dueCancels.areSet())) {
    const isClock = clock !== undefined && /^\d+ \d+$/.test(clock);
    marks.equal('key engine switch_clock', isClock ? clock : 'two whole numbers', clock ?? NOTHING);
  }
  const mark = found.get('mark');
  if (mark !== undefined) {
    const isRight = /^\d+-\d+$/.test(mark) && Number(mark.split('-')[1]) <= sequence;
    marks.equal('key engine mark', isRight ? mark : `at most event ${sequence}`, mark);
  }
}

/** Checks that Postgres has noted no epoch after the engine's. An epoch is noted just before it begins. */
async function compareNotedEpoch(marks: Comparison, { engine, ledger }: Servers): Promise<void> {
  for (let look = 1; look <= LOOKS_AT_EPOCH; look += 1) {
    const { begun } = await ledger.epochs.position();
    const { epoch } = await engine.reads.state();
    const isPossible = begun === null || begun.epoch <= epoch;
    if (!isPossible && look < LOOKS_AT_EPOCH) await sleep(LOOK_EVERY_MS);
    else {
      const expected = `at most epoch ${epoch}`;
      return marks.equal('engine_epochs', expected, isPossible ? expected : `epoch ${begun.epoch}`);
    }
  }
}

/**
 * Compares what settlement notes as it trims events: the last settled one and a mark, of which none is without the other.
 * The mark may be earlier than the stream, which an operator empties to remove a foreign entry: it then trims nothing.
 * @param oldest first event of the stream; 0 while it is empty
 */
function compareTrimmed(marks: Comparison, found: ReadonlyMap<string, string>, oldest: number): void {
  const settled = found.get('settled');
  const mark = found.get('mark');
  const sequenceOf = (text: string | undefined): number => Number(text?.split('-').at(-1));
  if (mark !== undefined || found.has('mark:at'))
    for (const name of ['settled', 'mark', 'mark:at'])
      if (!found.has(name)) marks.equal(`key engine ${name}`, 'beside the others of its kind', NOTHING);
  const least = Math.max(oldest - 1, sequenceOf(mark) || 0);
  if (settled !== undefined && sequenceOf(settled) < least)
    marks.equal('key engine settled', `at least ${least}`, settled);
}

function recordText(text: string): string {
  try {
    return canonicalMarketRecord(readMarketRecord(text));
  } catch {
    return `no record of a market: ${text}`;
  }
}

export async function checkMarkets(audited: Audited): Promise<CheckResult> {
  const comparison = new Comparison();
  const settled = new Map(
    audited.audit.switches.markets.map((market) => [market.symbol, canonicalMarketRecord(market)]),
  );
  const expectation = new ExpectedTexts(settled, audited.follower.markets);
  await compareFields(audited, { of: 'markets' }, expectation, (symbol, expected, found) =>
    comparison.equal(
      `key markets ${symbol}`,
      expected ?? 'no such market',
      found === null ? 'no such market' : recordText(found),
    ),
  );
  return comparison.result(ENGINE_CHECKS.markets, null, `# markets up to event ${audited.follower.sequence}`);
}

export async function checkAssetList(audited: Audited): Promise<CheckResult> {
  const { audit, summary, follower, markets } = audited;
  const comparison = new Comparison();
  const settled = new Map<string, string>();
  for (const { symbol, scale } of audit.assets) settled.set(symbol, `${scale}`);
  for (const { base, quote } of markets.values())
    for (const { symbol } of [base, quote]) settled.set(`${symbol} used`, '1');
  for (const symbol of summary.bookedAssets) settled.set(`${symbol} used`, '1');
  const expectation = new ExpectedTexts(settled, follower.assets);
  // Lost events that left no balance may have used an asset.
  const mayBeLost = (name: string): boolean =>
    summary.seams.length > 0 && [...audited.assets.keys()].some((symbol) => name === `${symbol} used`);
  await compareFields(audited, { of: 'assets' }, expectation, (name, expected, found) => {
    if (expected === null && found === '1' && mayBeLost(name)) return;
    comparison.equal(`key assets ${name}`, expected ?? NOTHING, found ?? NOTHING);
  });
  for (const symbol of audited.assets.keys())
    if (expectation.value(symbol) === null) comparison.equal(`asset ${symbol}`, 'a row in assets', 'none');
  return comparison.result(ENGINE_CHECKS.assets, null, `${audited.assets.size} assets`);
}

/**
 * Checks that the ledger's last event is the engine's, and that the engine's sequence matches the end of its stream.
 */
export async function checkHistory({ engine, ledger }: Servers, lost: number | null): Promise<CheckResult> {
  const comparison = new Comparison();
  const cursor = await ledger.checks.cursor();
  const head = await engine.pages.readHead();
  const subject = `event ${cursor.epoch}-${cursor.sequence}`;
  if (head.sequence < cursor.sequence) comparison.equal(subject, 'an event of the engine', 'lost');
  const [event] = cursor.sequence === 0 ? [] : await engine.outbox.readEvents(cursor, 1);
  if (event?.sequence === cursor.sequence) {
    comparison.equal(`engine_cursor digest of ${subject}`, event.digest.hex, String(cursor.digest));
    comparison.equal(`engine_cursor epoch of ${subject}`, `${event.epoch}`, `${cursor.epoch}`);
    comparison.equal(`engine_cursor event_time_ms of ${subject}`, `${event.timeMs}`, `${cursor.timeMs}`);
  }
  if (head.newest !== null && head.newest.epoch < cursor.epoch)
    comparison.equal(`engine_cursor epoch of ${subject}`, `at most ${head.newest.epoch}`, `${cursor.epoch}`);
  const newest = head.newest ?? { sequence: cursor.sequence, timeMs: cursor.timeMs ?? 0 };
  comparison.equal('key engine sequence', `${newest.sequence}`, `${head.sequence}`);
  comparison.equal('key engine time', `${newest.timeMs}`, `${head.timeMs}`);
  if (lost !== null) comparison.equal(`event ${lost}`, 'an event of the engine', 'lost');
  return comparison.result(ENGINE_CHECKS.history, null, subject);
}
