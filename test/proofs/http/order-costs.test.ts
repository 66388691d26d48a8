/** Holds what an order and a cancel make in their process below bounds that a lost saving exceeds. */

import { expect } from 'chai';
import { freshLedgerDatabase, freshRedis } from '../../support/servers.ts';
import { costsOfCommands, MOST } from '../bench/order-costs.ts';

describe('http: costs of an order', function () {
  this.timeout(300_000);
  let costs: Awaited<ReturnType<typeof costsOfCommands>>;

  before(async () => {
    costs = await costsOfCommands({ redisUrl: await freshRedis(), databaseUrl: await freshLedgerDatabase() });
  });

  for (const [command, most] of Object.entries(MOST))
    for (const [name, bound] of Object.entries(most))
      it(`makes at most ${bound} ${name} for ${command}`, () => {
        expect(costs[command as keyof typeof MOST][name as keyof typeof most]).to.be.at.most(bound);
      });
});
