/** Tests a bound over all callers against a plain count: who gives way, and that everything comes back. */

import { expect } from 'chai';
import { Bound, type Place } from '../../src/domain/bound.ts';
import { random, runSeed } from '../support/seed.ts';

const NOBODY = { giveWay: () => undefined };

describe('a bound over all callers', () => {
  it('lets the oldest place of the largest holder give way', () => {
    const bound = new Bound({ ofHolder: 4, inAll: 6 });
    const ended: string[] = [];
    const take = (holder: string, name: string) => bound.take(holder, 1, { giveWay: () => ended.push(name) });
    for (const name of ['a1', 'a2', 'a3']) take('alice', name);
    for (const name of ['b1', 'b2', 'c1']) take(name.startsWith('b') ? 'bob' : 'carol', name);
    expect(take('dave', 'd1')).to.not.equal(undefined);
    expect(ended).to.deep.equal(['a1']);
    expect(take('carol', 'c2')).to.equal(undefined);
    expect(bound.held).to.equal(6);
  });

  it('rejects the holder that would have as much as the largest holder', () => {
    const bound = new Bound({ ofHolder: 100, inAll: 100 });
    bound.take('alice', 60, NOBODY);
    bound.take('bob', 40, NOBODY);
    expect(bound.take('bob', 20, NOBODY)).to.equal(undefined);
    expect(bound.take('alice', 1, NOBODY)).to.equal(undefined);
    expect(bound.take('bob', 19, NOBODY)).to.not.equal(undefined);
  });

  it('tells that a holder has its share, until places come back', () => {
    const bound = new Bound({ ofHolder: 2, inAll: 10 });
    const places = [bound.take('alice', 1, NOBODY)!, bound.take('alice', 1, NOBODY)!];
    expect([bound.isFull('alice'), bound.isFull('bob')]).to.deep.equal([true, false]);
    places[0]!.giveBack();
    places[0]!.giveBack();
    expect([bound.isFull('alice'), bound.held]).to.deep.equal([false, 1]);
  });

  it('never passes its total, never ends a place twice, and ends only places of holders with more', () => {
    const draw = random(runSeed());
    const inAll = 200;
    const bound = new Bound({ ofHolder: 128, inAll });
    const held = new Map<Place, { holder: string; amount: number }>();
    const ofHolder = (name: string): number =>
      [...held.values()].filter(({ holder }) => holder === name).reduce((sum, { amount }) => sum + amount, 0);
    /** Amount that the holder that takes now would have. */
    let wanted = 0;
    for (let step = 0; step < 20_000; step += 1) {
      const holder = `wallet ${draw.below(12)}`;
      const amount = 1 + draw.below(30);
      wanted = ofHolder(holder) + amount;
      if (held.size > 0 && draw.below(3) === 0) {
        const place = [...held.keys()][draw.below(held.size)]!;
        held.delete(place);
        place.giveBack();
      } else {
        let own: Place | undefined;
        const giveWay = (): void => {
          expect(ofHolder(held.get(own!)!.holder)).to.be.greaterThan(wanted);
          expect(held.delete(own!)).to.equal(true);
        };
        own = bound.take(holder, amount, { giveWay });
        if (own !== undefined) held.set(own, { holder, amount });
      }
      const sum = [...held.values()].reduce((total, one) => total + one.amount, 0);
      expect(bound.held).to.equal(sum);
      expect(sum).to.be.at.most(inAll);
    }
    for (const place of held.keys()) place.giveBack();
    expect(bound.held).to.equal(0);
  });
});
