/** Obtains HAProxy as Debian packages it, the balancer of docker-compose.yml. */

import { obtainProgram, type Program, type Wanted } from '../../src/embedded/obtain/program.mjs';

const HAPROXY: Wanted = {
  name: 'haproxy',
  commands: ['haproxy'],
  versionFlag: '-v',
  versionOf: (output) => /HAProxy version (\d+\.\d+\.\d+)/i.exec(output)?.[1],
  packages: ['haproxy'],
  unpacked: 'usr/sbin/haproxy',
};

/** @throws Error naming what to install, if there is no HAProxy and none can be downloaded */
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
