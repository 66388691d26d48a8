/** `npm run proofs -- sweeps`: settles a backlog of large orders in a process with little memory. */

import { freshDatabase, freshRedis } from '../../support/servers.ts';
import { readOptions, wholeNumber, withServers } from '../command.ts';
import { settleSweeps } from './sweeps.ts';

const values = readOptions('npm run proofs -- sweeps', 'Settles a backlog of large orders in a small heap.', {
  orders: ['orders of the backlog', '450'],
  fills: ['executions of each order', '1000'],
  heap: ['MiB of the heap', '256'],
});
const [count, fills, heap] = [
  wholeNumber('orders', values.orders, 1),
  wholeNumber('fills', values.fills, 1),
  wholeNumber('heap', values.heap, 1),
];
await withServers(async () => {
  const servers = { redisUrl: await freshRedis(), databaseUrl: await freshDatabase() };
  const sweeps = Array<number>(count).fill(fills);
  const { trades, seconds, peakMib } = await settleSweeps(servers, sweeps, heap);
  console.log(
    `${trades} trades of ${count} orders settled in ${seconds.toFixed(1)} s with a heap of ${heap} MiB; ` +
      `the process held ${peakMib.toFixed(0)} MiB at most`,
  );
});
