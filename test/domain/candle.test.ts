/** Proves that candle buckets begin on the UTC grid of their timeframe. */

import { expect } from 'chai';
import { bucketStartMs, TIMEFRAMES, type Timeframe } from '../../src/domain/candle.ts';
import { random, runSeed } from '../support/seed.ts';

const startOf = (timeframe: Timeframe, time: string): string =>
  new Date(bucketStartMs(timeframe, Date.parse(time))).toISOString().replace('.000Z', 'Z');

describe('the start of a candle', () => {
  const rows: [time: string, ...starts: string[]][] = [
    // time, then 1m, 5m, 15m, 1h, 4h, 1D, 1W, 1M
    [
      '2024-02-29T23:59:59.999Z',
      '2024-02-29T23:59:00Z',
      '2024-02-29T23:55:00Z',
      '2024-02-29T23:45:00Z',
      '2024-02-29T23:00:00Z',
      '2024-02-29T20:00:00Z',
      '2024-02-29T00:00:00Z',
      '2024-02-26T00:00:00Z',
      '2024-02-01T00:00:00Z',
    ],
    [
      '2024-03-01T00:00:00.000Z',
      '2024-03-01T00:00:00Z',
      '2024-03-01T00:00:00Z',
      '2024-03-01T00:00:00Z',
      '2024-03-01T00:00:00Z',
      '2024-03-01T00:00:00Z',
      '2024-03-01T00:00:00Z',
      '2024-02-26T00:00:00Z',
      '2024-03-01T00:00:00Z',
    ],
    [
      '2023-12-31T23:59:59.999Z', // a Sunday
      '2023-12-31T23:59:00Z',
      '2023-12-31T23:55:00Z',
      '2023-12-31T23:45:00Z',
      '2023-12-31T23:00:00Z',
      '2023-12-31T20:00:00Z',
      '2023-12-31T00:00:00Z',
      '2023-12-25T00:00:00Z',
      '2023-12-01T00:00:00Z',
    ],
    [
      '2025-01-01T00:07:31.000Z', // a Wednesday
      '2025-01-01T00:07:00Z',
      '2025-01-01T00:05:00Z',
      '2025-01-01T00:00:00Z',
      '2025-01-01T00:00:00Z',
      '2025-01-01T00:00:00Z',
      '2025-01-01T00:00:00Z',
      '2024-12-30T00:00:00Z',
      '2025-01-01T00:00:00Z',
    ],
    [
      '1970-01-01T05:16:00.001Z', // a Thursday
      '1970-01-01T05:16:00Z',
      '1970-01-01T05:15:00Z',
      '1970-01-01T05:15:00Z',
      '1970-01-01T05:00:00Z',
      '1970-01-01T04:00:00Z',
      '1970-01-01T00:00:00Z',
      '1969-12-29T00:00:00Z',
      '1970-01-01T00:00:00Z',
    ],
  ];
  for (const [time, ...starts] of rows) {
    it(`is right for each timeframe at ${time}`, () => {
      expect(TIMEFRAMES.map((timeframe) => startOf(timeframe, time))).to.deep.equal(starts);
    });
  }

  it('is in UTC, on the grid of its timeframe, and not after the given time', () => {
    const dice = random(runSeed());
    for (let index = 0; index < 5_000; index += 1) {
      const timeMs = dice.below(4_200_000_000) * 1000 + dice.below(1000);
      for (const timeframe of TIMEFRAMES) {
        const startMs = bucketStartMs(timeframe, timeMs);
        const start = new Date(startMs);
        expect(startMs <= timeMs && bucketStartMs(timeframe, startMs) === startMs).to.equal(true);
        expect([start.getUTCSeconds(), start.getUTCMilliseconds()]).to.deep.equal([0, 0]);
        if (timeframe === '1W') expect([start.getUTCDay(), start.getUTCHours()]).to.deep.equal([1, 0]);
        if (timeframe === '1M') expect([start.getUTCDate(), start.getUTCHours()]).to.deep.equal([1, 0]);
        if (timeframe === '4h') expect(start.getUTCHours() % 4).to.equal(0);
      }
    }
  });
});
