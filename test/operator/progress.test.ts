/** Tests that a long command tells on stderr where it is, and a short one tells nothing. */

import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { withProgress } from '../../src/operator/progress.ts';
import { eventually } from '../support/eventually.ts';

/** Collects what is written to a stream. */
function collector(): { stream: Writable; text(): string } {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  return { stream, text: () => text };
}

describe('operator: progress of a long command', () => {
  const tell = async (json: boolean, everyMs: number): Promise<string> => {
    const out = collector();
    const err = collector();
    const terminal = { out: out.stream, err: err.stream };
    const result = await withProgress(
      { terminal, json },
      async (onStep) => {
        onStep('books');
        if (json || everyMs > 1_000) await sleep(20);
        else await eventually('progress is told', () => err.text().includes('s: books'));
        return 7;
      },
      everyMs,
    );
    expect({ result, out: out.text() }).to.deep.equal({ result: 7, out: '' });
    return err.text();
  };

  it('names the step and the seconds so far', async () => {
    expect(await tell(false, 1)).to.match(/^(?:\d+ s: books\n)+$/);
  });

  it('prints nothing for a short command, nor when stderr is for a document', async () => {
    expect(await tell(false, 60_000)).to.equal('');
    expect(await tell(true, 1)).to.equal('');
  });
});
