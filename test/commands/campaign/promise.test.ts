/** Proves that the README promises nothing that no round of the campaign backs. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { FAULTS } from './faults/index.ts';

const README = new URL('../../../README.md', import.meta.url);
const CAMPAIGN = new URL('../../../docs/campaign.md', import.meta.url);

/** The cells of each row of a section's tables. */
function rowsOf(file: URL, heading: string): string[][] {
  const section = readFileSync(file, 'utf8')
    .split(/^## /m)
    .find((text) => text.startsWith(heading));
  return section!
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

const promised = rowsOf(README, 'What an answer promises')
  .slice(2)
  .map(([fault, , proofs]) => ({
    fault: fault!,
    proofs: [...proofs!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
  }));

const ran = rowsOf(CAMPAIGN, 'What was run').map(([fault, rounds, , , violations]) => ({
  fault: fault!.replaceAll('`', ''),
  rounds: Number(rounds),
  violations: Number(violations),
}));

describe('the promise of the README', () => {
  it('names at least one fault in each line', () => {
    expect(promised).to.have.length.above(5);
    for (const { fault, proofs } of promised) expect(proofs, fault).to.have.length.above(0);
  });

  for (const { fault, proofs } of promised)
    for (const proof of proofs)
      it(`${fault}: ${proof} is a fault of the campaign, was run, and had no violation`, () => {
        expect(FAULTS.map(({ name }) => name)).to.include(proof);
        const rows = ran.filter((row) => row.fault === proof);
        expect(rows, 'rows of docs/campaign.md').to.have.length.above(0);
        for (const { rounds, violations } of rows) expect([rounds > 0, violations]).to.deep.equal([true, 0]);
      });
});
