/** Proves that the log of the all-in-one is bounded, private, complete when the process ends, and shows the last hour. */

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { pino } from 'pino';
import { makeDataFolder } from '../../src/embedded/run/data-folder.ts';
import { openLogFile } from '../../src/roles/log-file.ts';
import { eventually } from '../support/eventually.ts';

const MODULE = fileURLToPath(new URL('../../src/roles/log-file.ts', import.meta.url));
const FILE_BYTES = 100_000;
const HOUR_MS = 3_600_000;
/** Maximum bytes by which one write may exceed the bound of a file. */
const ONE_WRITE = 40_000;

describe('the log of the all-in-one', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'redbook log-'));
    path = join(folder, 'redbook.log');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const sizes = (): number[] => readdirSync(folder).map((name) => statSync(join(folder, name)).size);
  /** All lines, the oldest first. */
  const lines = () =>
    ['.4', '.3', '.2', '.1', '']
      .map((ending) => `${path}${ending}`)
      .filter((name) => existsSync(name))
      .flatMap((name) => readFileSync(name, 'utf8').trimEnd().split('\n'))
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  const ended = async (file: ReturnType<typeof openLogFile>): Promise<void> => {
    file.end();
    await new Promise((resolve) => file.once('close', resolve));
  };
  const modes = (): number[] => readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o777);

  it('is kept in five private files of a bounded size, over restarts', async () => {
    let hours = 0;
    const nowMs = (): number => {
      hours += 1;
      return Date.now() + hours * HOUR_MS;
    };
    for (let start = 0; start < 3; start += 1) {
      const file = openLogFile(path, { fileBytes: FILE_BYTES, nowMs });
      const logger = pino(file);
      for (let line = 0; line < 6_000; line += 1) {
        logger.info({ start, line }, 'a line of some length, as there are many');
        if (line % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      await eventually('the last line is there', async () =>
        readdirSync(folder).some((name) =>
          readFileSync(join(folder, name), 'utf8').includes(`"start":${start},"line":5999,`),
        ),
      );
      await ended(file);
    }
    const names = ['', '.1', '.2', '.3', '.4'].map((ending) => `redbook.log${ending}`);
    expect(readdirSync(folder).sort()).to.deep.equal(names);
    for (const size of sizes()) expect(size).to.be.at.most(FILE_BYTES + ONE_WRITE);
    expect(new Set(modes())).to.deep.equal(new Set([0o600]));
    const counts = lines().map(({ start, line }) => start * 6_000 + line);
    expect(counts.at(-1)).to.equal(17_999);
    expect(counts).to.deep.equal(counts.map((_count, at) => counts[0] + at));
  });

  it('makes a file private that was not, and rotates a full one', async () => {
    writeFileSync(path, `${'x'.repeat(FILE_BYTES)}\n`, { mode: 0o644 });
    const file = openLogFile(path, { fileBytes: FILE_BYTES });
    pino(file).info('first of the new file');
    await eventually('it is written', async () => sizes().length === 2);
    expect(modes()).to.deep.equal([0o600, 0o600]);
    expect(statSync(`${path}.1`).size).to.equal(FILE_BYTES + 1);
    file.end();
  });

  it('shows the last hour beside lines without end, and counts what it left out', async () => {
    let atMs = 0;
    const file = openLogFile(path, { fileBytes: FILE_BYTES, nowMs: () => atMs });
    const logger = pino(file);
    for (let sent = 0; atMs < 3 * HOUR_MS; atMs += 1_000) {
      for (let line = 0; line < 4; line += 1)
        logger.info({ atMs }, 'a line of some length, as there are many');
      sent += 1;
      if (sent % 20 === 0) await new Promise(setImmediate);
      if (sent % 600 !== 0) continue;
      const shown = lines().flatMap((line) => line.atMs ?? []);
      expect(shown[0], 'the oldest line').to.be.at.most(Math.max(0, atMs - HOUR_MS));
      const gaps = shown.slice(1).map((at, before) => at - shown[before]);
      expect(Math.max(...gaps), 'the longest time without a line').to.be.below(HOUR_MS / 30);
    }
    await ended(file);
    const counted = lines().filter(({ count }) => count > 0);
    expect(counted.length).to.be.within(30, 3 * 60);
    for (const { msg, level } of counted)
      expect([msg, level]).to.deep.equal(['lines were left out, so that the log shows the last hour', 40]);
  });

  it('keeps its first line over restarts that each write without end', async () => {
    for (let start = 0; start < 10; start += 1) {
      const file = openLogFile(path, { fileBytes: FILE_BYTES });
      const logger = pino(file);
      for (let line = 0; line < 2_000; line += 1) {
        logger.info({ start, line }, 'a line of some length, as there are many');
        if (line % 50 === 0) await new Promise(setImmediate);
      }
      await ended(file);
    }
    expect(lines()[0]).to.include({ start: 0, line: 0 });
  });

  it('has the last lines of a process that ends at once', () => {
    const source = `import { pino } from 'pino'; import { openLogFile } from ${JSON.stringify(MODULE)};
      const logger = pino(openLogFile(${JSON.stringify(path)}));
      setTimeout(() => { for (let line = 0; line < 100; line += 1) logger.info({ line }, 'last'); process.exit(3); }, 100);`;
    expect(() =>
      execFileSync(process.execPath, ['--import=tsx', '--input-type=module', '-e', source], {
        stdio: 'pipe',
      }),
    ).to.throw();
    expect(readFileSync(path, 'utf8').trimEnd().split('\n')).to.have.length(100);
  });

  it('is in a folder that nobody else may list, if the folder is ours', () => {
    const others = 0o066;
    const made = join(folder, 'a', 'data');
    makeDataFolder(made);
    expect(statSync(made).mode & others).to.equal(0);
    const ours = join(folder, 'ours');
    const foreign = join(folder, 'foreign');
    for (const one of [ours, foreign]) {
      mkdirSync(one);
      chmodSync(one, 0o755);
    }
    writeFileSync(join(ours, 'secrets.json'), '{}');
    for (const one of [ours, foreign]) makeDataFolder(one);
    expect(statSync(ours).mode & others).to.equal(0);
    expect(statSync(foreign).mode & 0o777).to.equal(0o755);
  });
});
