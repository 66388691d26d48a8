/** Starts PgBouncer, as Debian packages it, in front of a test's Postgres. */

import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { obtainProgram, type Program, type Wanted } from '../../src/embedded/obtain/program.mjs';
import { serverEnvironment } from '../../src/embedded/obtain/server-environment.mjs';
import { eventually } from './eventually.ts';
import { freePort } from './ports.ts';

const PGBOUNCER: Wanted = {
  name: 'pgbouncer',
  commands: ['pgbouncer'],
  versionFlag: '--version',
  versionOf: (output) => /PgBouncer (\d+\.\d+\.\d+)/i.exec(output)?.[1],
  packages: ['pgbouncer'],
  unpacked: 'usr/sbin/pgbouncer',
};

/** @throws Error if there is no PgBouncer and none can be downloaded */
export const obtainPgBouncer = (): Promise<Program> => obtainProgram(PGBOUNCER, () => undefined);

/** @returns the same database by way of the pooler, and a function that ends it */
export async function startPgBouncer(
  program: Program,
  databaseUrl: string,
  mode: 'session' | 'transaction',
): Promise<{ readonly databaseUrl: string; stop(): void }> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const own = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'redbook-pgbouncer-'));
  const file = join(folder, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${port} user=${username} password=${decodeURIComponent(password)}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1\nlisten_port = ${own}\nunix_socket_dir =\nauth_type = any`,
    `pool_mode = ${mode}\ndefault_pool_size = 40`,
    ...(process.getuid?.() === 0 ? ['user = nobody'] : []),
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  chmodSync(folder, 0o755);
  const env = serverEnvironment(program.libraryPath);
  const child = spawn(program.command, [file], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await eventually('the pooler listens', async () => said.includes('process up'));
  return {
    databaseUrl: `postgres://${username}@127.0.0.1:${own}${pathname}`,
    stop() {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    },
  };
}
