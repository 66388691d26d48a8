/** A process that runs the embedded servers of the data folder in its first argument, while its parent lives. */

import type { Socket } from 'node:net';
import { startEmbedded } from '../../../src/embedded/index.ts';

const [dataDir = ''] = process.argv.slice(2);

process.stdin.resume().once('end', () => process.exit());
(process.stdin as unknown as Socket).unref();

try {
  const servers = await startEmbedded({ dataDir, durable: false });
  process.once('SIGTERM', () => servers.stop());
  process.stdout.write(`${JSON.stringify(servers)}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
