/** The role stream: relays the frames that the snapshot worker publishes. Any number of replicas may run. */

import { setTimeout as sleep } from 'node:timers/promises';
import { openFollower } from '../feed/index.ts';
import { createProbeApp } from '../http/app.ts';
import { createHttpServer, type HttpServer } from '../http/server.ts';
import { openStreams } from '../stream/index.ts';
import type { Connections } from './backends.ts';
import { listen } from './listening.ts';
import { NO_ANSWER } from './readiness.ts';
import { watchRights } from './rights-watch.ts';
import type { RunningRole } from './running-role.ts';

interface RunningStreams extends RunningRole {
  /** True while frames can arrive. */
  isOpen(): boolean;
}

/** Serves the streams on a server that also serves other requests. */
export function openStreamsOn(server: HttpServer, connections: Connections): RunningStreams {
  const { config, logger, metrics, engine, queueRedis } = connections;
  const follower = openFollower({ redis: queueRedis, subscriber: connections.openSubscriber('frames') });
  const streams = openStreams({
    follower,
    settings: config,
    log: logger,
    hasMarket: (symbol) => engine.markets.exists(symbol),
  });
  server.takeWebSockets(streams.upgrade);
  metrics.gauge(
    'redbook_stream_clients',
    'Clients by stream.',
    async () => ({ ...streams.clients() }),
    'stream',
  );
  metrics.counter(
    'redbook_stream_frames_total',
    'Frames of a beat that clients got (sent) or lost because they lagged (skipped).',
    () => ({ ...streams.frameCounts() }),
    'outcome',
  );
  metrics.gauge('redbook_stream_frame_age_seconds', 'Time since frames came.', async () => {
    const ageMs = streams.frameAgeMs();
    return ageMs === undefined ? {} : ageMs / 1_000;
  });
  return {
    isOpen: () => follower.isOpen(),
    // In the first half of the time, load balancers that have not noticed the shutdown still send new clients.
    async stop(drainMs) {
      await sleep(drainMs / 2);
      await streams.drain(drainMs / 2);
      follower.close();
    },
  };
}

export async function startStream(
  connections: Connections,
): Promise<RunningRole & { readonly port: number }> {
  const { config, logger, metrics, hasMetricsPort, engineRedis, names, outages } = connections;
  // No engine opens here, which would check the rights.
  const rights = watchRights({ redis: engineRedis, user: 'engine-stream', server: names.engine, outages });
  let stopping = false;
  const ready = async () => {
    const checks = {
      process: stopping ? 'stopping' : 'ok',
      frames: streams.isOpen() ? 'ok' : 'the queue’s Redis is away',
      queueRedis: connections.queueRights(),
      engine: engineRedis.status === 'ready' ? rights.state() : NO_ANSWER,
    };
    return { ready: Object.values(checks).every((state) => state === 'ok'), checks };
  };
  const server = createHttpServer(createProbeApp({ logger, metrics, hasMetricsPort, ready }));
  const streams = openStreamsOn(server, connections);
  const listening = await listen(server, config);
  return {
    port: listening.port,
    async stop(drainMs) {
      stopping = true;
      rights.stop();
      await streams.stop(drainMs);
      await listening.close();
    },
  };
}
