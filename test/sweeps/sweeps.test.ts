/** What one client can make of settlement's memory: the role as a process, with a heap of a third of what it is given. */

import { expect } from 'chai';
import { freshDatabase, freshRedis } from '../support/servers.ts';
import { settleSweeps } from './sweeps.ts';

describe('settlement of sweeps', function () {
  this.timeout(120_000);

  it('settles sixty orders of 1,000 fills, and one of 5,000, with a heap of 256 MiB', async () => {
    const servers = { redisUrl: await freshRedis(), databaseUrl: await freshDatabase() };
    const { trades } = await settleSweeps(servers, [...Array<number>(60).fill(1_000), 5_000], 256);
    expect(trades).to.equal(65_000);
  });
});
