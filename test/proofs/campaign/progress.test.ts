/** A run that was killed goes on: what it held, and what it may have lost. */

import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openProgress, sumOf } from './journal.ts';

const figures = (requests: number, notes: string[] = []) => ({
  requests,
  unknowns: 1,
  healedMs: [requests],
  longestMs: requests,
  tookMs: requests,
  notes,
});

describe('the progress of a campaign', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-progress-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('has the rounds that held in an earlier run, and ignores a cluster that was killed in a loss', () => {
    const first = openProgress(folder);
    first.note({ fault: 'kill', rounds: [1, 2], ...figures(30, ['a']) });
    first.begin({ fault: 'lose', round: 1, place: 'shared' });
    first.note({ fault: 'lose', rounds: [1], ...figures(5) });
    first.begin({ fault: 'lose', round: 2, place: 'other' });
    first.close();
    // The kill came in the middle of an entry.
    appendFileSync(join(folder, 'progress.jsonl'), '{"entry":"held","fault":"lose","rou');

    const next = openProgress(folder);
    expect(next.held('kill').flatMap(({ rounds }) => rounds)).to.deep.equal([1, 2]);
    expect(next.held('lose').flatMap(({ rounds }) => rounds)).to.deep.equal([1]);
    expect(next.isAbandoned('shared')).to.equal(false);
    expect(next.isAbandoned('other')).to.equal(true);
    next.note({ fault: 'lose', rounds: [2], ...figures(7) });
    next.close();

    const last = openProgress(folder);
    expect(last.held('lose').flatMap(({ rounds }) => rounds)).to.deep.equal([1, 2]);
    last.close();
  });

  it('adds up figures of rounds', () => {
    expect(sumOf([figures(3, ['a']), figures(5, ['b'])])).to.deep.equal({
      requests: 8,
      unknowns: 2,
      healedMs: [3, 5],
      longestMs: 5,
      tookMs: 8,
      notes: ['a', 'b'],
    });
    expect(sumOf([])).to.deep.equal({ ...figures(0), unknowns: 0, healedMs: [] });
  });
});
