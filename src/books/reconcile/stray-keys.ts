/** Checks that the engine's Redis has its stream, no key that no part of the engine names, and no key that would expire. */

import { keysOfEngine, STREAM_KEY } from '../../engine/index.ts';
import type { Audited } from './audited.ts';
import { type CheckResult, Comparison } from './comparison.ts';
import { ENGINE_CHECKS } from './definitions.ts';
import { scanTexts } from './fields.ts';

/** Families of keys of queues and limits, some of which expire. */
const OF_QUEUES = /^[^:]*:(?:login|limit|feed|settlement|snapshot):/;
/** Keys that come and go with the claim filter. */
const FILTERS = /^[^:]*:claim-filter(?::\d+:\d+)?$/;
/** Maximum keys that are held until it is known that no new market or asset has them. */
const MAX_STRAY = 10_000;

export async function checkKeys({ engine, markets, assets }: Audited): Promise<CheckResult> {
  const comparison = new Comparison();
  const known = keysOfEngine(markets.keys(), assets.keys());
  const strange = new Set<string>();
  // The stream stays when all of its events are trimmed.
  let hasStream = (await engine.reads.state()).sequence === 0;
  for await (const keys of engine.pages.scanKeys()) {
    hasStream ||= keys.includes(STREAM_KEY);
    const isOfEngine = (key: string): boolean => known.has(key) || FILTERS.test(key);
    for (const key of keys)
      if (!isOfEngine(key) && !OF_QUEUES.test(key) && strange.size < MAX_STRAY) strange.add(key);
    const ofEngine = keys.filter(isOfEngine);
    const livesMs = await engine.pages.livesMs(ofEngine);
    for (const [at, key] of ofEngine.entries()) {
      const one = livesMs[at]!;
      comparison.equal(`key ${key}`, 'no time to live', one === null ? 'no time to live' : `${one} ms`);
    }
  }
  if (!hasStream) comparison.equal(`key ${STREAM_KEY}`, 'the stream of events', 'gone');
  // Markets and assets that came meanwhile have their records before they have keys.
  const [symbols, names]: [string[], string[]] = [[], []];
  await scanTexts(engine, 'markets', (symbol) => symbols.push(symbol));
  await scanTexts(engine, 'assets', (name) => names.push(name));
  const later = keysOfEngine(symbols, names);
  for (const key of strange) comparison.equal(`key ${key}`, later.has(key) ? key : 'no such key', key);
  return comparison.result(ENGINE_CHECKS.keys, null, '# keys');
}
