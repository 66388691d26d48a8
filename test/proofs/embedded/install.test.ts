/**
 * Proves that the installation before a command installs packages and bundles the page if they are missing or out of
 * date.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const OTHER_CPU = process.arch === 'x64' ? 'arm64' : 'x64';

const LOCK = {
  'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
  'node_modules/for-development': { version: '1.0.0', integrity: 'sha512-t', dev: true },
  'node_modules/here': { version: '1.0.0', optional: true, os: [process.platform], cpu: [process.arch] },
  'node_modules/elsewhere': { version: '1.0.0', optional: true, os: [process.platform], cpu: [OTHER_CPU] },
};
type Packages = Partial<Record<keyof typeof LOCK, { version: string; integrity?: string }>>;

/** Replaces npm, which would use the network: records its arguments, and installs the lock file or fails. */
const NPM = `
const fs = require('node:fs');
fs.appendFileSync('calls', process.argv.slice(2).join(' ') + '\\n');
if (fs.existsSync('broken')) { console.error('npm error code EBROKEN\\nnpm notice x'); process.exit(1); }
const { packages } = JSON.parse(fs.readFileSync('package-lock.json'));
delete packages['node_modules/elsewhere'];
fs.mkdirSync('node_modules', { recursive: true });
fs.writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages }));
`;

/** Ends with the code of its first argument, or with 10 and the number of the signal that it waits for. */
const PROGRAM = `
const [first, ...rest]: string[] = process.argv.slice(2);
if (first === 'wait') {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, (_, number) => process.exit(10 + number));
  setInterval(() => undefined, 1_000);
} else process.exitCode = Number(first);
console.log(process.pid, first, ...rest);
`;

/** A page of three files, one of them loaded on demand, and the desk. */
const PAGE = {
  'main.tsx': "import './part.ts'; import('./later.ts').then(({ later }) => later());",
  'part.ts': 'document.title = "part";',
  'later.ts': 'export const later = (): void => console.log("later");',
  'style.css': 'body { margin: 0 }',
  'app.webmanifest': '{}',
  'icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'desk/desk.tsx': 'document.title = "desk";',
  'desk/desk.css': 'body { margin: 1px }',
};

describe('the installation before a command', () => {
  let project: string;
  beforeEach(() => {
    project = mkdtempSync(join(tmpdir(), 'redbook-install-'));
    for (const path of ['src/embedded', 'src/web/bundle.mjs'])
      cpSync(join(ROOT, path), join(project, path), { recursive: true });
    mkdirSync(join(project, 'src/web/desk'));
    for (const [name, text] of Object.entries(PAGE)) writeFileSync(join(project, 'src/web', name), text);
    mkdirSync(join(project, 'node_modules'));
    for (const name of ['esbuild', '@esbuild', 'tsx'])
      symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name));
    writeFileSync(join(project, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...LOCK } }));
    writeFileSync(join(project, 'npm.cjs'), NPM);
  });
  afterEach(() => rmSync(project, { recursive: true, force: true }));

  /** With an external Redis, so that none is searched for. */
  const environment = (): NodeJS.ProcessEnv => ({
    ...process.env,
    npm_execpath: join(project, 'npm.cjs'),
    REDIS_URL: 'redis://redis.example',
  });
  const command = (): string => join(project, 'src/embedded/launch.mjs');
  const run = (...flags: string[]) =>
    spawnSync(process.execPath, [command(), ...flags], { env: environment(), encoding: 'utf8' });
  /** Installs the packages only. */
  const install = () => run('--quiet');
  /** Installs the packages and bundles the page. */
  const prepare = () => run();
  const atOnce = (count: number, ...flags: string[]): Promise<unknown[]> =>
    Promise.all(
      Array.from({ length: count }, () => {
        const child = spawn(process.execPath, [command(), ...flags], { env: environment() });
        return new Promise((resolve) => child.once('exit', resolve));
      }),
    );
  const calls = (): number =>
    existsSync(join(project, 'calls'))
      ? readFileSync(join(project, 'calls'), 'utf8').split('\n').length - 1
      : 0;
  const present = (packages: Packages): void => {
    mkdirSync(join(project, 'node_modules'), { recursive: true });
    writeFileSync(join(project, 'node_modules/.package-lock.json'), JSON.stringify({ packages }));
  };

  it('installs the packages of the lock file once, and says so on stderr', () => {
    const first = install();
    expect(first).to.deep.include({ status: 0, stdout: '' });
    expect(first.stderr).to.match(/^Installing the packages.*\nThe packages are installed/);
    expect(readFileSync(join(project, 'calls'), 'utf8')).to.match(/^ci /);
    expect(install()).to.deep.include({ status: 0, stdout: '', stderr: '' });
    expect(calls()).to.equal(1);
  });

  const { 'node_modules/elsewhere': _, ...all } = LOCK;
  const { 'node_modules/a': __, ...withoutA } = all;
  const { 'node_modules/for-development': ___, ...withoutTools } = all;
  const { 'node_modules/here': ____, ...withoutHere } = all;
  const cases: [string, Packages, number][] = [
    ['all there', all, 0],
    ['another version', { ...all, 'node_modules/a': { version: '1.0.1' } }, 1],
    ['another content', { ...all, 'node_modules/a': { version: '1.0.0', integrity: 'sha512-b' } }, 1],
    ['one missing', withoutA, 1],
    ['a package for development missing', withoutTools, 1],
    ['the build for this machine missing', withoutHere, 1],
  ];
  for (const [state, packages, expected] of cases)
    it(`${expected ? 'installs' : 'leaves alone'}: ${state}`, () => {
      present(packages);
      expect(install().status).to.equal(0);
      expect(calls()).to.equal(expected);
    });

  it('fails with the reasons of npm', () => {
    writeFileSync(join(project, 'broken'), '');
    const { status, stderr } = install();
    expect(status).to.equal(1);
    expect(stderr).to.contain('npm ci said:\n  npm error code EBROKEN').and.not.contain('notice');
  });

  it('runs once when two commands start at the same time, also after a third was killed', async () => {
    const dead = spawnSync(process.execPath, ['-e', '']).pid;
    mkdirSync(join(project, '.cache'));
    writeFileSync(join(project, '.cache/installing'), String(dead));
    expect(await atOnce(2, '--quiet')).to.deep.equal([0, 0]);
    expect(calls()).to.equal(1);
  });

  /** Launches a program that prints its process and its arguments, and waits for a signal if the first says so. */
  const launched = (...args: string[]) => {
    writeFileSync(join(project, 'program.ts'), PROGRAM);
    return spawn(process.execPath, [command(), '--quiet', 'program.ts', ...args], { env: environment() });
  };
  const ending = (child: ChildProcess) =>
    new Promise((resolve) => child.once('close', (code, signal) => resolve([code, signal])));

  it('runs the file after the installation, and exits with its code', async () => {
    const child = launched('7', '--page');
    child.stdout.setEncoding('utf8').on('data', (text) => expect(text).to.equal(`${child.pid} 7 --page\n`));
    expect(await ending(child)).to.deep.equal([7, null]);
    expect(calls()).to.equal(1);
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    it(`passes ${signal} to the file`, async () => {
      present(all);
      const child = launched('wait');
      child.stdout.once('data', () => child.kill(signal));
      expect(await ending(child)).to.deep.equal([signal === 'SIGINT' ? 12 : 25, null]);
    });

  it('does not run the file when the installation fails', async () => {
    writeFileSync(join(project, 'broken'), '');
    const child = launched('0');
    child.stdout.once('data', () => expect.fail('the file ran'));
    expect(await ending(child)).to.deep.equal([1, null]);
  });

  const bundled = (name: string): string => readFileSync(join(project, 'dist/web', name), 'utf8');
  const bundledFiles = (): string[] => readdirSync(join(project, 'dist/web')).sort();
  const source = (name: string, text: string): void => writeFileSync(join(project, 'src/web', name), text);

  it('bundles the page once, and again when a source has changed or a file is missing', () => {
    present(all);
    expect(prepare()).to.deep.include({ status: 0, stdout: '', stderr: '' });
    expect(bundledFiles()).to.deep.equal([
      'app.webmanifest',
      'desk.css',
      'desk.js',
      'icon.svg',
      'later.js',
      'main.js',
      'manifest.json',
      'notice.txt',
      'style.css',
    ]);
    const main = bundled('main.js');
    const manifest = bundled('manifest.json');
    const { files } = JSON.parse(manifest);
    expect(main).to.include(`import("./later.js?v=${files['later.js']}")`);
    writeFileSync(join(project, 'dist/web/main.js'), 'kept');
    expect(prepare().status).to.equal(0);
    expect(bundled('main.js')).to.equal('kept');
    source('later.ts', 'export const later = (): void => console.log("changed");');
    expect(prepare().status).to.equal(0);
    expect(bundled('later.js')).to.include('changed');
    expect(bundled('main.js')).to.not.equal(main);
    source('later.ts', PAGE['later.ts']);
    rmSync(join(project, 'dist/web/style.css'));
    expect(prepare().status).to.equal(0);
    expect([bundled('main.js'), bundled('manifest.json')]).to.deep.equal([main, manifest]);
    expect(bundledFiles()).to.have.length(9);
  });

  it('bundles no page for commands that use a running service', () => {
    present(all);
    expect(install().status).to.equal(0);
    expect(existsSync(join(project, 'dist'))).to.equal(false);
    expect(run('--quiet', '--page').status).to.equal(0);
    expect(bundledFiles()).to.include('main.js');
  });

  it('rejects a dynamic import that shares a module with the page, and a page with an error', () => {
    present(all);
    source('later.ts', "import './part.ts'; export const later = (): void => undefined;");
    const shared = prepare();
    expect(shared.status).to.equal(1);
    expect(shared.stderr).to.match(/part\.ts is part of main\.js and of later\.js/);
    source('later.ts', 'export const later = (;');
    const wrong = prepare();
    expect([wrong.status, bundledFiles()]).to.deep.equal([1, []]);
    expect(wrong.stderr).to.match(/cannot be bundled[\s\S]*later\.ts:1:/);
  });

  it('bundles the same files for commands that start at the same time', async () => {
    present(all);
    const four = [1, 2, 3, 4].map(() => spawn(process.execPath, [command()], { env: environment() }));
    const codes = await Promise.all(
      four.map((child) => new Promise((resolve) => child.once('exit', resolve))),
    );
    expect(codes).to.deep.equal([0, 0, 0, 0]);
    expect(readdirSync(join(project, 'dist'))).to.deep.equal(['web']);
    expect(bundledFiles()).to.have.length(9);
  });

  const NOBODY = 65_534;
  const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  it('keeps a bundle that it cannot write, and says so only when it is out of date', function () {
    if (spawnSync(process.execPath, ['-e', ''], asNobody).status !== 0) this.skip();
    present(all);
    prepare();
    const closed = (mode: number): void => {
      for (const folder of ['dist/web', 'dist', '.']) chmodSync(join(project, folder), mode);
    };
    const asUser = () =>
      spawnSync(process.execPath, [command()], {
        env: environment(),
        encoding: 'utf8',
        ...asNobody,
      });
    closed(0o555);
    try {
      expect(asUser()).to.deep.include({ status: 0, stderr: '' });
      source('part.ts', 'document.title = "newer";');
      const { status, stderr } = asUser();
      expect(status).to.equal(0);
      expect(stderr).to.match(/page is not up to date: .*dist\/web cannot be written \(EACCES\)/);
    } finally {
      closed(0o755);
    }
    expect(bundled('main.js')).to.include('part');
  });
});
