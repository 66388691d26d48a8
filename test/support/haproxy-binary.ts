/** HAProxy as Debian packages it: what stands before the replicas in docker-compose.yml. */

import { obtainProgram, type Program, type Wanted } from '../../src/embedded/obtain/program.mjs';

const HAPROXY: Wanted = {
  name: 'haproxy',
  commands: ['haproxy'],
  versionFlag: '-v',
  versionOf: (output) => /HAProxy version (\d+\.\d+\.\d+)/i.exec(output)?.[1],
  packages: ['haproxy'],
  unpacked: 'usr/sbin/haproxy',
};

/** @throws with what to install, when there is none and none can be fetched */
export async function obtainHaproxy(onProgress: (line: string) => void = () => {}): Promise<Program> {
  try {
    return await obtainProgram(HAPROXY, onProgress);
  } catch (error) {
    throw new Error(
      `No haproxy was found, and none could be fetched (${(error as Error).message}). ` +
        'Install it: sudo apt-get install haproxy, sudo dnf install haproxy, or brew install haproxy.',
    );
  }
}
