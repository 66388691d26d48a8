/** Tests the rounds on real servers: nothing of the engine is handed on that a named copy lacks. */

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { copyingIn } from '../../../../src/engine/copies/server.ts';
import {
  CopyRounds,
  type Engine,
  follow,
  giveList,
  lookAt,
  noteVerified,
  openEngine,
  rankOfPrimary,
} from '../../../../src/engine/index.ts';
import { KEYS } from '../../../../src/engine/keys.ts';
import { readState } from '../../../../src/engine/state.ts';
import { connectBeside, connectRedis } from '../../../../src/redis/connections.ts';
import { ALICE, codeOf, fund, limit, place, publishPlain } from '../../../engine/fixture.ts';
import { type Copies, startCopies } from '../../../support/copies.ts';
import { eventually } from '../../../support/eventually.ts';
import { LIMITS } from '../../../support/limits.ts';
import { openRedis } from '../../../support/redis-server.ts';
import { obtainValkey } from '../../../support/valkey-binary.ts';

const M = 'ETH/USD';
/** A server of some ten keys is copied for some seconds. */
const SLOW_KEY_MICROS = 200_000;
/** Within the time that a round may take. */
const NOTED_AFTER_MS = 150;

const SERVERS = [
  { of: 'the copies', obtain: async () => undefined },
  { of: 'the copies, which are Valkey 8', obtain: obtainValkey },
] as const;

for (const { of, obtain } of SERVERS)
  describe(`the rounds of ${of}`, () => {
    const isNewer = obtain === obtainValkey;
    let copies: Copies;
    let names: string[];
    /** Administrators' connections, in the order of the names: the primary, and two that follow it. */
    let servers: Redis[];
    let redis: Redis;
    let roundsRedis: Redis;
    let rounds: CopyRounds;
    let engine: Engine;
    let version = 0;

    before(async function () {
      const binary = await obtain();
      if (isNewer && binary === undefined) this.skip();
      copies = await startCopies({ more: () => (binary === undefined ? {} : { binary }) });
      names = [...copies.servers.keys()];
      servers = [...copies.servers.values()].map(({ url }) => openRedis(url));
      for (const server of servers) server.on('error', () => undefined);
      const [primary, ...others] = servers as [Redis, Redis, Redis];
      await primary.replicaof('NO', 'ONE');
      const [host, port] = names[0]!.split(':') as [string, string];
      for (const other of others) await other.replicaof(host, port);
      const tell = (): void => undefined;
      redis = connectRedis(copies.url, 'test', tell, rankOfPrimary);
      roundsRedis = connectBeside(redis, { url: copies.url }, 'test-rounds', tell);
      rounds = new CopyRounds({ redis: roundsRedis, minCopies: 2 });
      engine = openEngine({ redis, rounds, ...LIMITS });
      await list(0, 1);
      await eventually('it opens', async () => {
        await engine.lifecycle.open({ epoch: 0, sequence: 0 });
        // An epoch begins without a note about files.
        await verify();
        await engine.lifecycle.confirm();
        return true;
      });
      await publishPlain(engine, M);
      await fund(engine, ALICE, { ETH: 10_000n });
    });
    after(async () => {
      if (copies === undefined) return;
      for (const one of [...servers, redis, roundsRedis]) one.disconnect();
      await copies.stop();
    });

    /** Names the copies by their places, once they have everything in their own files. */
    const list = async (...places: number[]): Promise<void> => {
      version += 1;
      await giveList(servers[0]!, {
        version,
        mark: `list ${version}`,
        names: places.map((at) => names[at]!),
      });
      await verify();
    };
    const verify = async (): Promise<void> => {
      await eventually('the files are written', async () => {
        const primary = await lookAt(servers[0]!);
        const seen = await Promise.all([1, 2].map((at) => lookAt(servers[at]!)));
        await noteVerified(servers[0]!, primary);
        return primary.replicas.size === 2 && seen.every((one) => one.isConnected && !one.isFileBehind);
      });
    };
    const sell = (clientOrderId?: string) =>
      engine.orders.place({
        wallet: ALICE,
        request: limit(M, 'sell', 10, 1, clientOrderId === undefined ? {} : { clientOrderId }),
      });
    const sequence = async (): Promise<number> =>
      readState(await servers[0]!.hgetBuffer(KEYS.engine, 'state')).sequence;
    /** Number of times that a server was asked for the disks of its copies. */
    const disksAsked = async (server: Redis): Promise<number> =>
      Number(/cmdstat_waitaof:calls=(\d+)/.exec(await server.info('commandstats'))?.[1] ?? 0);
    const whileStopped = async (at: number, work: () => Promise<void>): Promise<void> => {
      const pid = [...copies.servers.values()][at]!.pid();
      process.kill(pid, 'SIGSTOP');
      try {
        await work();
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      await eventually('a round is whole', async () => (await rounds.prove()).list.version === version);
    };

    it('answer an order that the named copies have', async () => {
      await place(engine, ALICE, limit(M, 'sell', 10, 1));
      expect((await lookAt(servers[1]!)).sequence).to.equal(await sequence());
    });

    it('do not answer an order that a named copy lacks, and find it later under its client order id', async () => {
      await whileStopped(1, async () => {
        const before = await sequence();
        expect(await codeOf(sell('one'))).to.equal('SERVICE_UNAVAILABLE');
        expect(await sequence()).to.equal(before + 1);
        // A look-up tells of the order as well.
        expect(await codeOf(engine.orders.find(ALICE, 'one'))).to.equal('SERVICE_UNAVAILABLE');
        expect(await codeOf(engine.outbox.readEvents({ epoch: 0, sequence: 0 }, 10))).to.equal(
          'SERVICE_UNAVAILABLE',
        );
      });
      expect((await engine.orders.find(ALICE, 'one')).outcome).to.equal('claimed');
      expect((await sell('one')).outcome).to.equal('claimed');
    });

    it('do not count a copy that the list does not name', async () => {
      await whileStopped(2, async () => {
        await place(engine, ALICE, limit(M, 'sell', 10, 1));
      });
      await whileStopped(1, async () => {
        expect(await codeOf(sell())).to.equal('SERVICE_UNAVAILABLE');
      });
      await list(0, 2);
      await whileStopped(1, async () => {
        await place(engine, ALICE, limit(M, 'sell', 10, 1));
      });
      await list(0, 1);
    });

    it('send the next call while replies wait', async () => {
      await whileStopped(1, async () => {
        const before = await sequence();
        const first = codeOf(sell());
        await eventually('the first is placed', async () => (await sequence()) === before + 1);
        const second = codeOf(sell());
        await eventually('the second is placed', async () => (await sequence()) === before + 2);
        expect(await Promise.all([first, second])).to.deep.equal([
          'SERVICE_UNAVAILABLE',
          'SERVICE_UNAVAILABLE',
        ]);
      });
    });

    it('leave the engine open when it takes an order while a check of it waits for one', async () => {
      const { tenure } = engine.lifecycle;
      let waiting: Promise<unknown> = Promise.resolve();
      await whileStopped(1, async () => {
        const before = await sequence();
        waiting = Promise.allSettled([engine.lifecycle.confirm(), sell()]);
        await eventually('the order is placed', async () => (await sequence()) === before + 1);
        await sleep(50);
      });
      await waiting;
      expect(engine.lifecycle.tenure).to.equal(tenure);
    });

    it('wait for disks by WAITAOF where the server has it', async () => {
      const [found] = (await servers[0]!.call('COMMAND', 'INFO', 'waitaof')) as [unknown];
      if (isNewer) expect(found).not.to.equal(null);
      const before = await disksAsked(servers[0]!);
      await place(engine, ALICE, limit(M, 'sell', 10, 1));
      expect((await disksAsked(servers[0]!)) > before).to.equal(found !== null);
    });

    if (!isNewer)
      it('wait without WAITAOF, from the first on, where a newer server refuses it', async () => {
        const connection = connectBeside(redis, { url: copies.url }, 'test-newer', () => undefined);
        await once(connection, 'ready');
        const info = connection.info.bind(connection);
        connection.info = async () => (await info()).replace(/^redis_version:.*/m, 'redis_version:8.0.0');
        const newer = new CopyRounds({ redis: connection, minCopies: 2 });
        // A process is not ready before its first round is whole.
        expect(newer.trouble).to.be.a('string');
        const troubles = new Set<string>();
        await eventually('a round is whole', async () => {
          const round = await newer.prove().catch((error: Error) => troubles.add(error.message) && undefined);
          return round?.list.version === version;
        });
        expect(newer.trouble).to.equal(undefined);
        connection.disconnect();
        expect([...troubles].filter((trouble) => !trouble.endsWith('their primary is away'))).to.deep.equal(
          [],
        );
      });

    it('carry many replies each', async () => {
      const before = Number(await servers[0]!.hget(KEYS.rounds, 'round'));
      await Promise.all(Array.from({ length: 200 }, () => sell()));
      expect(Number(await servers[0]!.hget(KEYS.rounds, 'round')) - before).to.be.at.most(40);
    });

    it('are not whole with fewer copies than the setting asks for', async () => {
      await list(0);
      expect(await codeOf(sell())).to.equal('SERVICE_UNAVAILABLE');
      await list(0, 1);
      await place(engine, ALICE, limit(M, 'sell', 10, 1));
    });

    it('do not trust an acknowledgement of a copy whose own file lacks what was copied to it', async () => {
      const primary = servers[0]!;
      const copy = servers[1]!;
      const server = copies.servers.get(names[1]!)!;
      const [host, port] = names[0]!.split(':') as [string, string];
      // A server that was started again is copied whole.
      await server.kill();
      await server.start();
      await eventually('it answers', async () => (await lookAt(copy)).epoch > 0);
      // The server writes its file slowly, as if its data were large.
      await copy.config('SET', 'rdb-key-save-delay', 500_000);
      await copy.replicaof(host, port);
      await eventually('it acknowledges', async () => {
        const { fullCopies, verified, runId, replicas, offset } = await lookAt(primary);
        return verified !== `${runId} ${fullCopies}` && replicas.get(names[1]!) === offset;
      });
      const { isFileBehind } = await lookAt(copy);
      // Valkey 9 takes what was copied as its file, so nothing is behind.
      if (isFileBehind) expect(await codeOf(sell('after it was copied'))).to.equal('SERVICE_UNAVAILABLE');
      else {
        await verify();
        await sell('after it was copied');
      }
      const told = await sequence();
      expect((await lookAt(copy)).sequence).to.equal(told);
      // A kill brings back what its own file has.
      await server.kill();
      await server.start();
      await eventually('it answers', async () => (await lookAt(copy)).epoch > 0);
      expect((await lookAt(copy)).sequence < told).to.equal(isFileBehind);
      await copy.replicaof(host, port);
      await eventually('its file is written', async () => {
        const seen = await lookAt(copy);
        return seen.isConnected && !seen.isFileBehind;
      });
      // A keeper notes it some time later, and answers wait for that.
      const waiting = place(engine, ALICE, limit(M, 'sell', 10, 1));
      await sleep(NOTED_AFTER_MS);
      await verify();
      await waiting;
    });

    it('wait for no note while a server that the list does not name is copied whole', async () => {
      await list(0, 1);
      await place(engine, ALICE, limit(M, 'sell', 10, 1));
      const [primary, , stranger] = servers as [Redis, Redis, Redis];
      const [host, port] = names[0]!.split(':') as [string, string];
      const look = () => lookAt(primary);
      const before = await look();
      // It is under way for seconds.
      await primary.config('SET', 'rdb-key-save-delay', SLOW_KEY_MICROS);
      try {
        await stranger.replicaof('NO', 'ONE');
        await stranger.replicaof(host, port);
        const isUnderWay = async (): Promise<boolean> =>
          copyingIn(await primary.info('replication')).includes(names[2]!);
        await eventually('it is under way', isUnderWay);
        for (let orders = 0; orders < 3; orders += 1) await place(engine, ALICE, limit(M, 'sell', 10, 1));
        expect(await isUnderWay()).to.equal(true);
      } finally {
        await primary.config('SET', 'rdb-key-save-delay', 0);
      }
      await eventually('it is there', async () => (await look()).replicas.has(names[2]!));
      await place(engine, ALICE, limit(M, 'sell', 10, 1));
      const after = await look();
      expect(Number(after.fullCopies)).to.equal(Number(before.fullCopies) + 1);
      expect(after.verified).to.equal(before.verified);
    });

    it('refuse orders of keepers that know less than the server', async () => {
      const seen = await lookAt(servers[0]!);
      const nobody = { host: '127.0.0.1', port: 1 };
      const before = { ...seen, mark: 'before' };
      expect(await follow(servers[0]!, { epoch: seen.epoch - 1 }, seen, nobody)).to.equal('knows more');
      expect(await follow(servers[0]!, seen, before, nobody)).to.equal('changed');
      expect((await lookAt(servers[0]!)).isPrimary).to.equal(true);
      await giveList(servers[0]!, { version: version - 1, mark: 'earlier', names: [names[0]!] });
      expect((await lookAt(servers[0]!)).names).to.deep.equal([names[0], names[1]]);
    });

    it('carry out orders of keepers while orders are placed', async () => {
      const [copy] = servers.slice(2) as [Redis];
      const seen = await lookAt(copy);
      const before = await sequence();
      const multi = (): unknown => {
        const transaction = copy.multi();
        const exec = transaction.exec.bind(transaction);
        const whileTrading = async () => {
          await sell();
          await eventually('the copy has it', async () => (await lookAt(servers[1]!)).sequence > before);
          return exec();
        };
        return Object.assign(transaction, { exec: whileTrading });
      };
      const busy: Redis = Object.create(copy, { multi: { value: multi } });
      const [host, port] = names[0]!.split(':') as [string, string];
      const row = { epoch: seen.epoch, version };
      expect(await follow(busy, row, seen, { host, port: Number(port) })).to.equal('carried out');
    });

    it('answer no read on a primary that its copies have left', async () => {
      for (const other of [1, 2]) await servers[other]!.replicaof('NO', 'ONE');
      await sleep(50);
      const reads = [engine.reads.state(), engine.orders.liveCount(ALICE), engine.markets.all()];
      for (const code of await Promise.all(reads.map(codeOf))) expect(code).to.equal('SERVICE_UNAVAILABLE');
      redis.disconnect();
      await eventually('the engine is closed', () => !engine.lifecycle.isOpen());
      await redis.connect();
      expect(await codeOf(engine.markets.all())).to.equal('SERVICE_UNAVAILABLE');
    });
  });
