/** Tests the protocol of the copies in a model: it holds, and each safeguard that is taken away loses something. */

import { expect } from 'chai';
import { type Bounds, explore, type Rules, SOUND } from '../../../engine/copies/model.ts';

const NONE: Bounds = {
  orders: 1,
  crashes: 0,
  namings: 0,
  changes: 0,
  cuts: 0,
  wholeCopies: 0,
  lostDisks: 0,
  olderDisks: 0,
  putBacks: 0,
};
/** States that are visited where the model has more than a test can wait for. */
const SOME = 10_000;
const MORE = 100_000;
const MAX = 1_100_000;

describe('the model of the copies', function () {
  this.timeout(600_000);

  const SOUND_CASES: [name: string, bounds: Partial<Bounds>, max: number][] = [
    ['a naming', { namings: 1 }, MAX],
    ['two changes of the list', { changes: 2 }, MAX],
    ['a crash, a cut and a whole copy', { crashes: 1, cuts: 1, wholeCopies: 1 }, SOME],
    ['a naming, a crash and a whole copy', { namings: 1, crashes: 1, wholeCopies: 1 }, SOME],
    ['a lost disk', { crashes: 1, lostDisks: 1 }, MAX],
    ['an older disk', { crashes: 1, olderDisks: 1 }, MAX],
    ['a naming and a Postgres that is put back', { namings: 1, putBacks: 1 }, MAX],
    ['a naming and a lost disk', { namings: 1, crashes: 1, lostDisks: 1 }, MAX],
    ['a naming and an older disk', { namings: 1, crashes: 1, olderDisks: 1 }, MORE],
    [
      'a change of the list, crashes and a Postgres that is put back',
      { namings: 1, changes: 1, crashes: 2, putBacks: 1 },
      SOME,
    ],
    ['two of everything', { orders: 2, namings: 2, changes: 2, crashes: 2, cuts: 1, wholeCopies: 1 }, SOME],
  ];
  for (const [name, bounds, max] of SOUND_CASES)
    it(`holds through ${name}, in ${max === MAX ? 'all' : `the first ${max}`} states`, () => {
      const { states, isComplete, broken, trace } = explore(SOUND, { ...NONE, ...bounds }, max);
      expect(broken, trace?.join('\n')).to.equal(undefined);
      expect(states).to.be.at.least(max === MAX ? 1 : max);
      expect(isComplete).to.equal(max === MAX);
    });

  const sentinels: Partial<Rules> = { promoter: 'the longest', epochsBeginOnMembersOnly: false };
  /** Steps that a trace does without may be left out, so that it is found sooner. */
  const BROKEN_CASES: [
    name: string,
    rules: Partial<Rules>,
    bounds: Partial<Bounds>,
    promise: string,
    idle?: RegExp,
  ][] = [
    [
      'nobody is waited for',
      { ...sentinels, waitsFor: 'nobody', settlementWaits: false },
      { namings: 1 },
      'an answered order is gone',
    ],
    [
      'one of two replicas is waited for, and the longest log is promoted',
      { ...sentinels, waitsFor: 'one of two' },
      { namings: 1 },
      'an answered order is gone',
    ],
    [
      'Sentinels promote listed copies',
      { promoter: 'a listed one' },
      { namings: 1, changes: 1 },
      'an answered order is gone',
    ],
    [
      'settlement does not wait',
      { settlementWaits: false },
      { namings: 1 },
      'the ledger has what the engine lacks',
    ],
    [
      'epochs begin on any server',
      { promoter: 'any', epochsBeginOnMembersOnly: false },
      { namings: 1, changes: 1 },
      'an answered order is gone',
    ],
    [
      'a copy leaves the row last',
      { shrinksPostgresFirst: false },
      { namings: 1, changes: 1 },
      'an answered order is gone',
    ],
    [
      'a copy joins without a round',
      { joinsAfterRound: false },
      { namings: 1, changes: 2 },
      'an answered order is gone',
      /settlement|follow|keepers see/,
    ],
    [
      'others follow a server before it is a primary',
      { othersFollowLast: false },
      { orders: 2, namings: 1 },
      'an id was given twice',
    ],
    [
      'epochs are not noted',
      { ...sentinels, epochsAreNoted: false, waitsFor: 'one of two' },
      { orders: 2, namings: 1 },
      'an answered order is gone',
    ],
    [
      'a server that lost its disk starts as a primary',
      { startsAsReplica: false },
      { crashes: 1, lostDisks: 1 },
      'no member has every answered order',
    ],
    [
      'a named server is promoted without a look',
      { looksBeforeItLeads: false },
      { crashes: 1, lostDisks: 1 },
      'no member has every answered order',
      /settlement/,
    ],
    [
      'a late keeper turns a server that lost its memory',
      { ordersNameRuns: false },
      { namings: 1, crashes: 1, olderDisks: 1 },
      'no member has every answered order',
      /settlement/,
    ],
    [
      'a server obeys a keeper that knows less',
      { keepersAreFenced: false },
      { namings: 1 },
      'no member has every answered order',
      /settlement|opens again|on 0|names 2|written|0 is (told|given)|sees/,
    ],
    [
      'the old primary stops being a copy as another one is named',
      { oldPrimaryLeavesAtNote: false },
      { namings: 1, changes: 1, crashes: 1, lostDisks: 1 },
      'no member has every answered order',
      /settlement|opens again|follow|promoted|joining/,
    ],
    [
      'a server that was copied whole counts before its own file is written',
      { copiesAreOnDisk: false },
      { changes: 1, crashes: 2, lostDisks: 1, wholeCopies: 1 },
      'no member has every answered order',
      /settlement|opens|names|joining|follow|promoted|find|1 leaves|2 must|2 crashes|notes/,
    ],
    [
      'keepers go on by a Postgres that is older than the servers',
      { stopsWhenPostgresIsOlder: false },
      { namings: 1, changes: 1, putBacks: 1 },
      'no server has every answered order',
      /settlement|opens again|join|names [01]|1 leaves|in step|written|1 is (told|given|promoted)|2 receives|2 is (copied|told)|0 is promoted|begins on 2|placed on 2/,
    ],
    [
      'lists of before a restore of Postgres are told by their numbers alone',
      { listsAreMarked: false },
      { namings: 1, changes: 1, crashes: 2, putBacks: 1 },
      'no server has every answered order',
      /settlement|opens again|join|1 receives|names [02]|1 crashes|[02] leaves|in step|written|[02] is promoted|begins on [12]|placed on [12]|find that [02]|[12] is given list 2|admitted/,
    ],
    [
      'the first server that is up after a power cut leads',
      { comparesWithOthers: false },
      { namings: 1, crashes: 1, olderDisks: 1 },
      'an answered order is gone',
      /settlement/,
    ],
  ];
  for (const [name, rules, bounds, promise, idle] of BROKEN_CASES)
    it(`breaks when ${name}`, () => {
      const found = explore({ ...SOUND, ...rules }, { ...NONE, ...bounds }, MAX, idle);
      expect(found.broken).to.equal(promise);
    });
});
