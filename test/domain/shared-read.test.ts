/** Proves that concurrent callers share one read that began after they asked. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { cappedReads, oneAtATime } from '../../src/domain/shared-read.ts';

/** A read that takes some milliseconds and records when it began. */
function slowRead(): { read: () => Promise<number>; begun: number[]; max: () => number } {
  const begun: number[] = [];
  let underWay = 0;
  let max = 0;
  return {
    begun,
    max: () => max,
    async read() {
      underWay += 1;
      max = Math.max(max, underWay);
      const now = performance.now();
      begun.push(now);
      await sleep(5);
      underWay -= 1;
      return now;
    },
  };
}

describe('a shared read', () => {
  it('runs one at a time, and begins after all callers that it answers have asked', async () => {
    const { read, begun, max } = slowRead();
    const shared = oneAtATime(read);
    const ask = async (): Promise<void> => {
      const askedAt = performance.now();
      expect((await shared()) >= askedAt).to.equal(true);
    };
    const asked: Promise<void>[] = [];
    for (let round = 0; round < 40; round += 1) {
      asked.push(...Array.from({ length: 25 }, ask));
      await sleep(1);
    }
    await Promise.all(asked);
    expect(max()).to.equal(1);
    expect(begun.length).to.be.below(42);
  });

  it('fails the callers that shared it, and no later one', async () => {
    let fails = true;
    const shared = oneAtATime(async () => {
      if (fails) throw new Error('away');
      return 'answer';
    });
    const outcomes = await Promise.allSettled([shared(), shared()]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    fails = false;
    expect(await shared()).to.equal('answer');
  });

  it('does not follow a failed read with another for the callers that waited behind it', async () => {
    let reads = 0;
    const shared = oneAtATime(async () => {
      reads += 1;
      await sleep(5);
      throw new Error(`away ${reads}`);
    });
    const first = shared();
    await sleep(1);
    const outcomes = await Promise.allSettled([first, shared(), shared()]);
    expect(outcomes.map((one) => String((one as PromiseRejectedResult).reason))).to.deep.equal(
      Array(3).fill('Error: away 1'),
    );
    await shared().catch(() => undefined);
    expect(reads).to.equal(2);
  });

  it('is fresh for rare callers, and repeated at most ten times a second for many', async () => {
    let reads = 0;
    const shared = cappedReads(300, async () => {
      reads += 1;
      return reads;
    });
    for (let count = 1; count <= 300; count += 1) expect(await shared()).to.equal(count);
    const begun = performance.now();
    let answers = 0;
    while (performance.now() - begun < 500) {
      answers += 1;
      await shared();
      if (answers % 100 === 0) await sleep(0);
    }
    expect(answers).to.be.above(1_000);
    const tenths = (performance.now() - begun) / 100;
    expect(reads - 300).to.be.within(3, Math.ceil(tenths) + 1);
  });
});
