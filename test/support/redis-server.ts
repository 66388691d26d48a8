/** A Redis for one test alone, which may do to it whatever a machine does to a server. */

import { join } from 'node:path';
import { freePort } from '../../src/embedded/ports.ts';
import { redisProgram, redisUrl } from '../../src/embedded/redis.ts';
import { obtainRedis } from '../../src/embedded/redis-binary.mjs';
import { type Incarnation, launch, untilReady } from '../../src/embedded/supervise.ts';

export interface RedisServer {
  readonly url: string;
  /** SIGKILL; it stays down until `start`. */
  kill(): Promise<void>;
  /** Again, on its own data and port. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * @param path a folder for its data, created when missing
 * @param environment variables that it has besides its own
 */
export async function startRedisServer(
  path: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<RedisServer> {
  const binary = await obtainRedis();
  const port = await freePort();
  const password = 'test';
  const plain = redisProgram(binary, { path, logFile: join(path, 'redis.log'), port, password });
  const program = { ...plain, env: { ...plain.env, ...environment } };
  let current: Incarnation;
  const start = async (): Promise<void> => {
    current = await launch(program);
    await untilReady(program, current);
  };
  await start();
  return {
    url: redisUrl(port, password),
    async kill() {
      if (current.alive) process.kill(current.pid, 'SIGKILL');
      await current.gone;
    },
    start,
    async stop() {
      current.end();
      await current.gone;
    },
  };
}
