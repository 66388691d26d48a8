/** A process that does nothing but run the embedded servers of the data folder in its first argument. */

import { startEmbedded } from '../../src/embedded/index.ts';

const [dataDir = ''] = process.argv.slice(2);

try {
  const servers = await startEmbedded({ dataDir, durable: false });
  process.once('SIGTERM', () => servers.stop());
  process.stdout.write(`${JSON.stringify(servers)}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
