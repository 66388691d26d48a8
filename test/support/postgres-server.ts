/** A Postgres for a single test, which may kill and damage it. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCluster, postgresProgram, postgresUrl } from '../../src/embedded/run/postgres.ts';
import { type Killable, startKillable } from './killable.ts';
import { freePort } from './ports.ts';

/** `kill` kills the parent of all its processes; `stop` removes its data. */
export interface PostgresServer extends Killable {
  readonly url: string;
}

export interface PostgresStart {
  /** Where its data are; it may hold those of an earlier server. */
  readonly folder?: string;
  /** True to flush each commit to the disk, so that the data survive a kill as in production. */
  readonly durable?: boolean;
  readonly port?: number;
}

export async function startPostgresServer(asked: PostgresStart = {}): Promise<PostgresServer> {
  const { folder = mkdtempSync(join(tmpdir(), 'redbook-postgres-')), durable = true } = asked;
  const password = 'test';
  const cluster = await openCluster({
    path: join(folder, 'postgres'),
    logFile: join(folder, 'postgres.log'),
    password,
    durable,
    onProgress: () => {},
  });
  const port = asked.port ?? (await freePort());
  const server = await startKillable(postgresProgram(cluster, port));
  return {
    ...server,
    url: postgresUrl(port, password),
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
