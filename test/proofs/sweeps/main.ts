/**
 * `npm run proofs -- sweeps [count] [--fills N] [--heap MiB]`: settles a backlog of large orders in a process with little
 * memory.
 */

import { parseArgs } from 'node:util';
import { freshDatabase, freshRedis } from '../../support/servers.ts';
import { withServers } from '../command.ts';
import { settleSweeps } from './sweeps.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { fills: { type: 'string', default: '1000' }, heap: { type: 'string', default: '256' } },
});
const count = Number(positionals[0] ?? 450);
await withServers(async () => {
  const servers = { redisUrl: await freshRedis(), databaseUrl: await freshDatabase() };
  const sweeps = Array<number>(count).fill(Number(values.fills));
  const { trades, seconds, peakMib } = await settleSweeps(servers, sweeps, Number(values.heap));
  console.log(
    `${trades} trades of ${count} orders settled in ${seconds.toFixed(1)} s with a heap of ${values.heap} MiB; ` +
      `the process held ${peakMib.toFixed(0)} MiB at most`,
  );
});
