/** Tests that no server leads only because it is named or listed: it may have been started again on another disk. */

import { cpSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Backends } from '../../../src/roles/backends.ts';
import { lookAtCopies } from '../../../src/roles/operator.ts';
import { type CopiesStage, openCopiesStage } from '../../support/copies.ts';
import { CopiesTrading, OUTAGE_MS } from '../../support/copies-trading.ts';
import { eventually } from '../../support/eventually.ts';

const CUT_BYTES = 6_000;

describe('copies of the engine that are started again', function () {
  this.timeout(240_000);
  let stage: CopiesStage;
  let trading: CopiesTrading;

  beforeEach(async () => {
    stage = await openCopiesStage();
    trading = await CopiesTrading.start(stage);
    await trading.goesOn();
  });
  afterEach(async () => {
    await trading.stop();
    await stage.stop();
  });

  const data = (name: string): string => join(stage.copies.folderOf(name), 'appendonlydir');
  const kept = (name: string): string => join(stage.copies.folderOf(name), 'kept');
  const keep = (name: string): void => cpSync(data(name), kept(name), { recursive: true });
  /** Starts a server again, after its files were changed. */
  const startAgain = async (name: string, change: (folder: string) => void): Promise<void> => {
    await trading.serverOf(name).kill();
    change(data(name));
    await trading.serverOf(name).start();
  };
  const onOlderDisk = (name: string) =>
    startAgain(name, (folder) => {
      rmSync(folder, { recursive: true });
      cpSync(kept(name), folder, { recursive: true });
    });
  const empty = (folder: string): void => rmSync(folder, { recursive: true });
  const look = async (name: string) => (await lookAtCopies(stage.settling[0]!)).get(name);
  /** No epoch is noted until the returned function is called. */
  const withholdNotes = (): (() => void) => {
    let release = (): void => undefined;
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    for (const { ledger } of [...stage.apis, ...stage.settling] as Backends[]) {
      const note = ledger.copies.note;
      ledger.copies.note = async (...asked) => isReleased.then(() => note(...asked));
    }
    return release;
  };

  it('lose nothing when the named one comes back empty before its epoch begins', async () => {
    const next = await trading.replica();
    const release = withholdNotes();
    await stage.settling[0]!.ledger.copies.name(await stage.row(), next, null);
    await eventually('it is a primary', async () => (await look(next))?.isPrimary === true, OUTAGE_MS);
    await startAgain(next, empty);
    await eventually('it has an answer', async () => (await look(next)) !== undefined, OUTAGE_MS);
    release();
    await trading.nothingIsLost();
  });

  it('lose nothing when the primary is killed, and the named one comes back empty', async () => {
    const first = await trading.primary();
    const release = withholdNotes();
    await trading.serverOf(first).kill();
    await eventually('another is named', async () => (await trading.primary()) !== first, OUTAGE_MS);
    await startAgain(await trading.primary(), empty);
    await trading.serverOf(first).start();
    release();
    await trading.nothingIsLost();
  });

  it('lose nothing when the primary is back at once with an older disk', async () => {
    const first = await trading.primary();
    keep(first);
    await trading.goesOn();
    await onOlderDisk(first);
    await trading.nothingIsLost();
    expect(await trading.primary()).not.to.equal(first);
  });

  it('lose nothing when the primary is back at once, and the end of its file is cut off', async () => {
    const first = await trading.primary();
    await startAgain(first, (folder) => {
      const last = readdirSync(folder)
        .filter((name) => name.includes('.incr.'))
        .sort()
        .at(-1)!;
      const { size } = statSync(join(folder, last));
      truncateSync(join(folder, last), Math.max(0, size - CUT_BYTES));
    });
    await trading.nothingIsLost();
  });

  it('lose nothing in a power cut after which one with an older disk is up first', async () => {
    const [old] = (await trading.replicas()) as [string];
    keep(old);
    await trading.goesOn();
    const others = [...stage.copies.servers.keys()].filter((name) => name !== old);
    await Promise.all(others.map((name) => trading.serverOf(name).kill()));
    await onOlderDisk(old);
    const isDecided = async (): Promise<boolean> =>
      (await trading.primary()) === old || stage.told.some((line) => line.includes('2 of'));
    await eventually('it is named, or waits for another', isDecided, OUTAGE_MS);
    await Promise.all(others.map((name) => trading.serverOf(name).start()));
    await trading.nothingIsLost();
  });
});
