/** A primary, its replica, and a Sentinel that promotes the replica when the primary fails. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { obtainRedis } from '../../src/embedded/obtain/redis-binary.mjs';
import { serverEnvironment } from '../../src/embedded/obtain/server-environment.mjs';
import { launch } from '../../src/embedded/run/supervise.ts';
import { freePort } from './ports.ts';
import { ADMIN, asReplica, PASSWORD, startRedisServer, untilInStep, untilSaid } from './redis-server.ts';

export interface Watched {
  /** The administrator's URL through the Sentinel. */
  readonly url: string;
  /** Sends SIGKILL to the primary. */
  killPrimary(): Promise<void>;
  stop(): Promise<void>;
}

const NAME = 'queue';

export async function startWatchedRedis(path: string): Promise<Watched> {
  const [port, sentinelPort] = [await freePort(), await freePort()];
  const primary = await startRedisServer(join(path, 'primary'), { port, settings: asReplica });
  const settings = [...asReplica, `replicaof 127.0.0.1 ${port}`];
  const replica = await startRedisServer(join(path, 'replica'), { settings });
  await untilInStep(replica);
  const sentinel = await startSentinel(join(path, 'sentinel'), sentinelPort, port);
  const knows = async (word: string): Promise<void> =>
    untilSaid(`redis://127.0.0.1:${sentinelPort}`, async (redis) =>
      (await redis.info('sentinel')).includes(word),
    );
  await knows('slaves=1');
  return {
    url: `redis+sentinel://${ADMIN}:${PASSWORD}@127.0.0.1:${sentinelPort}/${NAME}`,
    killPrimary: () => primary.kill(),
    async stop() {
      sentinel.end();
      await sentinel.gone;
      await Promise.all([primary.stop(), replica.stop()]);
    },
  };
}

async function startSentinel(path: string, port: number, primaryPort: number) {
  mkdirSync(path, { recursive: true });
  const settings = [
    'bind 127.0.0.1',
    `port ${port}`,
    'dir .',
    'logfile ""',
    `sentinel monitor ${NAME} 127.0.0.1 ${primaryPort} 1`,
    `sentinel auth-user ${NAME} sentinel`,
    `sentinel auth-pass ${NAME} ${PASSWORD}`,
    `sentinel down-after-milliseconds ${NAME} 1000`,
    `sentinel failover-timeout ${NAME} 5000`,
  ];
  writeFileSync(join(path, 'sentinel.conf'), `${settings.join('\n')}\n`);
  const { command, libraryPath } = await obtainRedis();
  return launch({
    name: 'Sentinel',
    command,
    args: ['sentinel.conf', '--sentinel'],
    cwd: path,
    stopSignal: 'TERM',
    env: serverEnvironment(libraryPath),
    logFile: join(path, 'sentinel.log'),
    isReady: async () => true,
  });
}
