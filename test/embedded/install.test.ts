import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const SOURCES = fileURLToPath(new URL('../../src/embedded', import.meta.url));
const OTHER_CPU = process.arch === 'x64' ? 'arm64' : 'x64';

const LOCK = {
  'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
  'node_modules/for-tests': { version: '1.0.0', integrity: 'sha512-t', dev: true },
  'node_modules/here': { version: '1.0.0', optional: true, os: [process.platform], cpu: [process.arch] },
  'node_modules/elsewhere': { version: '1.0.0', optional: true, os: [process.platform], cpu: [OTHER_CPU] },
};
type Packages = Partial<Record<keyof typeof LOCK, { version: string; integrity?: string }>>;

/** In place of npm, which would go to the network: says what it was told, and installs the lock file or fails. */
const NPM = `
const fs = require('node:fs');
fs.appendFileSync('calls', process.argv.slice(2).join(' ') + '\\n');
if (fs.existsSync('broken')) { console.error('npm error code EBROKEN\\nnpm notice x'); process.exit(1); }
const { packages } = JSON.parse(fs.readFileSync('package-lock.json'));
delete packages['node_modules/elsewhere'];
fs.mkdirSync('node_modules', { recursive: true });
fs.writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages }));
`;

describe('the installation before a command', () => {
  let project: string;
  beforeEach(() => {
    project = mkdtempSync(join(tmpdir(), 'redbook-install-'));
    cpSync(SOURCES, join(project, 'src/embedded'), { recursive: true });
    writeFileSync(join(project, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...LOCK } }));
    writeFileSync(join(project, 'npm.cjs'), NPM);
  });
  afterEach(() => rmSync(project, { recursive: true, force: true }));

  /** With a Redis given, so that none is looked for. */
  const environment = (event: string): NodeJS.ProcessEnv => ({
    ...process.env,
    npm_execpath: join(project, 'npm.cjs'),
    npm_lifecycle_event: event,
    REDIS_URL: 'redis://redis.example',
  });
  const command = (): string => join(project, 'src/embedded/install.mjs');
  const install = (event = 'prestart'): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, [command()], { env: environment(event), encoding: 'utf8' });
  const calls = (): number =>
    existsSync(join(project, 'calls'))
      ? readFileSync(join(project, 'calls'), 'utf8').split('\n').length - 1
      : 0;
  const present = (packages: Packages): void => {
    mkdirSync(join(project, 'node_modules'), { recursive: true });
    writeFileSync(join(project, 'node_modules/.package-lock.json'), JSON.stringify({ packages }));
  };

  it('installs what the lock file says, once, and says so on stderr', () => {
    const first = install();
    expect(first).to.deep.include({ status: 0, stdout: '' });
    expect(first.stderr).to.match(/^Installing the packages.*\nThe packages are installed/);
    expect(readFileSync(join(project, 'calls'), 'utf8')).to.match(/^ci /);
    expect(install()).to.deep.include({ status: 0, stdout: '', stderr: '' });
    expect(calls()).to.equal(1);
  });

  const { 'node_modules/elsewhere': _, ...all } = LOCK;
  const { 'node_modules/a': __, ...withoutA } = all;
  const { 'node_modules/for-tests': ___, ...withoutTests } = all;
  const { 'node_modules/here': ____, ...withoutHere } = all;
  const cases: [string, Packages, string, number][] = [
    ['all there', all, 'pretest', 0],
    ['another version', { ...all, 'node_modules/a': { version: '1.0.1' } }, 'prestart', 1],
    [
      'another content',
      { ...all, 'node_modules/a': { version: '1.0.0', integrity: 'sha512-b' } },
      'prestart',
      1,
    ],
    ['one missing', withoutA, 'prestart', 1],
    ['what only tests need missing, at a start', withoutTests, 'prestart', 0],
    ['what only tests need missing, at a test', withoutTests, 'pretest', 1],
    ['the build for this machine missing', withoutHere, 'prestart', 1],
  ];
  for (const [state, packages, event, expected] of cases)
    it(`${expected ? 'installs' : 'leaves alone'}: ${state}`, () => {
      present(packages);
      expect(install(event).status).to.equal(0);
      expect(calls()).to.equal(expected);
    });

  it("fails with npm's reasons", () => {
    writeFileSync(join(project, 'broken'), '');
    const { status, stderr } = install();
    expect(status).to.equal(1);
    expect(stderr).to.contain('npm ci said:\n  npm error code EBROKEN').and.not.contain('notice');
  });

  it('runs once when two commands start at the same time, also after a third was killed', async () => {
    const dead = spawnSync(process.execPath, ['-e', '']).pid;
    mkdirSync(join(project, '.cache'));
    writeFileSync(join(project, '.cache/installing'), String(dead));
    const both = [1, 2].map(() => spawn(process.execPath, [command()], { env: environment('prestart') }));
    const codes = await Promise.all(
      both.map((child) => new Promise((resolve) => child.once('exit', resolve))),
    );
    expect(codes).to.deep.equal([0, 0]);
    expect(calls()).to.equal(1);
  });
});
