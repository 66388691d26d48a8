/** Proves that every planted fault can be planted in the present sources, and that a proof must find it. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { underOf } from '../proofs/campaign/broken-builds.ts';
import { COPIES } from '../proofs/campaign/faults/copies.ts';
import { FAULTS } from '../proofs/campaign/faults/index.ts';
import { SABOTAGE } from '../proofs/simulation/sabotage.ts';
import { ROOT } from '../support/program.ts';
import { failedIn } from './by-tests.ts';
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

describe('planted faults: those that tests find', () => {
  const run = async (text: string): Promise<string[] | undefined> => {
    const folder = mkdtempSync(join(tmpdir(), 'redbook-planted-'));
    try {
      writeFileSync(join(folder, 'one.test.ts'), text);
      return await failedIn(ROOT, join(folder, 'one.test.ts'));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  const failing = "it('fails', () => { throw new Error('it fails'); });";

  it('are found by each test that fails', async () =>
    expect(await run(`${failing} it('passes', () => {});`)).to.deep.equal(['fails']));

  it('are not found when a hook fails', async () => {
    const hook = "before(() => { throw new Error('the server does not start'); });";
    expect(await run(`describe('all', () => { ${hook} ${failing} });`)).to.equal(undefined);
  });
});
