/** Proves that the latency histogram writes the same metrics as the histogram of prom-client. */

import { expect } from 'chai';
import { Histogram, Registry } from 'prom-client';
import { LatencyHistogram } from '../../src/process/latency-histogram.ts';
import { random, runSeed } from '../support/seed.ts';

describe('a latency histogram', () => {
  it("reads as prom-client's own of the same observations", async () => {
    const dice = random(runSeed());
    const options = {
      name: 'seconds',
      help: 'Time.',
      labelNames: ['method', 'status'],
      buckets: [0.001, 0.25, 1],
    };
    const own = new Registry();
    const reference = new Registry();
    const histogram = new LatencyHistogram({ ...options, registers: [own] });
    const theirs = new Histogram({ ...options, registers: [reference] });
    for (const labels of [
      ['GET', '200'],
      ['a "quoted" \\ one', ''],
    ]) {
      const series = histogram.series(...labels);
      for (const value of [0.001, 1, 0, 7, ...Array.from({ length: 100 }, () => dice.below(4_096) / 1_024)]) {
        series.observe(value);
        theirs.labels(...labels).observe(value);
      }
    }
    expect(await own.metrics()).to.equal(await reference.metrics());
  });
});
