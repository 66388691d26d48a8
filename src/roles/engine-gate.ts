/** Keeps the engine open. After each reconnection it checks the server's identity before anything trades there. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { Refusal } from '../domain/errors.ts';
import type { BegunEpoch, Cursor } from '../domain/event.ts';
import {
  type Engine,
  EngineBehind,
  EngineExhausted,
  EngineFormat,
  EngineMisconfigured,
  EpochUnnoted,
  MissingRights,
} from '../engine/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { type Outages, openOutages } from './outages.ts';
import type { ServerNames } from './server-names.ts';

const RETRY_MS = 250;
/**
 * Interval of checks of an open engine, which can be emptied, rebuilt or given other settings without breaking a
 * connection.
 */
const INSPECT_MS = 1_000;
/**
 * Interval of attempts to open an engine that was refused. It is short, so that an operator who has repaired it need
 * not wait long.
 */
const RETRY_REFUSED_MS = 1_000;

/** User name under which the gate reports outages of the servers. */
const USER = 'gate';

const NAMES = { engine: 'Redis', postgres: 'Postgres' };

/** Errors that only an operator can repair, with their words for `/readyz`. The log has the full sentences. */
const REFUSED: readonly (readonly [kind: new (...parameters: never[]) => Error, state: string])[] = [
  [EngineBehind, 'behind Postgres'],
  [EngineFormat, 'of another format'],
  [EngineMisconfigured, 'misconfigured'],
  [EngineExhausted, 'out of epochs'],
  [MissingRights, 'without rights'],
];

const lostEpoch = ({ epoch, server }: BegunEpoch): string =>
  `epoch ${epoch} began on another Redis (run id ${server}), and this engine lacks it: orders of that epoch that were not settled are lost`;

export interface EngineGate {
  /** Returns `ok` while the engine is open, otherwise the reason why it is not. Used by `/readyz`. */
  state(): string;
  /** Resolves when the engine opens for the first time. */
  readonly opened: Promise<void>;
  stop(): void;
}

export function keepEngineOpen(parts: {
  readonly redis: Redis;
  readonly engine: Engine;
  readonly ledger: { readonly epochs: Pick<Ledger['epochs'], 'position'> };
  readonly logger: Logger;
  /** Throws MissingRights while the user of Redis lacks some. */
  readonly checkRights?: () => Promise<void>;
  /** Makes sure that the connection leads to the named primary, where the engine has copies. */
  readonly checkPrimary?: (() => Promise<void>) | undefined;
  /** Milliseconds between attempts to open an engine that an operator must repair or rebuild. */
  readonly retryRefusedMs?: number;
  readonly names?: Pick<ServerNames, 'engine' | 'postgres'>;
  readonly outages?: Outages;
}): EngineGate {
  const { redis, engine, ledger, logger, checkRights, checkPrimary } = parts;
  const { retryRefusedMs = RETRY_REFUSED_MS } = parts;
  const { names = NAMES, outages = openOutages(logger, []) } = parts;
  let stopped = false;
  let opening = false;
  let refused: string | undefined;
  let tellOpened = (): void => {};
  const opened = new Promise<void>((resolve) => {
    tellOpened = resolve;
  });

  const open = async (): Promise<void> => {
    if (opening) return;
    opening = true;
    while (!stopped && !engine.lifecycle.isOpen() && redis.status === 'ready') {
      // Postgres is needed only if the server is new. The engine then reports that the cursor is missing.
      let lacking: unknown;
      const { tenure } = engine.lifecycle;
      const known = await ledger.epochs.position().catch((error: unknown) => {
        lacking = error;
        return undefined;
      });
      // Another server may answer now, and Postgres may have settled more before it took over.
      if (tenure !== engine.lifecycle.tenure) continue;
      try {
        await checkRights?.();
        await checkPrimary?.();
        const lost = await engine.lifecycle.open(known);
        refused = undefined;
        for (const server of [names.engine, names.postgres]) outages.clear(server, USER);
        logger.info('the matching engine is open');
        if (lost !== null) logger.error({ lostEpoch: lost.epoch, server: lost.server }, lostEpoch(lost));
      } catch (error) {
        refused = REFUSED.find(([kind]) => error instanceof kind)?.[1];
        // If only the tables are missing, Postgres is not unavailable: its migrations are running.
        if (error instanceof EpochUnnoted) lacking = error;
        if (refused !== undefined || lacking === undefined) outages.report(names.engine, USER, error);
        else if (lacking instanceof Refusal) outages.report(names.postgres, USER, lacking);
        await sleep(refused === undefined ? RETRY_MS : retryRefusedMs);
      }
    }
    if (engine.lifecycle.isOpen()) tellOpened();
    else refused = undefined; // the connection broke, and the next server may be another one
    opening = false;
  };

  /** The last cursor that Postgres told; undefined while it is unavailable. */
  let settled: Cursor | undefined;
  const inspect = (): void => {
    // No handling needed: the listener gets a failed check, and a broken connection is reported elsewhere.
    if (engine.lifecycle.isOpen()) {
      engine.lifecycle.inspect(settled).catch(() => undefined);
      // Another primary may be named while this connection still leads to the one before.
      checkPrimary?.().catch(() => undefined);
    }
    void consultPostgres();
  };
  let consulting = false;
  const consultPostgres = async (): Promise<void> => {
    // A Postgres that hangs delays neither the next inspection nor a later question.
    if (consulting) return;
    consulting = true;
    const known = await ledger.epochs.position().catch(() => undefined);
    settled = known;
    if (known !== undefined) await engine.lifecycle.noteEpoch(known.begun);
    consulting = false;
  };
  const inspecting = setInterval(inspect, INSPECT_MS);
  const stopListening = engine.lifecycle.onLost(() => void open());
  redis.on('ready', open);
  if (redis.status === 'ready') void open();
  return {
    state: () => (engine.lifecycle.isOpen() ? 'ok' : (refused ?? 'not open')),
    opened,
    stop() {
      stopped = true;
      clearInterval(inspecting);
      stopListening();
      redis.off('ready', open);
    },
  };
}
