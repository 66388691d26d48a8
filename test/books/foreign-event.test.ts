/**
 * Tests the books around an entry that somebody added to the engine's stream by hand: what settlement and the operator's
 * commands do, and that the books hold once the entry is removed as `docs/runbook.md` says.
 */

import { expect } from 'chai';
import { pino } from 'pino';
import { KEYS } from '../../src/engine/keys.ts';
import { createSettlementWorker } from '../../src/workers/settlement.ts';
import { Capture, type OperatorFixture, openOperatorFixture, WALLET } from '../operator/fixture.ts';
import { eventually } from '../support/eventually.ts';
import { entryRemoval } from '../support/guide.ts';

type Settlement = ReturnType<typeof createSettlementWorker>;

const CREDIT = ['account', 'credit', WALLET(1), 'NEW', '5', '--reference', 'one'] as const;

describe('books: an entry that was added to the stream by hand', () => {
  let fixture: OperatorFixture;
  let log: Capture;

  beforeEach(async () => {
    [fixture, log] = [await openOperatorFixture(), new Capture()];
    await fixture.run('asset', 'set', 'NEW', '--scale', '0');
  });
  afterEach(() => fixture.close());

  const openSettlement = (): Settlement =>
    createSettlementWorker({ engine: fixture.engine, ledger: fixture.ledger.settlement, log: pino({}, log) });

  /** Adds an entry that is a thousand events ahead; returns its id and the commands that remove it. */
  const addForeign = async (
    bytes: Buffer | string,
  ): Promise<{ entry: string; commands: ReturnType<typeof entryRemoval> }> => {
    const { epoch, sequence } = await fixture.engine.reads.state();
    const entry = `${epoch}-${sequence + 1_000}`;
    await fixture.redis.xadd(KEYS.events, entry, 'e', bytes);
    return { entry, commands: entryRemoval({ epoch, sequence }) };
  };

  const expectRefused = async (): Promise<void> => {
    for (const command of [['trading', 'pause', '--reason', 'a test'], CREDIT]) {
      const { status, stderr } = await fixture.run(...command);
      expect([status, stderr], command[0]).to.deep.equal([
        1,
        'SERVICE_UNAVAILABLE: the matching engine cannot record events, and nothing was done: try again later\n',
      ]);
    }
  };

  const expectBooks = async (settlement: Settlement): Promise<void> => {
    expect((await fixture.run(...CREDIT)).status).to.equal(0);
    await eventually('settlement continues', async () => {
      await settlement.run();
      const state = await fixture.engine.reads.state();
      const cursor = await fixture.ledger.settlement.cursor();
      return cursor.sequence === state.sequence;
    });
    expect((await fixture.run('ledger', 'reconcile')).status).to.equal(0);
  };

  it('pauses settlement before it when it is no event, until it is removed', async () => {
    const settlement = openSettlement();
    const { entry, commands } = await addForeign('x');
    const [empty, setBack] = commands;
    await expectRefused();
    await settlement.run();
    expect(log.text).to.include(`event ${entry} is not readable`);
    expect(settlement.diverged()).to.equal(false);
    expect((await fixture.ledger.settlement.cursor()).sequence).to.equal(1);

    await fixture.redis.call(...empty!);
    await expectRefused();
    await fixture.redis.call(...setBack!);
    await expectBooks(settlement);
  });

  it('stops settlement before it when it reads like an event, until settlement is started again', async () => {
    const [[, fields]] = (await fixture.redis.xrangeBuffer(KEYS.events, '-', '+', 'COUNT', 1)) as [
      [Buffer, Buffer[]],
    ];
    const { commands } = await addForeign(fields[1]!);
    await expectRefused();
    const settlement = openSettlement();
    await settlement.run();
    expect(settlement.diverged()).to.equal(true);
    expect(log.text).to.match(/event 2 is missing: found 1001 after it/);
    expect((await fixture.ledger.settlement.cursor()).sequence).to.equal(1);

    for (const command of commands) await fixture.redis.call(...command);
    await expectBooks(openSettlement());
  });
});
