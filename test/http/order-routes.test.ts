/**
 * Proves that order batches, replacements, cancels of named orders and reads of changes do what the reference exchange
 * does. `npm run proofs -- order-routes` runs more cases, and plants faults that this test must find.
 */

import { expect } from 'chai';
import { runSeed } from '../support/seed.ts';
import { type Fixture, openFixture } from './fixture.ts';
import { compareRoutes, KINDS } from './order-routes.ts';

const CASES = 60;

describe('routes for several orders', () => {
  let fixture: Fixture;

  before(async () => {
    fixture = await openFixture();
  });
  after(() => fixture.close());

  it(`answer as the reference exchange does, in ${CASES} seeded cases each`, async () => {
    const counts = await compareRoutes(fixture, runSeed(), CASES);
    for (const kind of KINDS) expect(counts.get(kind), kind).to.be.at.least(CASES);
    for (const outcome of [
      'replaced',
      'replayed',
      'cancelled',
      'not cancelled',
      'changes awaited',
      'trimmed',
    ])
      expect(counts.get(outcome), outcome).to.be.above(0);
  });
});
