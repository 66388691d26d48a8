/** Tests that a copy of the engine which is asked to stop gives its place away first, by the script of `k8s/overlays/ha`. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Program } from '../../../src/embedded/obtain/program.mjs';
import { obtainRedis } from '../../../src/embedded/obtain/redis-binary.mjs';
import { type CopiesStage, openCopiesStage } from '../../support/copies.ts';
import { CopiesTrading } from '../../support/copies-trading.ts';
import { obtainRedisCli } from '../../support/redis-cli.ts';

const RUN_COPY = fileURLToPath(new URL('../../../k8s/overlays/ha/run-copy.sh', import.meta.url));
const LEAVE_WITHIN = 'leave-within';
/** Keepers let a copy go sooner, also on a busy machine. */
const LEAVE_WITHIN_SECONDS = 60;
/** Nobody lets copies go that leave together. */
const LEAVE_ALONE_SECONDS = 3;

/** Makes a program that runs a server under the script, as its container does. It dies with the script. */
async function underScript(folder: string): Promise<Program> {
  const [server, cli] = await Promise.all([obtainRedis(), obtainRedisCli()]);
  const write = (name: string, ...lines: string[]): string => {
    const file = join(folder, name);
    writeFileSync(file, `#!/bin/sh\n${lines.join('\n')}\n`, { mode: 0o755 });
    return file;
  };
  write('redis-server', `exec setpriv --pdeathsig KILL '${server.command}' "$@"`);
  write('redis-cli', `exec '${cli.command}' "$@"`);
  const command = write(
    'run-copy',
    `export PATH='${folder}':"$PATH" COPY_SETTINGS=redis.conf`,
    `REDIS_PORT=$(sed -n 's/^port //p' redis.conf)`,
    `LEAVE_WITHIN=$(cat '${join(folder, LEAVE_WITHIN)}')`,
    'export REDIS_PORT LEAVE_WITHIN',
    `exec sh '${RUN_COPY}' "$@"`,
  );
  const libraries = [server, cli].flatMap(({ libraryPath }) => libraryPath ?? []);
  return { ...server, command, ...(libraries.length > 0 && { libraryPath: libraries.join(delimiter) }) };
}

describe('a copy of the engine that is asked to stop', function () {
  this.timeout(240_000);
  const folder = mkdtempSync(join(tmpdir(), 'redbook-leaving-'));
  let stage: CopiesStage;
  let trading: CopiesTrading;

  before(async () => {
    const binary = await underScript(folder);
    leaveWithin(LEAVE_WITHIN_SECONDS);
    stage = await openCopiesStage({ more: () => ({ binary }) });
    trading = await CopiesTrading.start(stage);
    await trading.goesOn();
  });
  after(async () => {
    await trading?.stop();
    await stage?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Holds for servers that are started from here on. */
  const leaveWithin = (seconds: number): void => writeFileSync(join(folder, LEAVE_WITHIN), `${seconds}\n`);

  it('has another primary begin before it stops', async () => {
    const first = await trading.primary();
    await trading.serverOf(first).end();
    const { server, begunOn, members } = await stage.row();
    expect([server, begunOn]).not.to.include(first);
    expect(members).not.to.include(first);
    const told = stage.told.find((line) => line.includes('another primary of the engine is named'));
    expect(told).to.include('"why":"it is about to stop"');
    await trading.goesOn();
    await trading.serverOf(first).start();
    await trading.nothingIsLost();
  });

  it('has orders answered without it before it stops', async () => {
    const first = await trading.primary();
    const copy = await trading.replica();
    await trading.serverOf(copy).end();
    const { server, members } = await stage.row();
    expect(server).to.equal(first);
    expect(members).not.to.include(copy);
    await trading.goesOn();
    await trading.serverOf(copy).start();
    await trading.nothingIsLost();
  });

  it('stops as it is when its time is over, with nobody to take its place', async () => {
    const servers = [...stage.copies.servers.values()];
    leaveWithin(LEAVE_ALONE_SECONDS);
    for (const server of servers) {
      await server.kill();
      await server.start();
      await stage.whole();
    }
    await Promise.all(servers.map((server) => server.end()));
    await Promise.all(servers.map((server) => server.start()));
    await trading.nothingIsLost();
  });
});
