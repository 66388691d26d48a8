/** Failures of engine commands, and the translation of Redis' errors into them. */

import { Refusal } from '../domain/errors.ts';
import { ENGINE_FORMAT } from './state.ts';

/** Thrown when the engine has lost events that Postgres has. It must not trade until it is rebuilt. */
export class EngineBehind extends Error {
  override readonly name = 'EngineBehind';
}

/** Thrown when the engine has another format than this release. Nothing of it may be read or written. */
export class EngineFormat extends Error {
  override readonly name = 'EngineFormat';
}

/** Thrown when all epochs are used up, so that no new id can be issued. */
export class EngineExhausted extends Error {
  override readonly name = 'EngineExhausted';
}

/** Thrown when an epoch waits for its note in Postgres. The cause is the failure of Postgres. */
export class EpochUnnoted extends Refusal {}

/** Thrown when the stream refused the event of a command. Each script appends its event first, so nothing was written. */
export class EventRefused extends Refusal {}

/** @param format empty: the engine has no format number */
export const otherFormat = (format: string): EngineFormat =>
  new EngineFormat(
    format === ''
      ? "the engine's Redis was written before release 0.1.0, and no release reads it: nothing was changed; start anew with an empty Redis and an empty database (`npm start`: another DATA_DIR)"
      : `the engine's Redis has format ${format}, this release needs format ${ENGINE_FORMAT}: let the release that wrote it settle every event, stop it, then run 'ledger rebuild'`,
  );

/** Replies of a Redis that cannot serve now, or that refers to another server. Nothing was written. */
const UNAVAILABLE_REPLY =
  /^(LOADING|BUSY|OOM|MISCONF|READONLY|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|TRYAGAIN|NOREPLICAS|NOAUTH|ERR max number)/;
/** Errors of a stream that has an entry with a higher id than the next event. */
export const HIGHER_ID = /specified in XADD is equal or smaller|stream has exhausted the last possible ID/;

/** Turns a failure of Redis into SERVICE_UNAVAILABLE. An error of the script itself is returned unchanged. */
export function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Refusal) return error;
  if (error.name === 'ReplyError' && !UNAVAILABLE_REPLY.test(error.message)) return error;
  return new Refusal('SERVICE_UNAVAILABLE', 'the matching engine is temporarily unavailable', {
    cause: error,
  });
}

/** Returns the refusal of a command that waited too long for its turn; nothing has run. */
export const neverSent = (): Refusal =>
  new Refusal('SERVICE_UNAVAILABLE', 'the matching engine is busy, and nothing was done: try again');
