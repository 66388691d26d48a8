/** Tests which servers may lead the engine's copies, as keepers see them. */

import { expect } from 'chai';
import type { SeenServer } from '../../src/engine/index.ts';
import { whyNotLead } from '../../src/roles/leading.ts';

const LEAST = 2;
const ROW = {
  server: 'p',
  runId: 'p1',
  epoch: 3,
  members: ['p', 'a', 'b'],
  former: [] as string[],
};

type Asked = Parameters<typeof whyNotLead>;
type Known = Asked[1];

/** A server that runs on since it was in step, unless told otherwise. */
function server(name: string, given: Partial<SeenServer> & Partial<Omit<Known, 'name'>> = {}): Known {
  const { inStepAs = `${name}1`, isSilent = false, isLeaving = false, ...told } = given;
  const seen = { runId: `${name}1`, epoch: 3, sequence: 10, unfit: undefined, ...told } as SeenServer;
  return { name, inStepAs, isSilent, isLeaving, seen };
}

const away = (name: string, isSilent: boolean): Known => ({
  name,
  inStepAs: undefined,
  isSilent,
  isLeaving: false,
  seen: undefined,
});
/** It was started again since it was in step. */
const again = (name: string, told: Partial<SeenServer> = {}): Known =>
  server(name, { runId: `${name}2`, ...told });

const why = (one: Known, others: readonly Known[], row: Partial<typeof ROW> = {}, least = LEAST) =>
  whyNotLead({ ...ROW, ...row }, one, [one, ...others], least);

describe('the servers that may lead the copies of an engine', () => {
  it('include the named primary under the run id of the row, whoever else answers', () =>
    expect(why(server('p'), [away('a', true), away('b', true)])).to.equal(undefined));

  it('include a copy that runs on since it was in step, whoever else answers', () =>
    expect(why(server('a'), [away('p', true), away('b', true)])).to.equal(undefined));

  it('leave out a server that does not answer, that left, or whose settings are wrong', () => {
    expect(why(away('a', true), [])).to.contain('does not answer');
    expect(why(server('c'), [])).to.contain('it left');
    expect(why(server('a', { unfit: 'appendfsync must be always' }), [])).to.contain('appendfsync');
  });

  it('include one that left as too few remained for an answer', () =>
    expect(why(server('c'), [], { members: ['p'], former: ['c'] })).to.equal(undefined));

  it('leave out one that was started again while another one is in step, also the named primary', () => {
    expect(why(again('p'), [server('a'), away('b', true)])).to.contain('another one is in step');
    expect(why(again('p', { sequence: 99 }), [server('a'), server('b')])).to.contain(
      'another one is in step',
    );
  });

  it('do not wait for one in step whose settings are wrong', () =>
    expect(why(again('p'), [server('a', { unfit: 'wrong' }), again('b')])).to.equal(undefined));

  it('leave out one that is about to stop, and do not wait for it', () => {
    expect(why(server('p', { isLeaving: true }), [server('a')])).to.contain('about to stop');
    const others = [server('a', { isLeaving: true }), again('b')];
    expect(why(again('p'), others)).to.equal(undefined);
  });

  it('leave out one without an engine where an epoch has begun', () => {
    expect(why(again('a', { epoch: 0, sequence: 0 }), [again('p'), again('b')])).to.contain('no engine');
    expect(why(again('p', { epoch: 0, sequence: 0 }), [], { epoch: 0, members: ['p'] })).to.equal(undefined);
  });

  it('leave out one that was started again while another one has more', () => {
    expect(why(again('a', { sequence: 9 }), [again('p'), again('b')])).to.contain('has more');
    expect(why(again('a', { epoch: 2, sequence: 99 }), [again('p'), again('b')])).to.contain('has more');
    expect(why(again('a'), [again('p'), again('b')])).to.equal(undefined);
  });

  it('leave out one that was started again until all others answer or are silent', () => {
    expect(why(again('a'), [again('p'), away('b', false)])).to.contain('not all others');
    expect(why(again('a'), [again('p'), away('b', true)])).to.equal(undefined);
  });

  it('leave out one that was started again while fewer answer than an answer needs', () => {
    expect(why(again('a'), [away('p', true), away('b', true)])).to.contain('2 of p, a, b must answer');
    expect(why(again('a'), [away('p', true), again('c')])).to.contain('must answer');
  });

  it('let one lead alone where an answer needs no other, if it has the last epoch', () => {
    const others = [away('p', true), away('b', true)];
    expect(why(again('a'), others, {}, 1)).to.equal(undefined);
    expect(why(again('a', { epoch: 2 }), others, {}, 1)).to.contain('lacks epoch 3');
  });
});
