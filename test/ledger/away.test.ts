/** Proves that reads are refused at once while Postgres is known to be down. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Refusal } from '../../src/domain/errors.ts';
import { refusedWhileAway } from '../../src/ledger/away.ts';

const away = (): Promise<never> => Promise.reject(new Refusal('SERVICE_UNAVAILABLE'));

describe('reads while Postgres is unavailable', () => {
  const counted = () => {
    const calls = { reads: 0, looks: 0 };
    const server = { read: async (): Promise<number> => 7, look: async (): Promise<unknown> => 1 };
    const read = refusedWhileAway(
      () => {
        calls.reads += 1;
        return server.read();
      },
      () => {
        calls.looks += 1;
        return server.look();
      },
    );
    return { calls, server, read };
  };
  const codeOf = (read: Promise<unknown>): Promise<unknown> =>
    read.then(
      () => 'answered',
      (error) => error.code ?? error.message,
    );

  it('are rejected without a query, while one probe at a time is under way', async () => {
    const { calls, server, read } = counted();
    [server.read, server.look] = [away, () => new Promise(() => undefined)];
    expect(await codeOf(read())).to.equal('SERVICE_UNAVAILABLE');
    for (let count = 0; count < 1_000; count += 1)
      expect(await codeOf(read())).to.equal('SERVICE_UNAVAILABLE');
    expect(calls).to.deep.equal({ reads: 1, looks: 1 });
  });

  it('are made again when a probe has succeeded', async () => {
    const { calls, server, read } = counted();
    [server.read, server.look] = [away, away];
    expect(await codeOf(read())).to.equal('SERVICE_UNAVAILABLE');
    expect(await codeOf(read())).to.equal('SERVICE_UNAVAILABLE');
    [server.read, server.look] = [async () => 7, async () => 1];
    while ((await codeOf(read())) !== 'answered') await sleep(5);
    expect(calls).to.deep.equal({ reads: 2, looks: 2 });
  });

  it('fail alone for any other error', async () => {
    const { calls, server, read } = counted();
    server.read = () => Promise.reject(new Error('a mistake of ours'));
    for (const _ of [1, 2]) expect(await codeOf(read())).to.equal('a mistake of ours');
    expect(calls).to.deep.equal({ reads: 2, looks: 0 });
  });
});
