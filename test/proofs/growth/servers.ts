/** The servers of a run, whose data stay in its folder, and the processes of the service on them. */

import { join } from 'node:path';
import { openSessions } from '../../../src/auth/session.ts';
import { startEmbedded } from '../../../src/embedded/index.ts';
import { freePort } from '../../../src/embedded/run/ports.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import { type Service, startService } from '../../support/service.ts';

const SECRET = 'a secret of the growth command, and of nothing else';

export interface Servers {
  readonly redisUrl: string;
  readonly databaseUrl: string;
  /** Starts a process of a role and waits until it is ready. */
  start(role: string, env?: Readonly<Record<string, string>>): Promise<Service>;
  close(): Promise<void>;
}

/**
 * Postgres does not wait for the disk, so a crash of the machine may lose a run. A kill of the command and of its
 * servers does not. The queue has a Redis of its own, so that the engine's holds nothing but the engine.
 */
export async function openServers(folder: string): Promise<Servers> {
  const embedded = await startEmbedded({ dataDir: join(folder, 'data'), durable: false });
  const queue = await startRedisServer(join(folder, 'queue'), { settings: ['appendonly no'] });
  const { redisUrl, databaseUrl } = embedded;
  return {
    redisUrl,
    databaseUrl,
    start: async (role, env) =>
      startService(role, {
        REDIS_URL: redisUrl,
        QUEUE_REDIS_URL: queue.url,
        DATABASE_URL: databaseUrl,
        JWT_SECRET: SECRET,
        WEB_HOSTS: 'localhost',
        LOG_LEVEL: 'warn',
        // The model of the tail has this time.
        EVENTS_STAY_MS: '10000',
        PORT: String(await freePort()),
        ...env,
      }),
    async close() {
      await queue.stop();
      await embedded.stop();
    },
  };
}

const sessions = openSessions({
  issuer: 'Redbook',
  secret: SECRET,
  previousSecret: undefined,
  nowMs: Date.now,
});

/** Authorization header with a session of the wallet. */
export const bearerOf = (wallet: string): string => `Bearer ${sessions.issue(wallet)}`;
