/** Tests the queue of wallet reads: one at a time for each wallet, and a bounded number in all. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Refusal } from '../../src/domain/errors.ts';
import { WalletReads } from '../../src/history/wallet-reads.ts';
import { answeredOfTurns } from '../support/turns.ts';

/** Reads that the test ends, numbered by their start. */
class Reads {
  begun: string[] = [];
  #ends: ((error?: Error) => void)[] = [];

  read(name: string): () => Promise<number> {
    return () => {
      const number = this.begun.push(name);
      return new Promise((resolve, reject) => {
        this.#ends.push((error) => (error === undefined ? resolve(number) : reject(error)));
      });
    };
  }

  /** Ends the oldest read, and lets the callers that wait for it continue. */
  async end(error?: Error): Promise<void> {
    this.#ends.shift()!(error);
    await sleep(0);
  }
}

const codeOf = (read: Promise<unknown>): Promise<unknown> =>
  read.then(
    () => 'answered',
    (error) => (error instanceof Refusal ? error.code : error),
  );

describe('reads of wallets', () => {
  let reads: Reads;

  beforeEach(() => {
    reads = new Reads();
  });

  it('run one at a time for a wallet; callers that wait for the same read share the next', async () => {
    const turns = new WalletReads({ atOnce: 4 });
    const ask = (name: string) => turns.read('alice', name, reads.read(name));
    const first = ask('list');
    const waiting = Array.from({ length: 1_000 }, () => ask('list'));
    const other = ask('other');
    expect(reads.begun).to.deep.equal(['list']);
    await reads.end();
    expect(await first).to.equal(1);
    expect(reads.begun).to.deep.equal(['list', 'list']);
    // A later caller does not get the result of an earlier read.
    const late = ask('list');
    await reads.end();
    expect(new Set(await Promise.all(waiting))).to.deep.equal(new Set([2]));
    await reads.end();
    expect(await other).to.equal(3);
    await reads.end();
    expect(await late).to.equal(4);
    expect(reads.begun).to.deep.equal(['list', 'list', 'other', 'list']);
  });

  it('answer the callers of one read some at a time, so that other requests have their go', async () => {
    const turns = new WalletReads({ atOnce: 1 });
    const first = turns.read('alice', 'other', reads.read('other'));
    let answered = 0;
    const callers = Array.from({ length: 220 }, async () => {
      expect(await turns.read('alice', 'list', reads.read('list'))).to.equal(2);
      answered += 1;
    });
    await reads.end();
    await first;
    const ended = reads.end();
    const ofTurns = await answeredOfTurns(callers.length, () => answered);
    await Promise.all([ended, ...callers]);
    expect(Math.max(...ofTurns)).to.be.at.most(64);
  });

  it('are rejected with Retry-After when too many different ones wait', async () => {
    const turns = new WalletReads({ atOnce: 1, rule: { ofHolder: 3, inAll: 10 } });
    const ask = (name: number) => turns.read('alice', String(name), reads.read(String(name)));
    const asked = Array.from({ length: 1_000 }, (_, name) => ask(name).catch((error) => error));
    for (let end = 0; end < 4; end += 1) await reads.end();
    const replies = await Promise.all(asked);
    expect(replies.slice(0, 4)).to.deep.equal([1, 2, 3, 4]);
    const refused = replies.slice(4) as Refusal[];
    expect(new Set(refused.map(({ code }) => code))).to.deep.equal(new Set(['SERVICE_UNAVAILABLE']));
    expect(new Set(refused.map(({ retryAfterSeconds }) => retryAfterSeconds))).to.deep.equal(new Set([1]));
    expect(reads.begun).to.have.length(4);
  });

  it('run a bounded number at a time, and wallets take turns', async () => {
    const turns = new WalletReads({ atOnce: 2 });
    const ask = (wallet: string, name: string) => turns.read(wallet, name, reads.read(`${wallet} ${name}`));
    const asked = ['1', '2', '3'].map((name) => ask('alice', name));
    asked.push(ask('bob', '1'), ask('carol', '1'));
    expect(reads.begun).to.deep.equal(['alice 1', 'bob 1']);
    await reads.end();
    // Alice's next read went to the end of the queue.
    expect(reads.begun.slice(2)).to.deep.equal(['carol 1']);
    for (let end = 0; end < 4; end += 1) await reads.end();
    expect(await Promise.all(asked)).to.have.length(5);
    expect(reads.begun.slice(3)).to.deep.equal(['alice 2', 'alice 3']);
  });

  /** Reads lists of wallets that always wait for one, each of which takes so many milliseconds. Returns those begun. */
  const shared = async (tookMs: Readonly<Record<string, number>>, ended: number): Promise<string[]> => {
    let nowMs = 0;
    const turns = new WalletReads({ atOnce: 1, nowMs: () => nowMs });
    let asked = 0;
    const ask = (wallet: string): void => {
      asked += 1;
      void turns.read(wallet, String(asked), reads.read(wallet)).catch(() => undefined);
    };
    for (const wallet of Object.keys(tookMs)) for (let waiting = 0; waiting < 2; waiting += 1) ask(wallet);
    for (let end = 0; end < ended; end += 1) {
      const wallet = reads.begun.at(-1)!;
      ask(wallet);
      nowMs += tookMs[wallet]!;
      await reads.end();
    }
    return reads.begun;
  };
  const timesOf = (begun: readonly string[], wallet: string): number =>
    begun.filter((one) => one === wallet).length;

  it('share the time and not the number of reads, so that long reads wait for short ones', async () => {
    const begun = await shared({ alice: 100, bob: 10, carol: 10 }, 210);
    expect(timesOf(begun, 'bob')).to.be.within(95, 105);
    expect(timesOf(begun, 'carol')).to.be.within(95, 105);
    expect(timesOf(begun, 'alice')).to.be.within(8, 12);
  });

  it('of a wallet with one that stalled wait for at most 100 ms of reads of each other wallet', async () => {
    const stalled = 5_000;
    const begun = await shared({ alice: stalled, bob: 10, carol: 10 }, 60);
    const second = begun.indexOf('alice', 1);
    expect(timesOf(begun.slice(0, second), 'bob')).to.be.within(8, 12);
    expect(timesOf(begun.slice(0, second), 'carol')).to.be.within(8, 12);
  });

  it('of a wallet with a long one wait no longer than its share, whoever comes meanwhile', async () => {
    let nowMs = 0;
    const turns = new WalletReads({ atOnce: 1, nowMs: () => nowMs });
    const ask = (wallet: string, name: string) => turns.read(wallet, name, reads.read(wallet));
    const asked = [ask('alice', '1'), ask('alice', '2')];
    let others = 0;
    // There are always two more wallets, none of which was there before.
    const come = (): void => {
      others += 1;
      asked.push(ask(`other ${others}`, 'list'));
    };
    come();
    come();
    nowMs += 100;
    await reads.end();
    while (timesOf(reads.begun, 'alice') < 2 && others < 1_000) {
      come();
      nowMs += 10;
      await reads.end();
    }
    expect(others).to.be.within(20, 50);
    while (reads.begun.length < asked.length) await reads.end();
    await reads.end();
    await Promise.all(asked);
  });

  it('leave no trace when they give up waiting', async () => {
    const turns = new WalletReads({ atOnce: 1, patienceMs: 20 });
    const hanging = turns.read('alice', 'list', reads.read('hanging'));
    const late = [
      turns.read('alice', 'list', reads.read('late')),
      turns.read('bob', 'list', reads.read('late')),
    ];
    expect(await Promise.all(late.map(codeOf))).to.deep.equal(['SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE']);
    await reads.end();
    expect(await hanging).to.equal(1);
    const again = turns.read('bob', 'list', reads.read('again'));
    await reads.end();
    expect(await again).to.equal(2);
    expect(reads.begun).to.deep.equal(['hanging', 'again']);
  });

  it('are given up when waiting and reading together take too long, and keep their turn', async () => {
    const turns = new WalletReads({ atOnce: 1, answerMs: 20 });
    const slow = [1, 2].map(() => codeOf(turns.read('alice', 'list', reads.read('slow'))));
    expect(await Promise.all(slow)).to.deep.equal(['SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE']);
    const next = turns.read('bob', 'list', reads.read('next'));
    expect(reads.begun).to.deep.equal(['slow']);
    for (let end = 0; end < 2; end += 1) await reads.end();
    expect(await next).to.equal(2);
  });

  it('fail with the read before them when a server is away, and otherwise alone', async () => {
    const turns = new WalletReads({ atOnce: 1 });
    const ask = (name: string) => turns.read('alice', name, reads.read(name));
    const away = [ask('1'), ask('2'), ask('3')].map(codeOf);
    await reads.end(new Refusal('SERVICE_UNAVAILABLE'));
    expect(await Promise.all(away)).to.deep.equal(Array(3).fill('SERVICE_UNAVAILABLE'));
    const failed = [ask('4'), ask('5')].map(codeOf);
    await reads.end(new Refusal('NOT_FOUND'));
    await reads.end();
    expect(await Promise.all(failed)).to.deep.equal(['NOT_FOUND', 'answered']);
    expect(reads.begun).to.deep.equal(['1', '4', '5']);
  });

  it('are rejected for the wallet with most of them when too many wait', async () => {
    const turns = new WalletReads({ atOnce: 1, rule: { ofHolder: 4, inAll: 6 } });
    const ask = (wallet: string, name: string) => codeOf(turns.read(wallet, name, reads.read(name)));
    const begun = ask('alice', '0');
    const [oldest, ...others] = ['1', '2', '3', '4'].map((name) => ask('alice', name));
    const [bob, ...second] = ['1', '2'].map((name) => ask('bob', name));
    const carol = ask('carol', '1');
    expect(await oldest).to.equal('SERVICE_UNAVAILABLE');
    // Alice has most even now, and Bob would have as many as she then.
    expect(await ask('bob', '3')).to.equal('SERVICE_UNAVAILABLE');
    for (let end = 0; end < 7; end += 1) await reads.end();
    const answered = await Promise.all([begun, ...others, bob, ...second, carol]);
    expect(new Set(answered)).to.deep.equal(new Set(['answered']));
  });

  it('keep no lane of wallets whose reads gave up', async () => {
    const turns = new WalletReads({ atOnce: 1, patienceMs: 10, rule: { ofHolder: 2, inAll: 3 } });
    const hanging = turns.read('alice', 'list', reads.read('hanging'));
    for (let round = 0; round < 3; round += 1) {
      const late = ['bob', 'carol', 'dave'].map((wallet) =>
        codeOf(turns.read(wallet, 'list', reads.read('late'))),
      );
      expect(new Set(await Promise.all(late))).to.deep.equal(new Set(['SERVICE_UNAVAILABLE']));
    }
    await reads.end();
    expect(await hanging).to.equal(1);
    expect(reads.begun).to.deep.equal(['hanging']);
  });
});
