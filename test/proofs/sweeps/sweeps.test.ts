/**
 * Proves that settlement's memory stays bounded under the heaviest load of one client. The process has a third of its
 * container's heap.
 */

import { expect } from 'chai';
import { freshLedgerDatabase, freshRedis } from '../../support/servers.ts';
import { settleSweeps } from './sweeps.ts';

describe('settlement of sweeps', function () {
  this.timeout(300_000);

  it('settles sixty orders of 1,000 fills, and one of 5,000, with a heap of 128 MiB', async () => {
    const servers = { redisUrl: await freshRedis(), databaseUrl: await freshLedgerDatabase() };
    const { trades } = await settleSweeps(servers, [...Array<number>(60).fill(1_000), 5_000], 128);
    expect(trades).to.equal(65_000);
  });
});
