/** A Postgres for one test alone, which may do to it whatever a machine does to a server. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/embedded/ports.ts';
import { openCluster, postgresProgram, postgresUrl } from '../../src/embedded/postgres.ts';
import { type Incarnation, launch, untilReady } from '../../src/embedded/supervise.ts';

export interface PostgresServer {
  readonly url: string;
  /** SIGKILL of all its processes' parent; it stays down until `start`. */
  kill(): Promise<void>;
  /** Again, on its own data and port. */
  start(): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

/** @param durable whether what it committed is on the disk, and its data outlive a kill as they would in production */
export async function startPostgresServer({
  folder = mkdtempSync(join(tmpdir(), 'redbook-postgres-')),
  durable = true,
} = {}): Promise<PostgresServer> {
  const password = 'test';
  const cluster = await openCluster({
    path: join(folder, 'postgres'),
    logFile: join(folder, 'postgres.log'),
    password,
    durable,
    onProgress: () => {},
  });
  const port = await freePort();
  const program = postgresProgram(cluster, port);
  let current: Incarnation;
  const start = async (): Promise<void> => {
    current = await launch(program);
    await untilReady(program, current);
  };
  await start();
  return {
    url: postgresUrl(port, password),
    async kill() {
      if (current.alive) process.kill(current.pid, 'SIGKILL');
      await current.gone;
    },
    start,
    async stop() {
      current.end();
      await current.gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
