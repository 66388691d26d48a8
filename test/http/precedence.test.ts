/** Proves that a placement with two faults is refused for the fault that the contract checks first. */

import { expect } from 'chai';
import { FAULT_SETTINGS, FAULTS, type FaultName, newAttempt, outcomeOf, restore, send } from './faults.ts';
import { type Fixture, openFixture, type Replica } from './fixture.ts';

/**
 * Neighbours in the documented precedence. With both faults the first is returned, with the second alone the second. If
 * two neighbours exclude each other (a size cannot be too small and too large), each is paired with the next fault that
 * it can be combined with.
 */
const NEIGHBOURS: readonly (readonly [first: FaultName, second: FaultName])[] = [
  ['bearer', 'json'],
  ['json', 'replay'],
  ['replay', 'schema'],
  ['schema', 'account'],
  ['account', 'paused'],
  ['paused', 'country'],
  ['country', 'terms'],
  ['terms', 'hold'],
  ['hold', 'unknownMarket'],
  ['unknownMarket', 'invalid'],
  ['invalid', 'halted'],
  ['invalid', 'disabled'],
  ['invalid', 'preOpenTerms'],
  ['halted', 'noSelling'],
  ['disabled', 'noSelling'],
  ['preOpenTerms', 'noSelling'],
  ['noSelling', 'reduceOnly'],
  ['reduceOnly', 'offTick'],
  ['offTick', 'offStep'],
  ['offStep', 'belowMin'],
  ['offStep', 'aboveMax'],
  ['belowMin', 'preOpenCross'],
  ['belowMin', 'noMark'],
  ['aboveMax', 'preOpenCross'],
  ['aboveMax', 'noMark'],
  ['reduceOnly', 'noLiquidity'],
  ['reduceOnly', 'smallQuote'],
  ['preOpenCross', 'noFunds'],
  ['noMark', 'noFunds'],
  ['noLiquidity', 'noFunds'],
  ['smallQuote', 'noFunds'],
  ['quoteBelowMin', 'noFunds'],
  ['quoteAboveMax', 'noFunds'],
  ['noFunds', 'postOnly'],
  ['noFunds', 'fillOrKill'],
];

/** Faults that a known client order id takes precedence over: all except the bearer and the syntax. */
const REPLAYED_THROUGH: readonly FaultName[] = [
  'schema',
  'account',
  'paused',
  'country',
  'terms',
  'hold',
  'unknownMarket',
  'invalid',
  'halted',
  'disabled',
  'reduceOnly',
  'offTick',
  'belowMin',
  'noMark',
  'fillOrKill',
] as FaultName[];

describe('precedence of refusals', () => {
  let fixture: Fixture;
  let replica: Replica;

  before(async () => {
    fixture = await openFixture();
    replica = await fixture.replica(FAULT_SETTINGS);
  });

  afterEach(() => restore(fixture));
  after(() => fixture.close());

  /** Returns the answer to a placement with these faults, caused in reverse order of precedence. */
  const answerTo = async (...faults: FaultName[]) => {
    const attempt = await newAttempt(fixture, replica);
    for (const name of faults.toReversed()) await FAULTS[name].cause(attempt);
    return outcomeOf(await send(attempt));
  };

  it('accepts a placement without faults', async () => {
    expect(await answerTo()).to.equal('placed');
  });

  it('has a row for every fault', () => {
    expect(new Set(NEIGHBOURS.flat())).to.deep.equal(new Set(Object.keys(FAULTS)));
  });

  for (const [first, second] of NEIGHBOURS) {
    it(`reports ${first} before ${second}`, async () => {
      expect(await answerTo(second), 'the second alone').to.equal(FAULTS[second].outcome);
      await restore(fixture);
      expect(await answerTo(first, second), 'both').to.equal(FAULTS[first].outcome);
    });
  }

  for (const second of REPLAYED_THROUGH) {
    it(`replays a known client order id despite ${second}`, async () => {
      const attempt = await newAttempt(fixture, replica);
      await FAULTS.replay.cause(attempt);
      await FAULTS[second].cause(attempt);
      expect(outcomeOf(await send(attempt))).to.equal('replayed');
    });
  }
});
