/** Keeps the engine open. It asks for the server's identity after each reconnection, before anything trades on it. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { Refusal } from '../domain/errors.ts';
import { type Engine, EngineBehind, EngineFormat, EngineMisconfigured } from '../engine/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { type Outages, openOutages } from './outages.ts';
import type { ServerNames } from './server-names.ts';

const RETRY_MS = 250;
/** Time between confirmations of an open engine, which can be emptied and rebuilt without breaking a connection. */
const CONFIRM_MS = 1_000;
/** Time between attempts to open an engine that was refused: an operator who has acted need not wait for long. */
const RETRY_REFUSED_MS = 1_000;

/** Name under which the servers' connections report outages. */
const USER = 'gate';

const NAMES = { engine: 'Redis', postgres: 'Postgres' };

/** Engines that only an operator can mend, in the words of `/readyz`. Their sentences are in the log. */
const REFUSED: readonly (readonly [kind: new (...parameters: never[]) => Error, state: string])[] = [
  [EngineBehind, 'behind Postgres'],
  [EngineFormat, 'of another format'],
  [EngineMisconfigured, 'misconfigured'],
];

export interface EngineGate {
  /** `ok` while the engine is open, otherwise the reason why not; for `/readyz`. */
  state(): string;
  /** Resolves when the engine is open for the first time. */
  readonly opened: Promise<void>;
  stop(): void;
}

export function keepEngineOpen(parts: {
  readonly redis: Redis;
  readonly engine: Engine;
  readonly ledger: { readonly settlement: Pick<Ledger['settlement'], 'cursor'> };
  readonly logger: Logger;
  /** Milliseconds between two looks at an engine that an operator must mend or rebuild. */
  readonly retryRefusedMs?: number;
  readonly names?: Pick<ServerNames, 'engine' | 'postgres'>;
  readonly outages?: Outages;
}): EngineGate {
  const { redis, engine, ledger, logger, retryRefusedMs = RETRY_REFUSED_MS } = parts;
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
      // Postgres is needed only for a new server. The engine says so then.
      let lacking: unknown;
      const cursor = await ledger.settlement.cursor().catch((error: unknown) => {
        lacking = error;
        return undefined;
      });
      try {
        await engine.lifecycle.open(cursor);
        refused = undefined;
        for (const server of [names.engine, names.postgres]) outages.clear(server, USER);
        logger.info('the matching engine is open');
      } catch (error) {
        refused = REFUSED.find(([kind]) => error instanceof kind)?.[1];
        // A ledger without tables is not away: its migrations are under way.
        if (refused !== undefined || lacking === undefined) outages.report(names.engine, USER, error);
        else if (lacking instanceof Refusal) outages.report(names.postgres, USER, lacking);
        await sleep(refused === undefined ? RETRY_MS : retryRefusedMs);
      }
    }
    if (engine.lifecycle.isOpen()) tellOpened();
    else refused = undefined; // the connection broke: whatever answers next is asked again
    opening = false;
  };

  const confirm = (): void => {
    // A failure is either told to the listener, or a break of the connection.
    if (engine.lifecycle.isOpen()) engine.lifecycle.confirm().catch(() => undefined);
  };
  const confirming = setInterval(confirm, CONFIRM_MS);
  const stopListening = engine.lifecycle.onLost(open);
  redis.on('ready', open);
  if (redis.status === 'ready') void open();
  return {
    state: () => (engine.lifecycle.isOpen() ? 'ok' : (refused ?? 'not open')),
    opened,
    stop() {
      stopped = true;
      clearInterval(confirming);
      stopListening();
      redis.off('ready', open);
    },
  };
}
