/** The role operator-api: serves the routes for operators, on a port of their own. */

import { setTimeout as sleep } from 'node:timers/promises';
import { framesAgeMs } from '../feed/index.ts';
import { createStartingApp } from '../http/app.ts';
import { createOperatorApp } from '../http/operator/app.ts';
import { createHttpServer } from '../http/server.ts';
import { readinessOf } from './api.ts';
import type { Backends } from './backends.ts';
import { type ListenAddress, listen, listenNearby } from './listening.ts';
import { countReplicas } from './operator.ts';
import type { RunningRole } from './running-role.ts';
import { openTracedWakeUps } from './wake-ups.ts';

interface RunningOperatorApi extends RunningRole {
  /** Actual port. */
  readonly port: number;
}

interface OperatorAddress extends ListenAddress {
  /** True: takes another free port if this one is taken. */
  readonly nearby?: true;
}

/**
 * Listens at once; until Postgres has its tables and the engine is open, every route except the probes answers 503.
 * @returns when the routes are served
 */
export async function startOperatorApi(
  backends: Backends,
  { nearby, ...address }: OperatorAddress,
): Promise<RunningOperatorApi> {
  const { config, logger, metrics, hasMetricsPort, engine, ledger, engineRedis, queueRedis } = backends;
  let stage = 'starting';
  const probes = { logger, metrics, hasMetricsPort, ready: readinessOf(backends, () => stage) };
  let answer = createStartingApp(probes);
  const server = createHttpServer((request, response) => answer(request, response), {
    replyStallMs: config.replyStallMs,
    keepAliveMs: config.keepAliveMs,
  });
  const listening = await (nearby ? listenNearby : listen)(server, address, 'OPERATOR_PORT');
  await backends.migrated();
  await backends.engineOpened;
  const wakeUps = openTracedWakeUps(backends);
  const stopping = new AbortController();
  const { serviceName, networkId } = config;
  answer = createOperatorApp({
    ...probes,
    engine,
    ledger,
    serviceName,
    networkId,
    stopping: stopping.signal,
    queueCounts: () => wakeUps.counts(),
    replicas: () => countReplicas(engineRedis),
    snapshotAgeMs: () => framesAgeMs(queueRedis),
    wakeSettlement: () => wakeUps.wake(),
  });
  stage = 'ok';
  return {
    port: listening.port,
    async stop(drainMs) {
      stage = 'stopping';
      listening.turnAway();
      await sleep(drainMs);
      stopping.abort();
      await listening.close();
      await wakeUps.close();
    },
  };
}
