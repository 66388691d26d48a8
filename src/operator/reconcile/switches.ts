/** Switches: what is paused, required, held and accepted, and which rules of a market are in force. */

import type { EngineEvent } from '../../domain/event.ts';
import { canonicalMarketRecord } from '../../domain/market-record.ts';
import type { Switches } from '../../domain/switches.ts';
import { type CheckResult, Comparison } from './comparison.ts';
import type { Servers } from './settled.ts';

const EVENTS_AT_ONCE = 1_000;
const DEFAULT = 'nothing';

/** Each switch that is not as it is by default, by name. */
const named = (switches: Switches): Map<string, string> =>
  new Map([
    ...(switches.paused ? [['trading', 'paused'] as const] : []),
    ...(switches.termsVersion === null ? [] : [['terms required', switches.termsVersion] as const]),
    ...switches.holds.map((wallet) => [`hold of ${wallet}`, 'held'] as const),
    ...[...switches.acceptedTerms].map(([wallet, version]) => [`terms of ${wallet}`, version] as const),
    ...[...switches.marketVersions].map(
      ([number, version]) => [`version of market ${number}`, String(version)] as const,
    ),
    ...switches.markets.map(
      (market) => [`rules of ${market.symbol}`, canonicalMarketRecord(market)] as const,
    ),
  ]);

type Change = readonly [name: string, value: string | null];

/** What an event switches; null: back to its default. */
function changesOf(event: EngineEvent): readonly Change[] {
  switch (event.kind) {
    case 'trading_paused':
      return [['trading', 'paused']];
    case 'trading_resumed':
      return [['trading', null]];
    case 'terms_required':
      return [['terms required', event.version]];
    case 'account_held':
      return [[`hold of ${event.wallet}`, 'held']];
    case 'account_released':
      return [[`hold of ${event.wallet}`, null]];
    case 'terms_accepted':
      return [[`terms of ${event.wallet}`, event.version]];
    case 'market_changed':
      return [
        [`version of market ${event.market.number}`, String(event.market.version)],
        [`rules of ${event.market.symbol}`, canonicalMarketRecord(event.market)],
      ];
    default:
      return [];
  }
}

function applyTo(switches: Map<string, string>, event: EngineEvent): void {
  for (const [name, value] of changesOf(event)) {
    if (value === null) switches.delete(name);
    else switches.set(name, value);
  }
}

/**
 * Postgres has switches as of its cursor alone. The engine is looked at after it, and what happened in between is
 * still in the engine's stream: settled or not, events stay there for seconds.
 */
export async function checkSwitches({ engine, ledger }: Servers): Promise<CheckResult> {
  const comparison = new Comparison();
  const settled = await ledger.switches();
  const { sequence, ...found } = await engine.snapshotSwitches();
  const expected = named(settled);
  let cursor = settled.cursor;
  while (cursor.sequence < sequence) {
    const events = await engine.readEvents(cursor, EVENTS_AT_ONCE, EVENTS_AT_ONCE);
    const next = events.filter((event) => event.sequence > cursor.sequence && event.sequence <= sequence);
    if (next[0]?.sequence !== cursor.sequence + 1) {
      comparison.equal(`event ${cursor.sequence + 1}`, 'an event of the engine', 'lost');
      break;
    }
    for (const event of next) applyTo(expected, event);
    cursor = next.at(-1)!;
  }
  const actual = named(found);
  for (const name of new Set([...expected.keys(), ...actual.keys()])) {
    comparison.equal(name, expected.get(name) ?? DEFAULT, actual.get(name) ?? DEFAULT);
  }
  return comparison.result(
    'switches = their events',
    null,
    `# switches at event ${sequence}`,
    'pause, holds, terms and the rules of markets are in Redis what the events in Postgres made them',
  );
}
