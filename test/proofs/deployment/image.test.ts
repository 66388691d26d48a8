/** Tests the image: its files, and the compiled service in it. */

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { freePort } from '../../support/ports.ts';
import { NODE_FLAGS, ROOT } from '../../support/program.ts';
import { freshDatabase, freshRedis } from '../../support/servers.ts';
import { type Service, startService } from '../../support/service.ts';

const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
const sent = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('!'))
  .map((line) => line.slice(1));
/** Files of the image that come from the build stage. */
const built = [...dockerfile.matchAll(/^COPY --from=build (.*) \S+$/gm)].flatMap(([, paths]) =>
  paths!.split(' ').map((path) => path.replace('/redbook/', '')),
);

describe('the image', () => {
  it('is pinned, does not run as root and has a health check', () => {
    expect(dockerfile).to.match(/^ARG NODE=node:\d+\.\d+\.\d+-\w+-slim$/m);
    expect(dockerfile.match(/^FROM .*$/gm)).to.have.length(3);
    expect(dockerfile).to.not.match(/^FROM (?!\$\{NODE\})/m);
    expect(dockerfile)
      .to.match(/^USER 1000:1000$/m)
      .and.to.match(/^HEALTHCHECK .*\\\n.*\/livez/m);
  });

  it('runs Node with the flags of `npm start`', () => {
    const [, entry] = /^ENTRYPOINT (.*)$/m.exec(dockerfile)!;
    const flags = JSON.parse(entry!).filter((word: string) => word.startsWith('--'));
    expect(NODE_FLAGS).to.deep.equal(flags.filter((flag: string) => flag !== '--enable-source-maps'));
  });

  it('is readable by its user under any umask of the checkout', () => {
    const [, opened] = /chmod -R a\+rX (.*?) &&/.exec(dockerfile)!;
    expect(opened!.split(' ')).to.have.members(built);
  });

  it('copies the whole build context, and only that', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, paths]) =>
      paths!.split(' '),
    );
    expect([...new Set(copied)].sort()).to.deep.equal(sent.toSorted());
  });

  it('has the bundled page, and no package that only the page uses', () => {
    const { sources, packages } = JSON.parse(readFileSync(join(ROOT, 'dist/web/manifest.json'), 'utf8')) as {
      sources: string[];
      packages: string[];
    };
    expect(sources.filter((path) => !path.startsWith('src/'))).to.deep.equal([]);
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const server = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !/^(web|client)\//.test(path))
      .map((path) => readFileSync(join(ROOT, 'src', path), 'utf8'))
      .join('\n');
    const isUsed = (name: string): boolean => server.includes(`from '${name}`);
    for (const name of packages) {
      const isLeftOut = lock.packages[`node_modules/${name}`].dev === true;
      expect(isLeftOut, `${name} is ${isLeftOut ? 'left out' : 'kept'}`).to.equal(!isUsed(name));
    }
    for (const name of ['esbuild', 'tsx', '@typescript/native'])
      expect(lock.packages[`node_modules/${name}`].dev, name).to.equal(true);
  });
});

describe('the compiled service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-image-'));
  let service: Service | undefined;

  before(() => {
    const build = join(folder, 'build');
    for (const path of sent) cpSync(join(ROOT, path), join(build, path), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(build, 'node_modules'));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    // Reuses the existing bundle, which has the same sources.
    cpSync(join(ROOT, 'dist/web'), join(build, 'dist/web'), { recursive: true });
    const [, ...command] = /^RUN (npm run .*)$/m.exec(dockerfile)![1]!.split(' ');
    execFileSync('npm', command, { cwd: build, stdio: ['ignore', 'ignore', 'inherit'] });
    for (const path of built) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      renameSync(join(build, path), join(folder, path));
    }
    rmSync(build, { recursive: true });
  });
  after(async () => {
    await service?.end('SIGKILL');
    rmSync(folder, { recursive: true });
  });

  /** Runs node with the environment of a container without settings. */
  const run = (args: string[], settings: Record<string, string> = {}) =>
    spawnSync(process.execPath, args, { env: { PATH: process.env.PATH, ...settings }, encoding: 'utf8' });
  const REDBOOK = 'src/redbook.mjs';

  it('serves the API and the page, on a database that it has migrated', async () => {
    const settings = {
      PORT: String(await freePort()),
      WEB_HOSTS: 'exchange.example',
      JWT_SECRET: 's'.repeat(32),
      REDIS_URL: await freshRedis(),
      DATABASE_URL: await freshDatabase(),
    };
    service = await startService('api', settings, folder);
    const typeOf = async (path: string): Promise<string | null> =>
      (await fetch(service!.url + path)).headers.get('content-type');
    expect(await typeOf('/v1/markets')).to.match(/^application\/json/);
    expect(await typeOf('/')).to.match(/^text\/html/);
    expect(await typeOf('/web/main.js')).to.match(/^text\/javascript/);
    expect(await typeOf('/docs')).to.match(/^text\/html/);
  });

  it('has the command `redbook`', () => {
    const { status, stdout } = run([join(folder, REDBOOK), 'ledger', '--help']);
    expect(status).to.equal(0);
    expect(stdout).to.match(/^Usage: redbook ledger /);
  });

  it('has the same command as a checkout, which runs its sources', () => {
    const results = [folder, ROOT].map((home) => run([join(home, REDBOOK), 'api'], { PORT: 'none' }));
    const [compiled, checkout] = results.map(({ status, stderr }) => ({ status, stderr }));
    expect(compiled!.stderr).to.match(/^PORT .*\n$/);
    expect(checkout).to.deep.equal(compiled);
  });

  it('reports in one sentence that it cannot start its own servers', () => {
    const { status, stdout, stderr } = run([join(folder, REDBOOK), 'all']);
    expect([status, stdout]).to.deep.equal([2, '']);
    expect(stderr).to.match(/^The role all runs a Redis and a Postgres of its own, .*\n$/);
  });

  it('names lines of the sources in stack traces', () => {
    const compiled = pathToFileURL(join(folder, 'dist/src/redis/lua.js')).href;
    const script = `import { loadScript } from '${compiled}'; loadScript('none')`;
    const { stderr } = run(['--enable-source-maps', '--input-type=module', '--eval', script]);
    const [, line] = /src\/redis\/lua\.ts:(\d+):\d+\)/.exec(stderr) ?? [];
    const source = readFileSync(join(ROOT, 'src/redis/lua.ts'), 'utf8').split('\n')[Number(line) - 1];
    expect(source).to.include('readFileSync(');
  });
});

describe('the probe', () => {
  const statuses: Readonly<Record<string, number>> = { '/livez': 200, '/readyz': 503 };
  const server = createServer((request, response) => {
    response.statusCode = statuses[request.url!] ?? 404;
    response.end('{}');
  });
  before((done) => void server.listen(0, '127.0.0.1', done));
  after(() => server.close());

  const probe = async (path: string, port: number): Promise<number | null> => {
    const child = spawn('bash', [join(ROOT, 'k8s/shared/probe.sh'), path], { env: { PORT: String(port) } });
    return new Promise((resolve) => child.once('close', resolve));
  };

  it('succeeds if the path answers 200, and fails otherwise', async () => {
    const { port } = server.address() as AddressInfo;
    expect(await probe('/livez', port)).to.equal(0);
    expect(await probe('/readyz', port)).to.equal(1);
    expect(await probe('/livez', await freePort())).to.equal(1);
  });
});
