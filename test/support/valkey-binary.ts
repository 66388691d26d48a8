/** Obtains a Valkey 8, which answers WAITAOF, beside the server of the other tests. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { obtainProgram, type Program, type Wanted } from '../../src/embedded/obtain/program.mjs';
import { placeServer } from '../../src/embedded/obtain/redis-binary.mjs';

const VALKEY: Wanted = {
  name: 'valkey',
  commands: ['valkey-server'],
  versionFlag: '--version',
  versionOf: (output) => /\bv=([89]\.\d+\.\d+)/.exec(output)?.[1],
  packages: ['valkey-tools'],
  unpacked: 'redis-server',
  arrange: placeServer,
};

/** @returns undefined where none is there and none can be downloaded */
export const obtainValkey = (): Promise<Program | undefined> =>
  withBackports(() => obtainProgram(VALKEY, () => undefined)).catch(() => undefined);

/** Debian 12 has Valkey in its backports only, so apt gets them beside the sources of the system. */
async function withBackports<T>(work: () => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-backports-'));
  const { APT_CONFIG: before } = process.env;
  const configuration = join(folder, 'apt.conf');
  const sources = join(folder, 'sources.list');
  writeFileSync(sources, `${textOf('/etc/apt/sources.list')}\n${backports()}\n`);
  writeFileSync(configuration, `Dir::Etc::SourceList "${sources}";\n`);
  process.env.APT_CONFIG = configuration;
  try {
    return await work();
  } finally {
    if (before === undefined) delete process.env.APT_CONFIG;
    else process.env.APT_CONFIG = before;
    rmSync(folder, { recursive: true });
  }
}

const textOf = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');

/** The line of the backports at the mirror of the system; empty where it is no Debian. */
function backports(): string {
  const listed = ['/etc/apt/sources.list', '/etc/apt/sources.list.d/debian.sources'].map(textOf).join('\n');
  const [, mirror] = /(https?:\/\/\S+\/debian)\/?\s/.exec(listed) ?? [];
  const [, release] = /^VERSION_CODENAME=(\w+)$/m.exec(textOf('/etc/os-release')) ?? [];
  if (mirror === undefined || release === undefined) return '';
  return `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror} ${release}-backports main`;
}
