/** Obtains the command line of Redis as Debian packages it, beside the server of the other tests. */

import { obtainProgram, type Program, type Wanted } from '../../src/embedded/obtain/program.mjs';

const REDIS_CLI: Wanted = {
  name: 'redis-cli',
  commands: ['redis-cli', 'valkey-cli'],
  versionFlag: '--version',
  versionOf: (output) => /(\d+\.\d+\.\d+)/.exec(output)?.[1],
  packages: ['redis-tools', 'valkey-tools'],
  unpacked: 'usr/bin/redis-cli',
};

/** @throws Error if there is none and none can be downloaded */
export const obtainRedisCli = (): Promise<Program> => obtainProgram(REDIS_CLI, () => undefined);
