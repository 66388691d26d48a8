/**
 * Compares the routes for several orders with the reference exchange, or plants faults that their test must find:
 *   npm run proofs -- order-routes --cases 1000 --seed 7
 *   npm run proofs -- order-routes --broken
 */

import { openFixture } from '../../http/fixture.ts';
import { compareRoutes } from '../../http/order-routes.ts';
import { proveByTests } from '../../planted/by-tests.ts';
import { newSeed, readOptions, wholeNumber, withServers } from '../command.ts';

const values = readOptions(
  'npm run proofs -- order-routes',
  'Compares order batches, replacements and changes with a naive exchange.',
  {
    cases: ['cases of each route', '1000'],
    seed: ['repeats the cases of a run', newSeed()],
    broken: ['plants faults that the test of these routes must find', false],
  },
);

if (values.broken) await proveByTests('order-routes', 'test/http/order-routes.test.ts');
else await withServers(run);
process.exit();

async function run(): Promise<void> {
  const cases = wholeNumber('cases', values.cases, 1);
  const seed = wholeNumber('seed', values.seed);
  console.log(`SEED=${seed}, ${cases} cases of each route`);
  const fixture = await openFixture();
  try {
    const counts = await compareRoutes(fixture, seed, cases);
    for (const [outcome, count] of [...counts].sort())
      console.log(`${String(count).padStart(8)}  ${outcome}`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  } finally {
    await fixture.close();
  }
}
