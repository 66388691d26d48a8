/** Tests the pace of handshakes on a clock of the test. */

import { expect } from 'chai';
import { Handshakes } from '../../src/edge/handshakes.ts';

describe('handshakes of an address', () => {
  it('are as many at once as a minute allows, and then one for each part of it', () => {
    let nowMs = 0;
    const handshakes = new Handshakes(60, () => nowMs);
    const allowed = (count: number, address = 'a'): number =>
      Array.from({ length: count }, () => handshakes.allows(address)).filter(Boolean).length;
    expect([allowed(100), allowed(5, 'b')]).to.deep.equal([60, 5]);
    nowMs = 3_000;
    expect(allowed(100)).to.equal(3);
    handshakes.forget();
    expect(handshakes.addresses).to.equal(2);
    nowMs = 6_000;
    handshakes.forget();
    expect(handshakes.addresses, 'b has used nothing of its minute').to.equal(1);
    nowMs = 63_000;
    handshakes.forget();
    expect([handshakes.addresses, allowed(100)]).to.deep.equal([0, 60]);
  });
});
