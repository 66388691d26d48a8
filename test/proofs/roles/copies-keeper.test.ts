/** Tests keepers on real servers: who is a copy, and in which order the row and the list change. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Backends } from '../../../src/roles/backends.ts';
import { lookAtCopies } from '../../../src/roles/operator.ts';
import { ALICE, codeOf, fund, limit, publishPlain } from '../../engine/fixture.ts';
import { makeCertificate } from '../../support/certificate.ts';
import { asAdmin, type CopiesStage, cutOff, openCopiesStage } from '../../support/copies.ts';
import { eventually } from '../../support/eventually.ts';
import { fakedClock } from '../../support/faked-clock.ts';

const M = 'ETH/USD';
const PATIENCE_MS = 60_000;
const AHEAD_SECONDS = 3;
/** Keepers look several times meanwhile. */
const SOME_LOOKS_MS = 1_500;
const LOOK_MS = 100;
/** A server of some ten keys takes seconds to write its file. */
const SLOW_KEY_MICROS = 300_000;

type Register = Backends['ledger']['copies'];

const sell = ({ apis }: CopiesStage) =>
  apis[0]!.engine.orders.place({ wallet: ALICE, request: limit(M, 'sell', 10, 1) });
const isAnswered = async (stage: CopiesStage): Promise<boolean> => (await sell(stage)).outcome === 'placed';

async function openTrading(stage: CopiesStage): Promise<void> {
  const [{ engine }] = stage.apis as [Backends];
  const mayTrade = async (): Promise<boolean> => (await stage.row()).members.length > 1;
  await eventually('two are copies', mayTrade, PATIENCE_MS);
  await eventually('it is open', () => engine.lifecycle.isOpen(), PATIENCE_MS);
  await publishPlain(engine, M);
  await fund(engine, ALICE, { ETH: 10n ** 6n });
}

type Change = Register['leave'];

/** Has all keepers change the row by way of `change`, until the returned function is called. */
function instead(
  { settling }: CopiesStage,
  name: 'leave' | 'startJoining',
  change: (before: Change, ...asked: Parameters<Change>) => ReturnType<Change>,
): () => void {
  const changed = settling.map(({ ledger: { copies } }) => ({ copies, before: copies[name] }));
  for (const { copies, before } of changed)
    Object.assign(copies, { [name]: (...asked: Parameters<Change>) => change(before, ...asked) });
  return () => {
    for (const { copies, before } of changed) Object.assign(copies, { [name]: before });
  };
}

describe('the keepers of the copies', function () {
  this.timeout(180_000);
  let stage: CopiesStage;
  let clock: Awaited<ReturnType<typeof fakedClock>>;

  before(async () => {
    clock = await fakedClock();
    clock?.setAhead(AHEAD_SECONDS);
    const more = (at: number) => (at === 2 && clock ? { environment: clock.environment } : {});
    stage = await openCopiesStage({ more });
    await openTrading(stage);
  });
  after(async () => {
    await stage.stop();
    clock?.remove();
  });

  const aCopy = async (): Promise<{ name: string; pid: number }> => {
    const { server, members } = await stage.row();
    const name = members.find((one) => one !== server)!;
    return { name, pid: stage.copies.servers.get(name)!.pid() };
  };
  const members = async (): Promise<readonly string[]> => (await stage.row()).members;
  const untilLeft = (name: string): Promise<void> =>
    eventually('it left', async () => !(await members()).includes(name), PATIENCE_MS);

  it('let no server join whose clock is more than a second from that of the primary', async function () {
    if (clock === undefined) this.skip();
    const names = [...stage.copies.servers.keys()];
    const hasAll = async (): Promise<boolean> => {
      const seen = await lookAtCopies(stage.settling[0]!);
      return (await members()).length === 2 && seen.get(names[2]!)!.isConnected;
    };
    await eventually('the other two are copies, and it has all', hasAll, PATIENCE_MS);
    await sleep(SOME_LOOKS_MS);
    expect(await members()).to.have.members(names.slice(0, 2));
    clock.setAhead(0);
    await eventually('it is a copy', async () => (await members()).includes(names[2]!), PATIENCE_MS);
  });

  it('let a server join while one that stands before it in REDIS_URL is set wrongly', async () => {
    await stage.whole();
    const names = [...stage.copies.servers.keys()];
    const wrong = names[0]!;
    const last = names[2]!;
    const [{ ledger }] = stage.settling as [Backends];
    if ((await stage.row()).server !== last) {
      await ledger.copies.name(await stage.row(), last, null);
      await eventually('it leads', async () => (await stage.row()).begunOn === last, PATIENCE_MS);
      await stage.whole();
    }
    const flush = (when: string): Promise<unknown> =>
      asAdmin(stage.copies.servers.get(wrong)!, (redis) => redis.config('SET', 'appendfsync', when));
    await flush('everysec');
    try {
      await untilLeft(wrong);
      await stage.copies.servers.get(last)!.kill();
      await eventually('another leads', async () => (await stage.row()).begunOn !== last, PATIENCE_MS);
      await stage.copies.servers.get(last)!.start();
      await eventually('orders are answered', () => isAnswered(stage), PATIENCE_MS);
      expect(await members()).not.to.include(wrong);
    } finally {
      await flush('always');
    }
    await stage.whole();
  });

  it('answer nothing without a copy before the row says that it left', async () => {
    await stage.whole();
    const { name, pid } = await aCopy();
    let isLeaving = false;
    let letLeave = (): void => undefined;
    const mayLeave = new Promise<void>((resolve) => {
      letLeave = resolve;
    });
    const undo = instead(stage, 'leave', async (leave, ...asked) => {
      isLeaving = true;
      await mayLeave;
      return leave(...asked);
    });
    process.kill(pid, 'SIGSTOP');
    try {
      await eventually('it is late', () => isLeaving, PATIENCE_MS);
      expect(await members()).to.include(name);
      expect(await codeOf(sell(stage))).to.equal('SERVICE_UNAVAILABLE');
      expect(stage.apis[0]!.engineState()).to.equal('waits for copies');
      letLeave();
      await eventually('orders are answered', () => isAnswered(stage), PATIENCE_MS);
      expect(await members()).not.to.include(name);
    } finally {
      undo();
      letLeave();
      process.kill(pid, 'SIGCONT');
    }
  });

  it('make no server a member before a whole round that waited for it', async () => {
    await stage.whole();
    const { name, pid } = await aCopy();
    process.kill(pid, 'SIGSTOP');
    await untilLeft(name);
    let hasBegun = false;
    const undo = instead(stage, 'startJoining', async (startJoining, ...asked) => {
      const begun = await startJoining(...asked);
      hasBegun ||= begun !== undefined;
      // It hangs before answers wait for it.
      if (hasBegun) process.kill(pid, 'SIGSTOP');
      return begun;
    });
    process.kill(pid, 'SIGCONT');
    try {
      await eventually('it is joining', () => hasBegun, PATIENCE_MS);
      await eventually('it is given up', async () => (await stage.row()).joining.length === 0, PATIENCE_MS);
      expect(await members()).not.to.include(name);
      await eventually('orders are answered', () => isAnswered(stage), PATIENCE_MS);
    } finally {
      undo();
      process.kill(pid, 'SIGCONT');
    }
    await stage.whole();
    expect(await members()).to.include(name);
  });

  it('make no server a member whose own file lacks what was copied to it', async function () {
    await stage.whole();
    const { name } = await aCopy();
    const server = stage.copies.servers.get(name)!;
    const mend = await cutOff(server);
    await untilLeft(name);
    await asAdmin(server, async (redis) => {
      // The server writes its file slowly, as if its data were large. As a primary of its own it is copied whole next.
      await redis.config('SET', 'rdb-key-save-delay', SLOW_KEY_MICROS);
      await redis.replicaof('NO', 'ONE');
    });
    await mend();
    const look = async () => (await lookAtCopies(stage.settling[0]!)).get(name)!;
    await eventually('it follows', async () => (await look()).isConnected, PATIENCE_MS);
    let wasBehind = false;
    for (;;) {
      const isMember = (await members()).includes(name);
      if (!(await look()).isFileBehind) break;
      wasBehind = true;
      expect(isMember).to.equal(false);
      await sleep(LOOK_MS);
    }
    await asAdmin(server, (redis) => redis.config('SET', 'rdb-key-save-delay', 0));
    await stage.whole();
    // Valkey 9 takes what was copied as its file.
    if (!wasBehind) this.skip();
  });
});

describe('copies behind TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-copies-tls-'));
  let stage: CopiesStage;

  before(async () => {
    const made = makeCertificate();
    const file = (name: 'certificate' | 'key'): string => {
      const path = join(folder, name);
      writeFileSync(path, made[name], { mode: 0o600 });
      return path;
    };
    stage = await openCopiesStage({ tls: { certificate: file('certificate'), key: file('key') } });
    await openTrading(stage);
  });
  after(async () => {
    await stage.stop();
    rmSync(folder, { recursive: true });
  });

  it('go on when the primary is killed, and take it back', async () => {
    await stage.whole();
    const { server } = await stage.row();
    await stage.copies.servers.get(server)!.kill();
    await eventually('orders are answered', () => isAnswered(stage), PATIENCE_MS);
    expect((await stage.row()).server).not.to.equal(server);
    await stage.copies.servers.get(server)!.start();
    await stage.whole();
  });
});
