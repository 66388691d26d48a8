/** Proves that without Chromium `npm test` reports the skipped browser tests, and what `.ci/run` installs and runs. */

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAIN = [join(ROOT, 'test/browser/main.mjs')];
const LEFT_OUT = 'The browser tests were left out: no Chromium on PATH, and CHROME_BIN does not name one.\n';
/** Programs that `.ci/run` uses. */
const TOOLS = ['bash', 'cat', 'dirname', 'id', 'mktemp'];

describe('the browser tests without a Chromium', () => {
  const runMain = (environment: NodeJS.ProcessEnv) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, MAIN, {
      cwd: ROOT,
      encoding: 'utf8',
      env: { PATH: '/nowhere', ...environment },
    });
    return { status, said: stdout + stderr };
  };

  it('are left out with one line that says so', () => {
    expect(runMain({})).to.deep.equal({ status: 0, said: LEFT_OUT });
  });

  it('fail when REQUIRE_CHROMIUM is 1', () => {
    const failed = { status: 1, said: LEFT_OUT };
    expect(runMain({ REQUIRE_CHROMIUM: '1', CHROME_BIN: '/nowhere/chromium' })).to.deep.equal(failed);
  });
});

describe('.ci/run', () => {
  let folder: string;
  before(function () {
    if (process.getuid?.() !== 0) this.skip();
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'redbook-ci-'));
    mkdirSync(join(folder, 'bin'));
    for (const tool of TOOLS) {
      const path = spawnSync('/bin/sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).stdout.trim();
      symlinkSync(path, join(folder, 'bin', tool));
    }
    program('npm', 'echo "npm $* REQUIRE_CHROMIUM=$REQUIRE_CHROMIUM"');
    program('npx', 'echo "npx $*"');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function program(name: string, script: string): void {
    const path = join(folder, 'bin', name);
    writeFileSync(path, `#!/bin/bash\n${script}\n`);
    chmodSync(path, 0o755);
  }
  const runCi = () => {
    const { status, stdout, stderr } = spawnSync('bash', [join(ROOT, '.ci/run')], {
      encoding: 'utf8',
      env: { PATH: join(folder, 'bin') },
    });
    return { status, stdout, stderr };
  };
  const INSTALLING = "Installing Debian's package chromium for the browser tests.\n";
  const WHOLE = 'npm test REQUIRE_CHROMIUM=1\nnpm run -s proofs REQUIRE_CHROMIUM=1\n';
  const smokeOf = (version: number): string => `npx -y -p node@${version} -c node test/smoke.mjs\n`;
  const TESTS = WHOLE + smokeOf(22) + smokeOf(24);

  it('installs Chromium when it is missing, and then requires it', () => {
    program('apt-get', `echo "noise of $*"; echo "$*" >>${folder}/apt.log`);
    expect(runCi()).to.deep.equal({ status: 0, stdout: INSTALLING + TESTS, stderr: '' });
    const calls = readFileSync(join(folder, 'apt.log'), 'utf8').trim().split('\n');
    expect(calls).to.deep.equal(['update', 'install -y --no-install-recommends chromium']);
  });

  it('installs nothing when a Chromium is on PATH', () => {
    program('chromium', 'exit 0');
    program('apt-get', 'exit 9');
    expect(runCi()).to.deep.equal({ status: 0, stdout: TESTS, stderr: '' });
  });

  it('ends when the installation fails, and shows why', () => {
    program('apt-get', 'echo "no such package"; exit 100');
    expect(runCi()).to.deep.equal({ status: 1, stdout: INSTALLING, stderr: 'no such package\n' });
  });

  it('reports that the registry has no other Node', () => {
    program('chromium', 'exit 0');
    program('npx', '[[ $* != *node@22* ]] && echo "npx $*"');
    const said = "Nothing was tried under Node 22: npm's registry does not give node@22.\n";
    expect(runCi()).to.deep.equal({ status: 0, stdout: WHOLE + said + smokeOf(24), stderr: '' });
  });

  it('fails when a smoke test fails', () => {
    program('chromium', 'exit 0');
    program('npx', '[[ $* != *smoke* ]]');
    expect(runCi().status).to.equal(1);
  });

  it('fails when the tests fail', () => {
    program('chromium', 'exit 0');
    program('npm', 'exit 7');
    expect(runCi().status).to.equal(7);
  });
});
