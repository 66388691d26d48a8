/** Proves that a wait ends at its limit and that later results are ignored. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { withTimeLimit } from '../../src/domain/time-limit.ts';

const NEVER = new Promise<never>(() => undefined);
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

describe('domain: a wait with a time limit', () => {
  it('returns the result or its error, and leaves no timer', async () => {
    // Mocha sets the timer of this test.
    await nextTurn();
    const before = timers();
    expect(await withTimeLimit(60_000, Promise.resolve('answer'), () => 'late')).to.equal('answer');
    const error = new Error('refused');
    expect(await withTimeLimit(60_000, Promise.reject(error), () => 'late').catch((one) => one)).to.equal(
      error,
    );
    expect(timers()).to.equal(before);
  });

  it('returns the substitute when the limit has passed', async () => {
    expect(await withTimeLimit(1, NEVER, () => 'late')).to.equal('late');
    const late = new Error('too late');
    const thrown = withTimeLimit(1, NEVER, () => {
      throw late;
    });
    expect(await thrown.catch((error) => error)).to.equal(late);
  });

  it('ignores an error that comes after the limit', async () => {
    let fail!: (error: Error) => void;
    const answer = new Promise<never>((_resolve, reject) => {
      fail = reject;
    });
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      expect(await withTimeLimit(1, answer, () => 'late')).to.equal('late');
      fail(new Error('refused at last'));
      await nextTurn();
      expect(unhandled).to.deep.equal([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });
});
