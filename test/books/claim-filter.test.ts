/** Proves that no used id looks new while the claim filter is rebuilt with another size under load. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Claimed } from '../../src/engine/index.ts';
import { changeState } from '../engine/fixture.ts';
import { marketRules, type OperatorFixture, openOperatorFixture, WALLET } from '../operator/fixture.ts';

const [ALICE, BOB] = [WALLET('a'), WALLET('b')];
const KIB = 1024;
const MIB = 1024 * KIB;
const SMALL = 64 * KIB;

describe('books: rebuild of the claim filter', function () {
  this.timeout(30_000);
  let fixture: OperatorFixture;

  const opened = async (trading: number, operating: number): Promise<void> => {
    fixture = await openOperatorFixture({ trading, operating });
    await fixture.ask('market', 'create', 'ETH/USDC', ...marketRules());
    for (const wallet of [ALICE, BOB])
      await fixture.ask('account', 'credit', wallet, 'USDC', '1000000', '--reference', wallet);
  };
  afterEach(() => fixture.close());

  const place = async (clientOrderId: string, wallet = ALICE): Promise<void> => {
    await fixture.place({ wallet, price: '10', size: '0.01', clientOrderId });
  };
  const outcome = async (id: string, wallet = ALICE): Promise<Claimed['outcome']> =>
    (await fixture.engine.orders.find(wallet, id)).outcome;
  /** Deletes the claims that Postgres has from Redis, so that only the filter knows them. */
  const forgetClaims = (): Promise<unknown> => fixture.redis.del('{redbook}:claims:0', '{redbook}:claims:1');
  const filterKeys = async (): Promise<string[]> =>
    (await fixture.redis.keys('{redbook}:claim-filter*')).sort();
  const inForce = (): Promise<string | null> => fixture.redis.hget('{redbook}:engine', 'filter');

  it('makes a larger filter with every id, which processes with another setting use', async () => {
    await opened(SMALL, 32 * MIB);
    expect(await inForce()).to.equal(`0/${SMALL}`);
    for (let count = 0; count < 20; count += 1) await place(`a${count}`);
    await fixture.settle();
    const rebuilt = await fixture.ask('claims', 'rebuild');
    expect(rebuilt).to.include({ bytes: 32 * MIB, formerBytes: SMALL, usedIds: 22 });
    expect(await filterKeys()).to.deep.equal(['{redbook}:claim-filter:1:0', '{redbook}:claim-filter:1:1']);
    await forgetClaims();
    for (let count = 0; count < 20; count += 1) expect(await outcome(`a${count}`)).to.equal('unchecked');
    expect(await outcome('never')).to.equal('unclaimed');
    await place('later');
    await forgetClaims();
    expect(await outcome('later')).to.equal('unchecked');
    expect(await fixture.ask('account', 'credit', ALICE, 'USDC', '1000000', '--reference', ALICE)).to.include(
      {
        duplicate: true,
      },
    );
  });

  it('makes a smaller filter, and one of the same size when bits were lost', async () => {
    await opened(MIB, MIB);
    await place('a');
    await fixture.settle();
    await fixture.redis.del('{redbook}:claim-filter');
    await forgetClaims();
    expect(await outcome('a')).to.equal('unclaimed');
    await fixture.ask('claims', 'rebuild');
    expect(await outcome('a')).to.equal('unchecked');
    await fixture.settle();
    await fixture.resizeFilter(SMALL);
    expect(await fixture.ask('claims', 'rebuild')).to.include({ bytes: SMALL, formerBytes: MIB });
    expect(await outcome('a')).to.equal('unchecked');
    expect(await filterKeys()).to.deep.equal(['{redbook}:claim-filter:2:0']);
  });

  it('includes ids of orders placed while it is filled, and of unsettled orders', async () => {
    await opened(MIB, 4 * MIB);
    const ids: string[] = [];
    const next = async (): Promise<void> => {
      ids.push(`n${ids.length}`);
      await place(ids.at(-1)!, ids.length % 2 === 0 ? ALICE : BOB);
    };
    for (let count = 0; count < 30; count += 1) await next();
    let trading = true;
    const { claimFilter } = fixture.services.engine;
    const rebuild = claimFilter.rebuild.bind(claimFilter);
    claimFilter.rebuild = (source) =>
      rebuild({
        untilSettled: async (sequence) => {
          for (let count = 0; count < 10; count += 1) await next();
          const settling = fixture.settleOnAndOn();
          await source.untilSettled(sequence);
          await settling.stop();
        },
        async *usedIds() {
          for (let count = 0; count < 10; count += 1) await next();
          yield* source.usedIds();
          for (let count = 0; count < 10; count += 1) await next();
        },
      });
    const orders = (async () => {
      while (trading) {
        await next();
        await sleep(5);
      }
    })();
    await fixture.ask('claims', 'rebuild');
    trading = false;
    await orders;
    expect(ids.length).to.be.above(60);
    expect(await inForce()).to.equal(`1/${4 * MIB}`);
    await forgetClaims();
    for (const [at, id] of ids.entries())
      expect(await outcome(id, at % 2 === 1 ? ALICE : BOB), id).to.equal('unchecked');
  });

  it('is rejected while settlement is stalled, and keeps the old filter', async () => {
    await opened(SMALL, MIB);
    await place('a');
    expect(await fixture.refuse('claims', 'rebuild', '--patience', '0')).to.equal('SETTLEMENT_STALLED');
    expect(await inForce()).to.equal(`0/${SMALL}`);
    expect(await filterKeys()).to.deep.equal(['{redbook}:claim-filter']);
    expect(await outcome('a')).to.equal('claimed');
  });

  it('restarts after a killed rebuild and deletes its filter', async () => {
    await opened(SMALL, MIB);
    await place('a');
    await fixture.settle();
    // The state that a process leaves if it is killed while it reads Postgres.
    const { claimFilter } = fixture.services.engine;
    void claimFilter.rebuild({
      untilSettled: () => new Promise(() => undefined),
      usedIds: () => expect.fail(),
    });
    while ((await inForce())?.includes(' ') !== true) await sleep(5);
    await place('b');
    await fixture.settle();
    await fixture.ask('claims', 'rebuild');
    expect(await inForce()).to.equal(`2/${MIB}`);
    expect(await filterKeys()).to.deep.equal(['{redbook}:claim-filter:2:0']);
    await forgetClaims();
    for (const id of ['a', 'b']) expect(await outcome(id)).to.equal('unchecked');
  });

  it('ends the earlier of two concurrent rebuilds, and the later one has every id', async () => {
    await opened(SMALL, MIB);
    await place('a');
    await fixture.settle();
    const { claimFilter } = fixture.services.engine;
    let goOn = (): void => undefined;
    const earlier = claimFilter
      .rebuild({
        untilSettled: () => new Promise((resolve) => (goOn = resolve)),
        async *usedIds() {
          yield { kind: 'order' as const, wallet: ALICE, clientOrderId: 'a' };
        },
      })
      .catch((error: { code: string }) => error.code);
    while ((await inForce())?.includes(' ') !== true) await sleep(5);
    await fixture.ask('claims', 'rebuild');
    goOn();
    expect(await earlier).to.equal('REBUILD_REPLACED');
    expect(await filterKeys()).to.deep.equal(['{redbook}:claim-filter:2:0']);
    await forgetClaims();
    expect(await outcome('a')).to.equal('unchecked');
  });

  it('ends when the engine was restarted meanwhile, because another server may lack the filled part', async () => {
    await opened(SMALL, MIB);
    await place('a');
    await fixture.settle();
    const { claimFilter } = fixture.services.engine;
    const ended = claimFilter
      .rebuild({
        untilSettled: async () => undefined,
        async *usedIds() {
          await changeState(fixture.redis, { epoch: 2 });
          yield { kind: 'order' as const, wallet: ALICE, clientOrderId: 'a' };
        },
      })
      .catch((error: { code: string }) => error.code);
    expect(await ended).to.equal('REBUILD_REPLACED');
    await forgetClaims();
    expect(await outcome('a')).to.equal('unchecked');
  });

  it('rejects a size that exceeds the server’s memory', async () => {
    await opened(SMALL, 64 * MIB);
    const { info } = fixture.operating;
    fixture.operating.info = (async (...sections: string[]) =>
      (await (info as (...args: string[]) => Promise<string>).apply(fixture.operating, sections)).replace(
        /^maxmemory:.*$/m,
        `maxmemory:${32 * MIB}`,
      )) as typeof info;
    expect(await fixture.refuse('claims', 'rebuild')).to.equal('ENGINE_TOO_SMALL');
    expect(await filterKeys()).to.deep.equal(['{redbook}:claim-filter']);
  });
});
