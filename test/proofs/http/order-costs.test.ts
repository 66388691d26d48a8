/** Holds what an order and a cancel make in their process below bounds that a lost saving exceeds. */

import { expect } from 'chai';
import { freshLedgerDatabase, freshRedis } from '../../support/servers.ts';
import { costsOfCommands, MAX } from '../bench/order-costs.ts';
import { bytesOfReading, MAX_OF_READING } from '../bench/reading-costs.ts';

describe('http: costs of an order', function () {
  this.timeout(300_000);
  let costs: Awaited<ReturnType<typeof costsOfCommands>>;

  before(async () => {
    costs = await costsOfCommands({ redisUrl: await freshRedis(), databaseUrl: await freshLedgerDatabase() });
  });

  for (const [command, max] of Object.entries(MAX))
    for (const [name, bound] of Object.entries(max))
      it(`makes at most ${bound} ${name} for ${command}`, () => {
        expect(costs.commands[command as keyof typeof MAX][name as keyof typeof max]).to.be.at.most(bound);
      });

  it('finds the methods of strings without a dictionary', () => {
    expect(costs.hasFastStrings).to.equal(true);
  });

  it(`makes at most ${MAX_OF_READING} bytes to read an order`, () => {
    expect(bytesOfReading()).to.be.at.most(MAX_OF_READING);
  });
});
