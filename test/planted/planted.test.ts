/** Proves that every planted fault can be planted in the present sources, and that a proof must find it. */

import { expect } from 'chai';
import { underOf } from '../proofs/campaign/broken-builds.ts';
import { COPIES } from '../proofs/campaign/faults/copies.ts';
import { FAULTS } from '../proofs/campaign/faults/index.ts';
import { SABOTAGE } from '../proofs/simulation/sabotage.ts';
import { PLANTED, rewriteOf } from './planted.ts';
import { plantedFiles } from './release.ts';

describe('planted faults', () => {
  it('have different names', () =>
    expect(new Set(PLANTED.map(({ name }) => name)).size).to.equal(PLANTED.length));

  it('name faults of the campaign under which they show', () => {
    const names = new Set([...FAULTS, ...COPIES].map(({ name }) => name));
    const asked = PLANTED.filter(({ seenBy }) => seenBy.includes('campaign')).map(underOf);
    expect(asked.filter((name) => !names.has(name))).to.deep.equal([]);
  });

  for (const fault of PLANTED)
    it(`can be planted: ${fault.name}`, () => {
      const isInFiles = fault.changes.some(({ target }) => target !== 'sql');
      const planted = isInFiles ? plantedFiles(fault) : (rewriteOf(fault) ?? SABOTAGE[fault.name]);
      expect(planted).to.not.equal(undefined);
      expect(fault.seenBy).to.have.length.above(0);
    });
});
