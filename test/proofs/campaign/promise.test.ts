/** Proves that docs/promise.md promises nothing that no round of the campaign backs. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { COPIES } from './faults/copies.ts';
import { FAULTS } from './faults/index.ts';

const PROMISE = new URL('../../../docs/promise.md', import.meta.url);
const CAMPAIGN = new URL('../../../docs/campaign.md', import.meta.url);

/** The cells of the rows in a section that begin with the number of a promise, or with a dash for none. */
function numberedRows(file: URL, heading: string): string[][] {
  const section = readFileSync(file, 'utf8')
    .split(/^## /m)
    .find((text) => text.startsWith(heading));
  return section!
    .split('\n')
    .filter((line) => /^\| (\d+|–) \|/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

const promised = numberedRows(PROMISE, 'Promises under faults').map(([number, fault]) => ({
  number: number!,
  fault: fault!,
}));

const ran = numberedRows(CAMPAIGN, 'The last whole run').flatMap(([number, faults, violations]) =>
  [...faults!.matchAll(/`([^`]+)` (\d+)/g)].map(([, fault, rounds]) => ({
    number: number!,
    fault: fault!,
    rounds: Number(rounds),
    violations: Number(violations),
  })),
);

describe('docs/promise.md', () => {
  it('numbers its lines from 1', () => {
    expect(promised).to.have.length.above(5);
    expect(promised.map(({ number }) => number)).to.deep.equal(promised.map((_, at) => String(at + 1)));
  });

  for (const { number, fault } of promised)
    it(`${number} (${fault}) is backed by a fault of docs/campaign.md`, () => {
      expect(ran.some((row) => row.number === number)).to.equal(true);
    });
});

describe('the rounds of docs/campaign.md', () => {
  it('are those of every fault', () => {
    expect(ran.map(({ fault }) => fault)).to.have.members([...FAULTS, ...COPIES].map(({ name }) => name));
  });

  for (const { number, fault, rounds, violations } of ran)
    it(`${fault} was run, had no violation, and backs a line of the promise if it names one`, () => {
      if (number !== '–') expect(promised.map((one) => one.number)).to.include(number);
      expect([rounds > 0, violations]).to.deep.equal([true, 0]);
    });
});
