/** docker-compose.yml and the Dockerfile: as consistent with the code as can be told without a container engine. */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { CONFIG_TABLE, type Role, readConfig, requireFor, SECRET_NAMES } from '../../src/config.ts';
import { serverEnvironment } from '../../src/embedded/server-environment.mjs';
import { obtainHaproxy } from '../support/haproxy-binary.ts';
import { readYaml } from './kustomize.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SETTINGS = new Set([
  ...CONFIG_TABLE.map(({ name }) => name),
  ...SECRET_NAMES.map((name) => `${name}_FILE`),
]);

interface Service {
  image: string;
  build?: string;
  user?: string;
  entrypoint?: string[];
  command?: string[];
  environment?: Record<string, string>;
  deploy?: { replicas: number };
  depends_on?: Record<string, { condition: string }>;
  healthcheck: { test?: string[]; disable?: boolean };
  volumes?: string[];
  stop_grace_period?: string;
  read_only?: boolean;
  cap_drop?: string[];
  profiles?: string[];
}

const [compose] = readYaml(join(ROOT, 'docker-compose.yml')) as [
  { services: Record<string, Service>; volumes: Record<string, unknown> },
];
const services = Object.entries(compose.services);
const processes = services.filter(
  ([name, { image }]) => image.startsWith('redbook:') && !['keys', 'operator'].includes(name),
);

/** `${NAME:-default}` as Compose puts it in when nothing is set. */
const interpolated = (text: string): string => text.replace(/\$\{\w+:-([^}]*)\}/g, '$1');

/** Runs what the service that makes the keys runs, on a folder in place of its volumes. */
function makeKeys(folder: string): void {
  const { entrypoint = [], command = [], volumes = [] } = compose.services.keys!;
  const mounted = volumes.map((volume) => volume.split(':') as [string, string]);
  const paths = [...entrypoint.slice(1), ...command].map((path) => {
    const [source] = mounted.find(([, target]) => target === path) ?? [];
    return source === undefined ? path.replace('/keys', folder) : join(ROOT, source);
  });
  execFileSync(process.execPath, paths);
}

describe('docker-compose.yml', () => {
  const keys = mkdtempSync(join(tmpdir(), 'redbook-keys-'));
  before(() => makeKeys(keys));
  after(() => rmSync(keys, { recursive: true, force: true }));

  it('has the whole cluster', () => {
    const replicas = Object.fromEntries(processes.map(([name, { deploy }]) => [name, deploy?.replicas ?? 1]));
    expect(replicas).to.deep.equal({ migrate: 1, api: 2, stream: 2, settlement: 1, snapshot: 1 });
    for (const [name, { command }] of processes) expect(command).to.deep.equal([name]);
    const others = services.map(([name]) => name).filter((name) => !(name in replicas));
    expect(others).to.have.members([
      'keys',
      'operator',
      'redis',
      'postgres',
      'balancer',
      'prometheus',
      'grafana',
    ]);
  });

  it('gives each process what its role requires, from files that are made', () => {
    for (const [role, { environment = {} }] of processes) {
      expect(
        Object.keys(environment).filter((name) => !SETTINGS.has(name)),
        role,
      ).to.deep.equal([]);
      const env = Object.fromEntries(
        Object.entries(environment).map(([name, value]) => [
          name,
          interpolated(value).replace('/run/secrets', join(keys, role)),
        ]),
      );
      requireFor(role as Role, readConfig(env));
    }
  });

  it('makes the keys once, and each server sees its own only', () => {
    const read = (): string[] =>
      readdirSync(keys, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => `${entry.name} ${readFileSync(join(entry.parentPath, entry.name), 'utf8')}`);
    const before = read();
    makeKeys(keys);
    expect(read()).to.deep.equal(before);
    const mounted = services
      .filter(([name]) => name !== 'keys')
      .map(([name, { volumes = [] }]) => [name, volumes.filter((volume) => /-keys:/.test(volume))]);
    for (const [name, volumes] of mounted)
      expect(volumes, String(name)).to.have.length(['balancer', 'prometheus'].includes(String(name)) ? 0 : 1);
    for (const name of [...processes.map(([role]) => role), 'operator', 'redis', 'postgres', 'grafana'])
      expect(compose.services[name]!.volumes).to.include(`${name}-keys:/run/secrets:ro`);
    expect(compose.services.keys!.volumes).to.include.members(
      readdirSync(keys).map((name) => `${name}-keys:/keys/${name}`),
    );
  });

  it('pins every image, and asks every server for its health', () => {
    for (const [name, { image, healthcheck }] of services) {
      expect(image, name).to.match(/:v?\d+\.\d+(\.\d+)?(-\w+)?$/);
      expect(healthcheck.disable === true || healthcheck.test !== undefined, name).to.equal(true);
    }
  });

  it('checks health by programs whose text is whole', () => {
    for (const [, { healthcheck }] of services)
      for (const word of healthcheck.test ?? []) expect(word).to.be.a('string');
    const [, , , script] = compose.services.api!.healthcheck.test!;
    expect(spawnSync(process.execPath, ['--check', '-'], { input: script }).status).to.equal(0);
  });

  it('takes privileges away from everything but Postgres, which its image drops itself', () => {
    for (const [name, { read_only, cap_drop }] of services)
      if (name !== 'postgres')
        expect({ read_only, cap_drop }, name).to.deep.equal({ read_only: true, cap_drop: ['ALL'] });
  });

  it('leaves a process more time to end than DRAIN_MS and a batch take', () => {
    const { drainMs } = readConfig({});
    for (const [, { stop_grace_period = '10s' }] of processes)
      expect(Number.parseInt(stop_grace_period, 10) * 1_000).to.be.at.least(drainMs + 10_000);
  });

  it('mounts files that are there, and volumes that are declared', () => {
    const sources = services.flatMap(([, { volumes = [] }]) =>
      volumes.map((volume) => volume.split(':')[0]!),
    );
    for (const source of sources) {
      if (source.startsWith('./')) expect(existsSync(join(ROOT, source)), source).to.equal(true);
      else expect(compose.volumes).to.have.property(source);
    }
  });

  it('waits for what a service needs, in no circle', () => {
    const visit = (name: string, path: readonly string[]): void => {
      expect(path).to.not.include(name);
      for (const next of Object.keys(compose.services[name]!.depends_on ?? {})) visit(next, [...path, name]);
    };
    for (const [name] of services) visit(name, []);
    for (const [, { depends_on = {} }] of services)
      for (const [name, { condition }] of Object.entries(depends_on)) {
        const ends = ['keys', 'migrate'].includes(name);
        expect(condition).to.equal(ends ? 'service_completed_successfully' : 'service_healthy');
      }
  });
});

describe('the balancer', () => {
  const text = readFileSync(join(ROOT, 'docs/cluster/haproxy.cfg'), 'utf8');

  it('serves the replicas of Compose on the published port, and hides what is not for clients', () => {
    expect(text).to.include('bind :8080').and.to.include('api:8080').and.to.include('stream:8080');
    expect(text).to.match(/deny .*\{ path \/metrics \/livez \/readyz \}/);
  });

  it('believes no forwarding header but its own, and never sends a request twice', () => {
    expect(text).to.match(/del-header x-forwarded-for[\s\S]*option forwardfor/);
    expect(text).to.not.include('retry-on');
    expect(compose.services.api!.environment).to.include({ TRUST_PROXY_HOPS: '1' });
    expect(compose.services.stream!.environment).to.include({ TRUST_PROXY_HOPS: '1' });
  });

  it('is valid by haproxy itself (where it can be had)', async function () {
    const haproxy = await obtainHaproxy().catch((error: Error) => {
      console.log(`      ${error.message}`);
      return this.skip();
    });
    const checked = spawnSync(haproxy.command, ['-c', '-f', join(ROOT, 'docs/cluster/haproxy.cfg')], {
      env: serverEnvironment(haproxy.libraryPath),
    });
    expect(checked.status, String(checked.stderr)).to.equal(0);
  });
});

describe('the image', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8');

  it('is pinned, does not run as root and says how it is', () => {
    expect(dockerfile).to.match(/^ARG NODE=node:\d+\.\d+\.\d+-\w+-slim$/m);
    expect(dockerfile.match(/^FROM .*$/gm)).to.have.length(2);
    expect(dockerfile).to.not.match(/^FROM (?!\$\{NODE\})/m);
    expect(dockerfile)
      .to.match(/^USER 1000:1000$/m)
      .and.to.match(/^HEALTHCHECK .*\\\n.*\/livez/m);
  });

  it('copies what is sent to be built, and only that', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, paths]) =>
      paths!.split(' '),
    );
    const sent = ignored
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    expect([...new Set(copied)].sort()).to.deep.equal(sent.sort());
  });

  it('runs sources that Node 22.18 and newer run without a translator', () => {
    const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8'));
    expect(compilerOptions).to.include({ erasableSyntaxOnly: true, verbatimModuleSyntax: true });
    expect(dockerfile).to.include('ENTRYPOINT ["node", "--max-semi-space-size=32", "src/main.ts"]');
  });
});
