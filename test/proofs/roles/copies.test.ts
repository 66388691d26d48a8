/** Tests that an engine with copies loses no answered order, and gives no id twice, whichever server fails. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { runOperator } from '../../../src/operator/command-line.ts';
import type { Backends } from '../../../src/roles/backends.ts';
import { lookAtCopies } from '../../../src/roles/operator.ts';
import { query } from '../../ledger/tables.ts';
import { Capture } from '../../operator/fixture.ts';
import {
  asAdmin,
  type CopiesStage,
  cutReplication,
  hideFromKeepers,
  openCopiesStage,
} from '../../support/copies.ts';
import { CopiesTrading, OUTAGE_MS } from '../../support/copies-trading.ts';
import { eventually } from '../../support/eventually.ts';
import { ADMIN, PASSWORD, type RedisServer } from '../../support/redis-server.ts';
import { random, runSeed } from '../../support/seed.ts';

const BREAKS = 15;
const MAX_CUT_BYTES = 20_000;

describe('an engine with copies', function () {
  this.timeout(240_000);
  let stage: CopiesStage;
  let trading: CopiesTrading;

  before(async () => {
    stage = await openCopiesStage();
    trading = await CopiesTrading.start(stage);
  });
  after(async () => {
    await trading.stop();
    await stage.stop();
  });

  const serverOf = (name: string): RedisServer => trading.serverOf(name);
  const primary = (): Promise<string> => trading.primary();
  const replica = (): Promise<string> => trading.replica();
  const goesOn = (): Promise<void> => trading.goesOn();
  const nothingIsLost = (): Promise<void> => trading.nothingIsLost();
  const flush = (name: string, when: string): Promise<unknown> =>
    asAdmin(serverOf(name), (redis) => redis.config('SET', 'appendfsync', when));

  it('goes on when the primary is killed, and takes it back as a copy', async () => {
    const first = await primary();
    await serverOf(first).kill();
    await goesOn();
    expect(await primary()).not.to.equal(first);
    await serverOf(first).start();
    await nothingIsLost();
  });

  it('goes on when the primary hangs for a while, which is told nothing and tells nobody anything', async () => {
    const first = await primary();
    process.kill(serverOf(first).pid(), 'SIGSTOP');
    await goesOn();
    expect(await primary()).not.to.equal(first);
    await sleep(3_000);
    process.kill(serverOf(first).pid(), 'SIGCONT');
    await nothingIsLost();
  });

  it('answers nothing that the copies lack when their replication is cut and the primary is killed', async () => {
    const first = await primary();
    await cutReplication(serverOf(first));
    const before = trading.answered.size;
    await sleep(1_500);
    // Each client may have had one order in a round that was whole.
    expect(trading.answered.size - before).to.be.at.most(CopiesTrading.traders);
    await serverOf(first).kill();
    await goesOn();
    await serverOf(first).start();
    await nothingIsLost();
  });

  it('answers nothing on a primary that keepers and copies do not reach, while its clients do', async () => {
    const first = await primary();
    const showAgain = await hideFromKeepers(serverOf(first));
    await goesOn();
    expect(await primary()).not.to.equal(first);
    await showAgain();
    await nothingIsLost();
  });

  it('goes on when keepers alone do not reach the primary', async () => {
    const first = await primary();
    const showAgain = await hideFromKeepers(serverOf(first), ['engine-settlement']);
    await eventually('another is named', async () => (await primary()) !== first, OUTAGE_MS);
    await goesOn();
    await showAgain();
    await nothingIsLost();
  });

  it('does without a copy whose settings are wrong, and without such a primary', async () => {
    const copy = await replica();
    await flush(copy, 'everysec');
    const hasLeft = async (): Promise<boolean> => !(await stage.row()).members.includes(copy);
    await eventually('it left', hasLeft, OUTAGE_MS);
    const told = stage.told.find((line) => line.includes(`the copy ${copy} is set wrongly`));
    expect(told).to.include('appendfsync is everysec');
    await flush(copy, 'always');
    await stage.whole();
    const first = await primary();
    await flush(first, 'everysec');
    await eventually('another is named', async () => (await primary()) !== first, OUTAGE_MS);
    await flush(first, 'always');
    await nothingIsLost();
  });

  it('answers nothing while the settings of all copies are wrong, and goes on when one is right', async () => {
    const { server, members } = await stage.row();
    const copies = members.filter((name) => name !== server);
    for (const name of copies) await flush(name, 'everysec');
    const isAlone = async (): Promise<boolean> => (await stage.row()).members.join() === server;
    await eventually('all copies have left', isAlone, OUTAGE_MS);
    await sleep(1_000);
    const before = trading.answered.size;
    await sleep(1_000);
    expect(trading.answered.size).to.equal(before);
    await flush(copies[0]!, 'always');
    await goesOn();
    await flush(copies[1]!, 'always');
    await nothingIsLost();
  });

  it('loses nothing when replication and all other connections break at random bytes', async () => {
    const dice = random(runSeed());
    for (let times = 0; times < BREAKS; times += 1) {
      for (const link of stage.copies.links.values())
        link.limp({ delayMs: 0, cutAfterBytes: 1 + dice.below(MAX_CUT_BYTES) });
      await sleep(200);
    }
    for (const link of stage.copies.links.values()) await link.mend();
    await nothingIsLost();
  });

  it('goes on without a copy that is killed, and takes it back', async () => {
    const first = await primary();
    const killed = await replica();
    await serverOf(killed).kill();
    await goesOn();
    expect((await stage.row()).members).not.to.include(killed);
    expect(await primary()).to.equal(first);
    await serverOf(killed).start();
    await nothingIsLost();
  });

  it('goes on when the primary is lost with its disk and an empty one is started in its place', async () => {
    const first = await primary();
    await serverOf(first).kill();
    rmSync(join(stage.copies.folderOf(first), 'appendonlydir'), { recursive: true });
    await serverOf(first).start();
    await nothingIsLost();
    expect(await primary()).not.to.equal(first);
  });

  it('goes on when the next primary is killed as soon as it answers', async () => {
    for (let times = 0; times < 2; times += 1) {
      const first = await primary();
      await serverOf(first).kill();
      await goesOn();
      await serverOf(first).start();
      // The members are those that have every answered order; a second one must be there to take over.
      await eventually('a copy has joined', async () => (await stage.row()).members.length > 1, OUTAGE_MS);
    }
    await nothingIsLost();
  });

  it('goes on with the data of all servers when they are killed at once', async () => {
    await Promise.all([...stage.copies.servers.values()].map((server) => server.kill()));
    await Promise.all([...stage.copies.servers.values()].map((server) => server.start()));
    await nothingIsLost();
  });

  describe('by the operator', () => {
    const run = (...argv: string[]) => runOn(stage.settling[0]!, ...argv);
    const runOn = async (backends: Backends, ...argv: string[]) => {
      const { engine, ledger } = backends;
      const copies = () => lookAtCopies(backends);
      const out = new Capture();
      const err = new Capture();
      const open = async () => ({ engine, ledger, networkId: '1', copies, close: async () => undefined });
      await runOperator([...argv, '--json'], open, { out, err });
      return JSON.parse(out.text || err.text);
    };

    it('is shown', async () => {
      await stage.whole();
      const row = await stage.row();
      const shown = await run('copies');
      expect(shown).to.deep.include({ primary: row.server, version: row.version, members: row.members });
      expect(shown.servers.map(({ server }: { server: string }) => server)).to.have.members(row.members);
      for (const one of shown.servers) {
        expect(one.role).to.equal(one.server === row.server ? 'primary' : 'copy');
        expect(one.offset).to.be.above(0);
        expect(one.lagEvents).to.be.a('number');
      }
    });

    it('takes the first call of each process that has opened it', async () => {
      for (let times = 0; times < 10; times += 1) {
        const opened = stage.open('operator');
        await opened.engineOpened;
        expect(await opened.engine.markets.all().finally(opened.close)).to.have.length(1);
      }
    });

    it('is part of the status', async () => {
      const { server, members } = await stage.row();
      expect((await run('status')).copies).to.deep.equal({ primary: server, members, away: [] });
    });

    it('gets another primary, and loses no answered order', async () => {
      const next = await replica();
      expect(await run('copies', 'name', next)).to.deep.include({ primary: next });
      await nothingIsLost();
      expect(await primary()).to.equal(next);
      expect((await run('copies', 'name', '127.0.0.1:1')).code).to.equal('NO_COPY');
    });

    it('drops a copy that is away, and no other', async () => {
      const dropped = await replica();
      expect((await run('copies', 'drop', await primary())).code).to.equal('IS_PRIMARY');
      expect((await run('copies', 'drop', dropped)).code).to.equal('WOULD_JOIN_AGAIN');
      await serverOf(dropped).kill();
      expect((await run('copies', 'drop', dropped)).members).not.to.include(dropped);
      await goesOn();
      await serverOf(dropped).start();
      await nothingIsLost();
    });

    it('is forced onto one server only with its name, and is told what may be lost', async () => {
      const { server } = await stage.row();
      expect((await run('copies', 'force', server)).code).to.equal('BAD_USAGE');
      const why = ['--by', 'ann', '--reason', 'the others burnt down'];
      const { code, error } = await run('copies', 'force', server, ...why);
      expect([code, error]).to.deep.equal([
        'CONFIRM',
        `${server} becomes the only copy: it is a copy, so it has every answered order. Repeat the command with --confirm ${server}`,
      ]);
      const operator = stage.open('operator');
      await operator.engineOpened;
      const forced = await runOn(operator, 'copies', 'force', server, '--confirm', server, ...why).finally(
        operator.close,
      );
      expect(forced).to.deep.include({ primary: server, isNoted: true });
      await nothingIsLost();
      const acts = async () => (await run('acts', '--by', 'ann')).acts;
      await eventually('the act is settled', async () => (await acts()).length > 0);
      const [noted] = await acts();
      expect(noted).to.include({ act: 'copies force', subject: server, reason: 'the others burnt down' });
    });

    it('becomes one server, and three again, by the guide', async () => {
      await stage.whole();
      const { server, members } = await stage.row();
      const [second, third] = members.filter((name) => name !== server) as [string, string];
      const startAnew = async (name: string): Promise<void> => {
        await serverOf(name).kill();
        rmSync(join(stage.copies.folderOf(name), 'appendonlydir'), { recursive: true });
        await serverOf(name).start();
      };
      const urlOf = (scheme: string, ...names: string[]) =>
        `${scheme}://${ADMIN}:${PASSWORD}@${names.join(',')}`;
      await stage.restart({
        redisUrl: urlOf('redis+copies', server, second),
        minCopies: 1,
        takesOrders: false,
      });
      expect((await run('copies', 'drop', third)).members).to.have.members([server, second]);
      await serverOf(second).kill();
      expect((await run('copies', 'drop', second)).members).to.deep.equal([server]);
      await stage.restart({ redisUrl: urlOf('redis', server) });
      await goesOn();
      await serverOf(second).start();
      for (const name of [second, third]) await startAnew(name);
      await stage.restart({});
      await nothingIsLost();
      expect(await primary()).to.equal(server);
    });

    /** Gives the row the number that the servers' list has. @see putRowBack */
    const asOthersSince = (version: number): string => `;
      update engine_copies set version = ${version}, mark = 'since';
      insert into engine_lists (version, mark) select version, mark from engine_copies`;

    /**
     * Names another primary, and puts the row and the epochs back to before that.
     * @param since what Postgres does before anybody looks, from the version of the row that the servers know
     * @returns the primary
     */
    async function putRowBack(since: (version: number) => string = () => ''): Promise<string> {
      const tables = ['engine_copies', 'engine_lists', 'engine_epochs'];
      const ofAll = (statement: (table: string) => string): Promise<unknown> =>
        query(stage.databaseUrl, tables.map(statement).join(';'));
      await ofAll((table) => `create table kept_${table} as table ${table}`);
      const next = await replica();
      expect(await run('copies', 'name', next)).to.deep.include({ primary: next });
      await stage.whole();
      const { version } = await stage.row();
      const back = tables.map((table) => `delete from ${table}; insert into ${table} table kept_${table}`);
      await query(stage.databaseUrl, back.join(';') + since(version));
      await ofAll((table) => `drop table kept_${table}`);
      return next;
    }

    async function adopted(): Promise<string> {
      let primary: string | undefined;
      const isAdopted = async (): Promise<boolean> => {
        ({ primary } = await run('copies', 'adopt'));
        return primary !== undefined;
      };
      await eventually('one is adopted', isAdopted, OUTAGE_MS);
      return primary!;
    }

    it('is adopted by a Postgres that was put back to before another primary was named', async () => {
      expect(await run('copies', 'adopt')).to.deep.equal({ primary: await primary() });
      const next = await putRowBack();
      const isTold = (): boolean => stage.told.some((line) => line.includes('Postgres is older'));
      await eventually('keepers tell it', isTold, OUTAGE_MS);
      expect((await run('copies', 'name', next)).code).to.equal('POSTGRES_OLDER');
      const silent = [...stage.copies.servers.keys()].find((name) => name !== next)!;
      await serverOf(silent).kill();
      expect((await run('copies', 'adopt')).code).to.equal('CONFIRM');
      await serverOf(silent).start();
      expect(await adopted()).to.equal(next);
      await nothingIsLost();
    });

    it('is adopted by such a Postgres whose row has had as many changes since', async () => {
      const next = await putRowBack(asOthersSince);
      expect((await run('copies', 'name', next)).code).to.equal('POSTGRES_OLDER');
      expect(await adopted()).to.equal(next);
      await nothingIsLost();
    });

    it('is adopted by such a Postgres when all servers were started again', async () => {
      await putRowBack();
      await Promise.all([...stage.copies.servers.values()].map((server) => server.kill()));
      await Promise.all([...stage.copies.servers.values()].map((server) => server.start()));
      await adopted();
      await nothingIsLost();
    });
  });
});
