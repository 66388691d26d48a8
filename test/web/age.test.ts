/** The age of data on the page, from two clocks, in whole units. */

import { expect } from 'chai';
import { ageWords, durationWords, elapsedMs, streamStateOf } from '../../src/web/figures/age.ts';

describe('the age of data on the page', () => {
  const at = (wallMs: number, runningMs: number) => ({ wallMs, runningMs });

  it('is measured by the clock that advanced further', () => {
    expect(elapsedMs(at(1_000_000, 500), at(1_007_000, 7_500))).to.equal(7_000);
    // The reader set the clock back by an hour.
    expect(elapsedMs(at(4_600_000, 500), at(1_007_000, 7_500))).to.equal(7_000);
    // The machine slept, and one clock with it.
    expect(elapsedMs(at(1_000_000, 500), at(1_600_000, 900))).to.equal(600_000);
    expect(elapsedMs(at(1_000_000, 500), at(999_000, 400))).to.equal(0);
  });

  it('is shown in whole units, rounded down', () => {
    expect([0, 999, 59_999, 60_000, 3_599_999, 7_200_000].map(durationWords)).to.deep.equal([
      '0 s',
      '0 s',
      '59 s',
      '1 min',
      '59 min',
      '2 h',
    ]);
  });

  it('makes data stale after five seconds, whatever the client reports', () => {
    expect(streamStateOf('live', 5_000)).to.equal('live');
    expect(streamStateOf('live', 5_001)).to.equal('stale');
    expect(streamStateOf('stale', 100)).to.equal('stale');
    expect(streamStateOf('connecting', 100)).to.equal('live');
    expect(streamStateOf('connecting', null)).to.equal('offline');
    expect(streamStateOf('offline', 100)).to.equal('offline');
  });

  it('is shown with the next attempt to connect', () => {
    expect(ageWords('live', 1_200, null)).to.equal('updated 1 s ago');
    expect(ageWords('stale', 7_000, null)).to.equal('no update for 7 s');
    expect(ageWords('offline', 12_000, 2_400)).to.equal('no update for 12 s, retry in 2 s');
    expect(ageWords('offline', null, 2_400)).to.equal('retry in 2 s');
    expect(ageWords('offline', null, null)).to.equal('connecting');
  });
});
