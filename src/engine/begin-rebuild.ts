/** Begins and ends a rebuild: retires an engine of another format, and puts the rebuilt one in force. */

import { randomBytes } from 'node:crypto';
import { OperatorRefusal } from '../domain/errors.ts';
import type { Cursor } from '../domain/event.ts';
import type { Market } from '../domain/market.ts';
import { type FilterLayout, filterKeys, readFilterState } from './claim-filter.ts';
import type { EngineCore } from './core.ts';
import { replaced } from './filling.ts';
import { balancesKey, bookKey, KEYS, levelsKey } from './keys.ts';
import type { EngineImage } from './rebuild.ts';
import { ENGINE_FORMAT } from './state.ts';

export interface BegunRebuild {
  /** Names this rebuild to the scripts that write its parts. */
  readonly token: string;
  /** True when the rebuild replaces an engine of another format and keeps its dead-man switches. */
  readonly keepsSwitches: boolean;
}

const TOKEN_BYTES = 8;

const idOf = ({ epoch, sequence }: Cursor): string => `${epoch}-${sequence}`;

const notEmpty = (): OperatorRefusal =>
  new OperatorRefusal('ENGINE_NOT_EMPTY', "the engine's Redis holds an engine: nothing of it was changed");

const nothingSettled = (): OperatorRefusal =>
  new OperatorRefusal('NOTHING_SETTLED', 'the ledger is empty: an empty engine opens by itself');

/** @param last id of the engine's last event */
function unsettled(last: string, cursor: Cursor): OperatorRefusal {
  const sequence = Number(last.split('-')[1]);
  const count = sequence - cursor.sequence;
  const place = `the last event of the engine is ${last}, Postgres is at ${idOf(cursor)}`;
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

/**
 * Takes an engine of another format out of force. What it holds is settled, so a rebuild brings it back.
 * @param cursor of Postgres, where nothing is settled meanwhile
 * @throws OperatorRefusal ENGINE_UNSETTLED | ENGINE_BEHIND, and nothing was changed
 */
export async function retireEngine(core: EngineCore, cursor: Cursor): Promise<void> {
  const keys = [KEYS.engine, KEYS.rebuilding, KEYS.events, ...KEYS.unsettled, ...KEYS.claims];
  const args = [ENGINE_FORMAT, cursor.epoch, cursor.sequence];
  const [outcome, last] = (await core.run('retire_engine', keys, args)) as Buffer[];
  if (outcome!.toString() === 'unsettled') throw unsettled(last!.toString(), cursor);
  core.formatReplaced();
}

/**
 * Marks the server as being rebuilt and removes what an earlier rebuild, or a retired engine, left. Dead-man switches
 * stay: Postgres does not know them, and they have the same keys in every format.
 * @throws OperatorRefusal ENGINE_NOT_EMPTY | NOTHING_SETTLED
 */
export async function beginRebuild(
  core: EngineCore,
  layout: FilterLayout,
  { cursor, switches, assets }: EngineImage,
): Promise<BegunRebuild> {
  const token = randomBytes(TOKEN_BYTES).toString('hex');
  const content = [
    ...[KEYS.events, ...KEYS.unsettled, ...KEYS.claims, KEYS.markets, KEYS.assets, KEYS.live],
    ...[...switches.markets.flatMap(sidesOf), ...assets.map(({ symbol }) => balancesKey(symbol))],
    ...filterKeys(layout),
  ];
  const kept = [KEYS.cancelAfter, KEYS.cancelAfterLeases, KEYS.cancelAfterCutOffs];
  const reply = await core.run(
    'begin_rebuild',
    [KEYS.engine, KEYS.rebuilding, ...content, ...kept],
    [ENGINE_FORMAT, token, cursor.sequence],
  );
  const [outcome, replaces, filter = ''] = (reply as Buffer[]).map(String);
  if (outcome === 'held') throw notEmpty();
  if (outcome === 'nothing') throw nothingSettled();
  const { current, next } = readFilterState(filter);
  const left = [current, ...(next === null ? [] : [next])].flatMap(filterKeys);
  await core.call(() => core.redis.unlink(...content, ...left));
  return { token, keepsSwitches: replaces === '1' };
}

/**
 * Puts the rebuilt engine in force.
 * @param cursor the event that the engine goes on after
 * @throws OperatorRefusal REBUILD_REPLACED | ENGINE_NOT_EMPTY
 */
export async function endRebuild(core: EngineCore, token: string, cursor: Cursor): Promise<void> {
  const keys = [KEYS.engine, KEYS.rebuilding, KEYS.events];
  const [outcome] = (await core.run('end_rebuild', keys, [token, idOf(cursor)])) as Buffer[];
  if (outcome!.toString() === 'held') throw notEmpty();
  if (outcome!.toString() === 'replaced') throw replaced();
}
