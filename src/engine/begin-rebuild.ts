/** Begins and ends a rebuild: marks the server as being rebuilt, then puts the rebuilt engine in force. */

import { randomBytes } from 'node:crypto';
import { OperatorRefusal } from '../domain/errors.ts';
import type { Cursor } from '../domain/event.ts';
import type { Market } from '../domain/market.ts';
import { replaced } from './bulk-writer.ts';
import type { EngineCore } from './core.ts';
import type { EngineImage } from './engine-image.ts';
import { eventIdOf } from './event-codec.ts';
import { type FilterLayout, filterKeys, layoutsOf, readFilterState } from './filter-layout.ts';
import { balancesKey, bookKey, KEYS, levelsKey } from './keys.ts';
import { BEGIN_REBUILD, END_REBUILD } from './scripts.ts';
import { ENGINE_FORMAT } from './state.ts';

interface BegunRebuild {
  /** Identifies this rebuild to the scripts that write its parts. */
  readonly token: string;
  /** True when the rebuild replaces an engine of another format and keeps its dead-man switches. */
  readonly keepsSwitches: boolean;
}

const TOKEN_BYTES = 8;

const notEmpty = (): OperatorRefusal =>
  new OperatorRefusal('ENGINE_NOT_EMPTY', "the engine's Redis holds an engine: nothing of it was changed");

const nothingSettled = (): OperatorRefusal =>
  new OperatorRefusal('NOTHING_SETTLED', 'the ledger is empty: an empty engine opens by itself');

/** @param last id of the engine's last event */
function unsettled(last: string, cursor: Cursor): OperatorRefusal {
  const sequence = Number(last.split('-')[1]);
  const count = sequence - cursor.sequence;
  const place = `the last event of the engine is ${last}, Postgres is at ${eventIdOf(cursor)}`;
  if (count <= 0)
    return new OperatorRefusal(
      'ENGINE_BEHIND',
      `${place}: the engine is older than the ledger; put it aside and rebuild into an empty Redis. Nothing was changed`,
    );
  const events = count === 1 ? '1 event is' : `${count} events are`;
  return new OperatorRefusal(
    'ENGINE_UNSETTLED',
    `${events} not in Postgres yet (${place}): start the release that wrote this engine, wait until its status shows no lag, stop it, and rebuild again. Nothing was changed`,
  );
}

const sidesOf = ({ symbol }: Market): string[] =>
  (['bids', 'asks'] as const).flatMap((side) => [bookKey(symbol, side), levelsKey(symbol, side)]);

/** Returns the keys of an engine that a rebuild writes anew, apart from its stream. */
export const contentKeys = (layout: FilterLayout, { switches, assets }: EngineImage): string[] => [
  ...KEYS.unsettled,
  ...KEYS.claims,
  KEYS.markets,
  KEYS.assets,
  KEYS.live,
  ...switches.markets.flatMap(sidesOf),
  ...assets.map(({ symbol }) => balancesKey(symbol)),
  ...filterKeys(layout),
];

/**
 * Marks the server as being rebuilt and removes what an earlier rebuild, or an engine of another format, left. Dead-man
 * switches stay: Postgres does not know them, and they have the same keys in every format.
 * @param content keys that are removed
 * @throws OperatorRefusal ENGINE_NOT_EMPTY | NOTHING_SETTLED | ENGINE_UNSETTLED | ENGINE_BEHIND
 */
export async function beginRebuild(
  core: EngineCore,
  cursor: Cursor,
  content: readonly string[],
): Promise<BegunRebuild> {
  const token = randomBytes(TOKEN_BYTES).toString('hex');
  const kept = [KEYS.cancelAfter, KEYS.cancelAfterLeases, KEYS.cancelAfterCutOffs];
  const { epoch, sequence } = cursor;
  const reply = await core.scripts.run(BEGIN_REBUILD, {
    content: [...content, ...kept],
    format: ENGINE_FORMAT,
    token,
    epoch,
    sequence,
  });
  if (reply.outcome === 'held') throw notEmpty();
  if (reply.outcome === 'nothing') throw nothingSettled();
  if (reply.outcome === 'unsettled') throw unsettled(reply.last, cursor);
  core.scripts.formatReplaced();
  const left = layoutsOf(readFilterState(reply.filter)).flatMap(filterKeys);
  await core.scripts.callAnyFormat(() => core.redis.unlink(KEYS.events, ...content, ...left));
  return { token, keepsSwitches: reply.replaces };
}

/**
 * Puts the rebuilt engine in force.
 * @param cursor the event after which the engine continues
 * @throws OperatorRefusal REBUILD_REPLACED | ENGINE_NOT_EMPTY
 */
export async function endRebuild(core: EngineCore, token: string, cursor: Cursor): Promise<void> {
  const outcome = await core.scripts.run(END_REBUILD, { token, lastEvent: eventIdOf(cursor) });
  if (outcome === 'held') throw notEmpty();
  if (outcome === 'replaced') throw replaced();
}
