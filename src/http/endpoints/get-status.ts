/** `GET /v1/status`: returns the state of trading, the required terms and the last reconcile. It needs no session. */

import { statusSchema } from '../../contract/status.ts';
import { Refusal } from '../../domain/errors.ts';
import { sharedForASecond } from '../../domain/shared-read.ts';
import { withTimeLimit } from '../../domain/time-limit.ts';
import type { Engine } from '../../engine/index.ts';
import type { LastReconcile, Ledger } from '../../ledger/index.ts';
import { timestamp } from '../replies/timestamp.ts';
import { openRoute } from '../route.ts';

/** Timeout of the Postgres read. After it, the answer has the reconcile that was read last. */
const PATIENCE_MS = 500;

/**
 * Reads the status. Fails if the engine does not answer. If Postgres is unavailable, returns the last reconcile that
 * was read.
 */
class StatusReader {
  readonly engineState: () => ReturnType<Engine['reads']['state']>;
  readonly #readReconcile: () => Promise<void>;
  #reconcile: LastReconcile | null = null;

  constructor(engine: Engine, ledger: Ledger) {
    this.engineState = sharedForASecond(() => engine.reads.state());
    this.#readReconcile = sharedForASecond(async () => {
      try {
        this.#reconcile = await ledger.checks.lastReconcile();
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== 'SERVICE_UNAVAILABLE') throw error;
      }
    });
  }

  async lastReconcile(): Promise<LastReconcile | null> {
    await withTimeLimit(PATIENCE_MS, this.#readReconcile(), () => undefined);
    return this.#reconcile;
  }
}

/** One reader per engine. */
const readers = new WeakMap<Engine, StatusReader>();

function readerOf(engine: Engine, ledger: Ledger): StatusReader {
  let reader = readers.get(engine);
  if (reader === undefined) {
    reader = new StatusReader(engine, ledger);
    readers.set(engine, reader);
  }
  return reader;
}

export const getStatus = openRoute({
  method: 'GET',
  path: '/v1/status',
  caller: 'anyone',
  id: 'getStatus',
  tag: 'Markets',
  summary: 'Returns the state of trading, the required terms and the last reconcile',
  description:
    'Answers as long as the engine does. Each replica reads its stores at most once a second for this route. While ' +
    'Postgres is away, trading goes on, and `reconcile` is the result that the replica read last.',
  reply: statusSchema,
  async handle({ services: { engine, ledger } }, write) {
    if (!engine.lifecycle.isOpen()) throw new Refusal('SERVICE_UNAVAILABLE');
    const reader = readerOf(engine, ledger);
    const [{ paused, termsVersion }, last] = await Promise.all([
      reader.engineState(),
      reader.lastReconcile(),
    ]);
    return write.json({
      time: timestamp(Date.now()),
      trading: paused ? 'paused' : 'active',
      termsVersion,
      reconcile: last && {
        at: timestamp(last.finishedAtMs),
        event: last.sequence,
        checks: last.checks,
        differences: last.differences,
      },
    });
  },
});
