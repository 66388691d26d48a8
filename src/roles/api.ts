/** The role api: a stateless replica that serves the API. Any number of replicas share one engine. */

import { setTimeout as sleep } from 'node:timers/promises';
import { openAuth } from '../auth/index.ts';
import { openFaucet } from '../demo/faucet.ts';
import { createApp, createStartingApp } from '../http/app.ts';
import { ChangeWaits } from '../http/change-waits.ts';
import { createMessageClasses } from '../http/response/index.ts';
import { createHttpServer, type HttpServer } from '../http/server.ts';
import type { ProbeServices, Readiness, Services } from '../http/services.ts';
import type { Backends } from './backends.ts';
import { startCancelAfter } from './cancel-after.ts';
import { listen } from './listening.ts';
import { askedServer } from './readiness.ts';
import type { RunningRole } from './running-role.ts';
import { openTracedWakeUps } from './wake-ups.ts';

interface RunningApi extends RunningRole {
  readonly port: number;
  readonly server: HttpServer;
}

/**
 * Listens at once, so that an orchestrator sees a waiting process as alive: a restart would not bring the engine back.
 * Until Postgres has its tables and the engine is open, every route except the probes answers 503.
 * @returns when the API is served
 */
export async function startApi(backends: Backends, jwtSecret: string): Promise<RunningApi> {
  const { config, logger, metrics, hasMetricsPort, engine, ledger, marketData, queueRedis } = backends;
  let stage = 'starting';
  const ready = readinessOf(backends, () => stage);
  const probes: ProbeServices = { logger, metrics, hasMetricsPort, ready };
  let answer = createStartingApp(probes);
  const classes = createMessageClasses();
  const server = createHttpServer((request, response) => answer(request, response), {
    classes,
    replyStallMs: config.replyStallMs,
    keepAliveMs: config.keepAliveMs,
  });
  const listening = await listen(server, config);
  await backends.migrated();
  await backends.engineOpened;
  // Computing the figures of a busy day takes a while, so it starts before the first client asks.
  marketData.figures().catch((error) => logger.warn({ err: error }, 'the 24-hour figures could not be read'));
  const wakeUps = openTracedWakeUps(backends);
  const changeWaits = new ChangeWaits({ engine, connect: () => backends.openEngineReader('changes') });
  metrics.gauge(
    'redbook_waiting_requests',
    'Requests that wait for changes of orders; they are in flight, and no objective counts their waits.',
    async () => changeWaits.count,
  );
  const services: Services = {
    ...probes,
    engine,
    ledger,
    marketData,
    changeWaits,
    queueRedis,
    settings: config,
    faucet: config.demoFaucet ? openFaucet({ engine, ledger }) : undefined,
    wakeSettlement: () => wakeUps.wake(),
    auth: openAuth({
      redis: queueRedis,
      serviceName: config.serviceName,
      webHosts: config.webHosts,
      jwtSecret,
      jwtSecretPrevious: config.jwtSecretPrevious,
    }),
  };
  answer = createApp(services, classes);
  const cancelAfter = startCancelAfter(backends, () => wakeUps.wake());
  stage = 'ok';
  return {
    port: listening.port,
    server,
    async stop(drainMs) {
      stage = 'stopping';
      listening.turnAway();
      changeWaits.stop();
      await sleep(drainMs);
      await listening.close();
      await cancelAfter.stop();
      await wakeUps.close();
    },
  };
}

/**
 * Reports a replica as ready once it has started: it refuses what it cannot do while a server is away, and a balancer
 * without any replica could only refuse connections. The deep check also needs an open engine. Lists need Postgres, but
 * trading works without it. It asks both Redis servers for the time, because a server that hangs keeps its connections.
 */
export function readinessOf(
  backends: Backends,
  stage: () => string,
): (isDeep: boolean) => Promise<Readiness> {
  const { engineState, engineRedis, queueRedis, queueRights, logger } = backends;
  const askEngine = askedServer("the engine's Redis", logger, () => engineRedis.time());
  const askQueue = askedServer("the queue's Redis", logger, () => queueRedis.time());
  return async (isDeep) => {
    if (!isDeep) return { ready: stage() === 'ok', checks: { process: stage() } };
    const [engineAnswer, queueAnswer] = await Promise.all([askEngine(), askQueue()]);
    const checks = {
      process: stage(),
      engine: engineState() === 'ok' ? engineAnswer : engineState(),
      queueRedis: queueAnswer === 'ok' ? queueRights() : queueAnswer,
    };
    return { ready: Object.values(checks).every((state) => state === 'ok'), checks };
  };
}
