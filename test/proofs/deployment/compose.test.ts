/**
 * Checks that docker-compose.yml and the Dockerfile are consistent with the code, as far as possible without a
 * container engine.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { CONFIG_TABLE, type Role, readConfig, requireFor, SECRET_NAMES } from '../../../src/config.ts';
import { ERRORS, type ErrorCode } from '../../../src/domain/errors.ts';
import type { Program } from '../../../src/embedded/obtain/program.mjs';
import { serverEnvironment } from '../../../src/embedded/obtain/server-environment.mjs';
import { BYTES_PER_ID, DEFAULT_FILTER_BYTES } from '../../../src/engine/filter-layout.ts';
import { obtainHaproxy } from '../../support/haproxy-binary.ts';
import { freePort } from '../../support/ports.ts';
import { words } from '../../support/words.ts';
import { repliesUnder } from './balancer-replies.ts';
import { writeSettings } from './compose-settings.ts';
import { readYaml } from './kustomize.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SETTINGS = new Set([
  ...CONFIG_TABLE.map(({ name }) => name),
  ...SECRET_NAMES.map((name) => `${name}_FILE`),
]);

interface Service {
  image: string;
  build?: string;
  pull_policy?: string;
  user?: string;
  entrypoint?: string[];
  command?: string[];
  /** Null if Compose passes the variable through. */
  environment?: Record<string, string | null>;
  deploy?: { replicas: number };
  depends_on?: Record<string, { condition: string }>;
  restart: string;
  networks?: string[];
  healthcheck: { test?: string[]; disable?: boolean };
  volumes?: string[];
  stop_grace_period?: string;
  read_only?: boolean;
  cap_drop?: string[];
  cap_add?: string[];
  stop_signal?: string;
  profiles?: string[];
}

/** `${NAME:-default}` as Compose substitutes it if no variable is set. */
const interpolated = (text: string): string => text.replace(/\$\{\w+:-([^}]*)\}/g, '$1');

const isOurs = (image: string): boolean => interpolated(image).startsWith('redbook:');

const [compose] = readYaml(join(ROOT, 'docker-compose.yml')) as [
  { services: Record<string, Service>; volumes: Record<string, unknown> },
];
const services = Object.entries(compose.services);
const processes = services.filter(
  ([name, { image }]) =>
    isOurs(image) && !['settings', 'keys', 'operator', 'checkpoint', 'doctor'].includes(name),
);

/** They end by themselves. `up --wait` with such a name alone ends with 1, because it waits for a running container. */
const ENDING = ['settings', 'keys', 'users', 'postgres-users', 'migrate'];

/** Runs the command of the service that makes the keys, with a folder instead of its volumes. */
function makeKeys(folder: string, ...options: string[]): void {
  const [, script, keys] = compose.services.keys!.entrypoint as [string, string, string];
  expect(keys).to.equal('/keys');
  execFileSync(process.execPath, [script.replace('/settings', join(ROOT, 'k8s/shared')), folder, ...options]);
}

describe('docker-compose.yml', () => {
  const keys = mkdtempSync(join(tmpdir(), 'redbook-keys-'));
  before(() => makeKeys(keys));
  after(() => rmSync(keys, { recursive: true, force: true }));

  it('has the whole cluster', () => {
    const replicas = Object.fromEntries(processes.map(([name, { deploy }]) => [name, deploy?.replicas ?? 1]));
    expect(replicas).to.deep.equal({
      migrate: 1,
      api: 2,
      stream: 2,
      settlement: 1,
      snapshot: 1,
      'operator-api': 1,
    });
    for (const [name, { command }] of processes) expect(command![0]).to.equal(name);
    const others = services.map(([name]) => name).filter((name) => !(name in replicas));
    expect(others).to.have.members([
      'settings',
      'keys',
      'operator',
      'checkpoint',
      'doctor',
      'redis',
      'users',
      'admin',
      'backup-engine',
      'postgres',
      'postgres-users',
      'balancer',
      'prometheus',
      'alertmanager',
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
          interpolated(value ?? '').replace('/run/secrets', join(keys, role)),
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
      .filter(([name]) => !['settings', 'keys', 'doctor'].includes(name))
      .map(([name, { volumes = [] }]) => [name, volumes.filter((volume) => /-keys:/.test(volume))]);
    for (const [name, volumes] of mounted)
      expect(volumes, String(name)).to.have.length(
        ['balancer', 'prometheus', 'alertmanager'].includes(String(name)) ? 0 : 1,
      );
    const examined = [...processes.map(([role]) => role), 'operator'];
    expect(compose.services.doctor!.volumes).to.have.members(
      examined.map((role) => `${role}-keys:/keys/${role}:ro`),
    );
    expect(compose.services.checkpoint!.volumes).to.include('operator-keys:/run/secrets:ro');
    expect(compose.services.users!.volumes).to.include('admin-keys:/run/secrets:ro');
    expect(compose.services['backup-engine']!.volumes).to.include('backup-keys:/run/secrets:ro');
    for (const name of [
      ...processes.map(([role]) => role),
      'operator',
      'admin',
      'redis',
      'postgres',
      'grafana',
    ])
      expect(compose.services[name]!.volumes).to.include(`${name}-keys:/run/secrets:ro`);
    expect(compose.services.keys!.volumes).to.include.members(
      readdirSync(keys).map((name) => `${name}-keys:/keys/${name}`),
    );
  });

  describe('docker-compose.ha.yml', () => {
    const [ha] = readYaml(join(ROOT, 'docker-compose.ha.yml')) as [typeof compose];
    const copies = Object.keys(ha.services).filter((name) =>
      ha.services[name]!.command?.includes('--include'),
    );

    it('runs copies as docker-compose.yml runs the engine, each with its own name and disk', () => {
      expect(copies).to.deep.equal(['redis', 'redis-1', 'redis-2']);
      const { command: own, entrypoint: _, volumes: ofEngine, ...engine } = compose.services.redis!;
      for (const name of copies) {
        const { command, entrypoint, volumes, ...copy } = { ...ha.services[name]! };
        expect(command).to.deep.equal([
          ...own!,
          '--include',
          '/run/secrets/copy.conf',
          '--replica-announce-ip',
          name,
        ]);
        expect(entrypoint).to.deep.equal(['sh', '/settings/run-copy.sh', '/settings/redis.conf']);
        if (name === 'redis') continue;
        expect(copy).to.deep.equal(engine);
        expect(volumes).to.deep.equal(
          ofEngine!.map((volume) => volume.replace('redis-data', `${name}-data`)),
        );
        expect(ha.volumes).to.include.keys(`${name}-data`);
      }
      expect(ha.volumes).to.include.keys('queue-redis-data', 'queue-redis-keys');
    });

    it('replaces the processes of docker-compose.yml, which have read the address of one engine', () => {
      for (const [role, { command }] of processes)
        if (command![0] !== 'migrate')
          expect(ha.services[role], role).to.deep.equal({ labels: { 'redbook.engine': 'copies' } });
    });

    it('keeps the passwords of docker-compose.yml, and leads them to the copies and to the queue’s server', () => {
      const folder = mkdtempSync(join(tmpdir(), 'redbook-copies-'));
      const read = (path: string): string => readFileSync(join(folder, path), 'utf8').trim();
      makeKeys(folder);
      const before = read('api/redis-url');
      const users = read('redis/users.acl');
      makeKeys(folder, ...ha.services.keys!.entrypoint!.slice(3));
      const { redisUrl, queueRedisUrl } = readConfig({
        REDIS_URL_FILE: join(folder, 'api/redis-url'),
        QUEUE_REDIS_URL_FILE: join(folder, 'api/queue-redis-url'),
      });
      const place = copies.map((name) => `${name}:6379`).join(',');
      expect(redisUrl).to.equal(before.replace('redis://', 'redis+copies://').replace('redis:6379/0', place));
      expect(new URL(queueRedisUrl!).host).to.equal('queue-redis:6379');
      const ofQueue = users.split('\n').filter((line) => line.startsWith('user queue-'));
      expect(read('queue-redis/users.acl').split('\n')).to.include.members(ofQueue);
      const [, secret] = /^masterauth (\w+)$/m.exec(read('redis/copy.conf'))!;
      const digest = createHash('sha256').update(secret!).digest('hex');
      expect(read('redis/users.acl')).to.include(`\nuser replica on #${digest} `);
      expect(read('redis/copy.conf')).to.match(/^replicaof 127\.0\.0\.1 1$/m);
      rmSync(folder, { recursive: true });
    });
  });

  describe('docker-compose.backup.yml', () => {
    const [backup] = readYaml(join(ROOT, 'docker-compose.backup.yml')) as [
      { services: Record<string, Service & { network_mode?: string }> },
    ];

    it('runs Postgres as docker-compose.yml does, and archives its log', () => {
      const own = compose.services.postgres!.command!;
      expect(backup.services.postgres!.command!.slice(0, own.length)).to.deep.equal(own);
      expect(backup.services.postgres!.command).to.include('archive_command=pgbackrest archive-push %p');
    });

    it('gives a backup its own passwords, and lets only a restore write to the servers', () => {
      const { backup: reader, restore: writer } = backup.services;
      expect(reader!.volumes!.filter((volume) => /-keys:/.test(volume))).to.deep.equal([
        'backup-keys:/run/secrets:ro',
      ]);
      const data = ({ volumes }: Service): string[] => volumes!.filter((volume) => /-data:/.test(volume));
      expect(data(reader!)).to.deep.equal(['postgres-data:/var/lib/postgresql:ro']);
      expect(data(writer!)).to.deep.equal(['postgres-data:/var/lib/postgresql', 'redis-data:/data']);
    });

    it('rehearses without the network of the servers, on disks of its own', () => {
      const rehearsed = Object.entries(backup.services).filter(([, { profiles }]) =>
        profiles?.includes('rehearsal'),
      );
      expect(rehearsed).to.have.length(5);
      for (const [name, { network_mode: network, networks, volumes = [] }] of rehearsed) {
        expect(network ?? networks?.join(), name).to.be.oneOf([
          'none',
          'service:rehearsal-postgres',
          'storage',
        ]);
        for (const volume of volumes) expect(volume, name).to.match(/^rehearsal:|:ro$/);
      }
    });
  });

  describe('on the users of an older release', () => {
    const SHIPPED = join(ROOT, 'k8s/shared/users.acl');
    const mine = 'user me off';
    /** Takes the user `admin` and some rights out of a users file, and adds a user of the operator's own. */
    const aged = (users: string): string =>
      `${users
        .replace(/^user admin .*\n/m, '')
        .replaceAll(' +xinfo', '')
        .replace('~{redbook}:live ', '')}${mine}\n`;
    const digestsOf = (users: string): Map<string, string> =>
      new Map(
        [...users.matchAll(/^user (\S+) on #([0-9a-f]+) /gm)].map(([, name, digest]) => [name!, digest!]),
      );
    const shippedWith = (users: string): string[] =>
      readFileSync(SHIPPED, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => line.replace('SHA256', digestsOf(users).get(line.split(' ')[1]!) ?? 'SHA256'))
        .filter((line) => !line.includes('SHA256'));
    let folder: string;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'redbook-users-'));
    });
    afterEach(() => rmSync(folder, { recursive: true }));
    const read = (path: string): string => readFileSync(join(folder, path), 'utf8');

    for (const options of [[], ['--queue-redis', 'queue:6379']])
      it(`gives them the rights of this release and keeps all passwords (${options.join(' ') || 'one Redis'})`, () => {
        makeKeys(folder, ...options);
        const files =
          options.length === 0 ? ['redis/users.acl'] : ['redis/users.acl', 'queue-redis/users.acl'];
        const before = files.map(read);
        const url = read('api/redis-url');
        for (const file of files) writeFileSync(join(folder, file), aged(read(file)));
        rmSync(join(folder, 'admin'), { recursive: true });
        makeKeys(folder, ...options);
        expect(read('api/redis-url')).to.equal(url);
        for (const [index, file] of files.entries()) {
          const now = digestsOf(read(file));
          const then = digestsOf(before[index]!);
          for (const [name, digest] of then)
            if (name !== 'admin') expect(now.get(name), name).to.equal(digest);
          expect(now.get('admin')).to.equal(
            createHash('sha256').update(read('admin/redis-password').trim()).digest('hex'),
          );
          const others =
            index === 0 && files.length === 2 ? 'user queue-' : files.length === 2 ? 'user engine-' : ' ';
          expect(read(file).trimEnd().split('\n')).to.have.members([
            ...shippedWith(read(file)).filter((line) => others === ' ' || !line.startsWith(others)),
            mine,
          ]);
        }
      });

    it('does the same to a Secret of Kubernetes', () => {
      makeKeys(folder);
      const before = read('redis/users.acl');
      const data = { 'users.acl': Buffer.from(aged(before)).toString('base64') };
      const secret = { kind: 'Secret', metadata: { name: 'redis-users', resourceVersion: '7' }, data };
      const script = join(ROOT, 'k8s/shared/make-keys.mjs');
      const updated = JSON.parse(
        execFileSync(process.execPath, [script, folder, '--secret'], {
          input: JSON.stringify(secret),
          encoding: 'utf8',
          stdio: ['pipe', 'pipe', 'ignore'],
        }),
      );
      expect(updated.metadata).to.deep.equal(secret.metadata);
      const users = Buffer.from(updated.data['users.acl'], 'base64').toString();
      expect(users.trimEnd().split('\n')).to.have.members([...shippedWith(users), mine]);
      for (const [name, digest] of digestsOf(users))
        expect(digest === digestsOf(before).get(name), name).to.equal(name !== 'admin');
    });
  });

  it('pins every image, and asks whatever runs on for its health, as `up --wait` needs it', () => {
    for (const [name, { image, healthcheck, restart }] of services) {
      expect(interpolated(image), name).to.match(/:v?\d+\.\d+(\.\d+)?(-\w+)?$/);
      const isChecked = healthcheck.test !== undefined;
      expect(isChecked, name).to.equal(restart === 'unless-stopped');
      expect(healthcheck.disable === true, name).to.equal(!isChecked);
    }
  });

  it('checks health with complete commands', () => {
    for (const [, { healthcheck }] of services)
      for (const word of healthcheck.test ?? []) expect(word).to.be.a('string');
    const [, program, script, path] = compose.services.api!.healthcheck.test!;
    expect([program, path]).to.deep.equal(['bash', '/readyz']);
    expect(existsSync(script!.replace('/redbook', ROOT))).to.equal(true);
  });

  it('drops privileges everywhere except in Postgres, whose image drops them itself', () => {
    for (const [name, { read_only, cap_drop, cap_add }] of services)
      if (name !== 'postgres')
        expect({ read_only, cap_drop, cap_add }, name).to.deep.equal({
          read_only: true,
          cap_drop: ['ALL'],
          cap_add: name === 'settings' ? ['DAC_OVERRIDE'] : undefined,
        });
  });

  it('builds the image in one service, so that an `up` finds the image that its containers run', () => {
    const ours = services.filter(([, { image }]) => isOurs(image));
    expect(ours.filter(([, { build }]) => build !== undefined).map(([name]) => name)).to.deep.equal([
      'settings',
    ]);
    for (const [name, { build, pull_policy }] of ours)
      expect(pull_policy, name).to.equal(build === undefined ? 'never' : undefined);
    expect(new Set(ours.map(([, { image }]) => image)).size).to.equal(1);
  });

  it('takes each setting from one place for all processes and the operator', () => {
    const fixed = [
      'PORT',
      // A container listens on every interface of its own.
      'HOST',
      'WEB_HOSTS',
      'TRUST_PROXY_HOPS',
      'DRAIN_MS',
      'DATA_DIR',
      'METRICS_PORT',
      'OPERATOR_PORT',
      // A process with external servers rejects it.
      'DEMO_FAUCET',
      ...SECRET_NAMES,
    ];
    const settable = CONFIG_TABLE.map(({ name }) => name).filter((name) => !fixed.includes(name));
    expect(settable).to.include.members(['NETWORK_ID', 'NUMERAIRE']);
    for (const [name, { environment = {} }] of [
      ...processes,
      ['operator', compose.services.operator!] as const,
      ['checkpoint', compose.services.checkpoint!] as const,
    ]) {
      const passed = Object.keys(environment).filter((variable) => environment[variable] === null);
      expect(passed, name).to.have.members(settable);
    }
  });

  it('serves metrics on a port of their own, where Prometheus asks for them', () => {
    const [{ scrape_configs }] = readYaml(join(ROOT, 'k8s/shared/prometheus.yml')) as [
      { scrape_configs: { dns_sd_configs?: { names: string[]; port: number }[] }[] },
    ];
    const asked = scrape_configs.flatMap(({ dns_sd_configs = [] }) => dns_sd_configs);
    const serving = processes.filter(([name]) => name !== 'migrate');
    expect(asked.flatMap(({ names }) => names)).to.have.members(serving.map(([name]) => name));
    for (const { names, port } of asked)
      expect(compose.services[names[0]!]!.environment!.METRICS_PORT).to.equal(String(port));
  });

  it('gives the api the previous key after a rotation', () => {
    const folder = mkdtempSync(join(tmpdir(), 'redbook-rotation-'));
    const read = (name: string): string => readFileSync(join(folder, 'api', name), 'utf8').trim();
    makeKeys(folder);
    const first = read('jwt-secret');
    makeKeys(folder, '--rotate-session-key');
    expect(read('jwt-secret-previous')).to.equal(first);
    expect(read('jwt-secret'))
      .to.match(/^[0-9a-f]{64}$/)
      .and.not.equal(first);
    makeKeys(folder, '--forget-previous-key');
    expect([read('jwt-secret-previous'), read('jwt-secret') === first]).to.deep.equal(['', false]);
    rmSync(folder, { recursive: true });
    expect(Object.keys(compose.services.api!.environment!)).to.include('JWT_SECRET_PREVIOUS_FILE');
  });

  it('mounts the checkout in one service alone, which copies it for the others', () => {
    for (const [name, { volumes = [] }] of services)
      if (name !== 'settings')
        expect(
          volumes.filter((volume) => volume.startsWith('.')),
          name,
        ).to.deep.equal([]);
    const folder = mkdtempSync(join(tmpdir(), 'redbook-settings-'));
    writeSettings(folder);
    for (const file of [
      'redis.conf',
      'haproxy.cfg',
      'prometheus.yml',
      'alerts.yml',
      'make-keys.mjs',
      'users.acl',
    ])
      expect(statSync(join(folder, file)).mode & 0o777, file).to.equal(0o644);
    const [{ providers }] = readYaml(join(folder, 'provisioning/dashboards/redbook.yml')) as [
      { providers: { options: { path: string } }[] },
    ];
    const dashboard = compose.services.grafana!.environment!.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH!;
    expect(dirname(dashboard)).to.equal(providers[0]!.options.path);
    expect(existsSync(dashboard.replace('/settings', folder))).to.equal(true);
    rmSync(folder, { recursive: true });
  });

  it('allows a process more time to end than DRAIN_MS and a batch take', () => {
    const { drainMs } = readConfig({});
    for (const [, { stop_grace_period = '10s' }] of processes)
      expect(Number.parseInt(stop_grace_period, 10) * 1_000).to.be.at.least(drainMs + 10_000);
  });

  it('mounts only existing files and declared volumes', () => {
    const sources = services.flatMap(([, { volumes = [] }]) =>
      volumes.map((volume) => volume.split(':')[0]!),
    );
    for (const source of sources) {
      if (source.startsWith('./')) expect(existsSync(join(ROOT, source)), source).to.equal(true);
      else expect(compose.volumes).to.have.property(source);
    }
  });

  it('migrates before all processes, but for a breaking migration, which waits for the engine’s format', () => {
    expect(compose.services.migrate!.command).to.deep.equal(['migrate', '--additive']);
    for (const [name, { depends_on = {} }] of processes)
      if (name !== 'migrate') expect(depends_on, name).to.have.property('migrate');
  });

  it('gives each role its own user of Postgres, whose password is set beside the statements that make the users', () => {
    const users = readFileSync(join(ROOT, 'k8s/components/postgres-users/users.sql'), 'utf8');
    const set = readFileSync(join(keys, 'postgres/passwords.sql'), 'utf8');
    const given = Object.fromEntries(
      ['migrate', 'settlement', 'operator', 'api', 'snapshot', 'operator-api'].map((role) => [
        role,
        new URL(readFileSync(join(keys, role, 'database-url'), 'utf8').trim()),
      ]),
    );
    expect(
      Object.fromEntries(Object.entries(given).map(([role, { username }]) => [role, username])),
    ).to.deep.equal({
      migrate: 'redbook_owner',
      settlement: 'redbook_settlement',
      operator: 'redbook_settlement',
      api: 'redbook_api',
      snapshot: 'redbook_api',
      'operator-api': 'redbook_operator_api',
    });
    for (const { username, password } of Object.values(given)) {
      expect(users).to.include(username);
      expect(set).to.include(`alter role ${username} password '${password}';`);
    }
  });

  it('gives the roles of an older release users of their own, and leaves a URL of the operator’s alone', () => {
    const folder = mkdtempSync(join(tmpdir(), 'redbook-keys-'));
    makeKeys(folder);
    const shared = readFileSync(join(folder, 'postgres/password'), 'utf8').trim();
    const own = 'postgres://me:mine@db.example/redbook\n';
    writeFileSync(
      join(folder, 'settlement/database-url'),
      `postgres://redbook:${shared}@postgres:5432/redbook\n`,
    );
    writeFileSync(join(folder, 'api/database-url'), own);
    makeKeys(folder);
    expect(readFileSync(join(folder, 'settlement/database-url'), 'utf8')).to.match(
      /^postgres:\/\/redbook_settlement:/,
    );
    expect(readFileSync(join(folder, 'api/database-url'), 'utf8')).to.equal(own);
    rmSync(folder, { recursive: true });
    makeKeys(folder, '--database', 'postgres://db.example/redbook?sslmode=require');
    expect(readFileSync(join(folder, 'api/database-url'), 'utf8')).to.match(
      /^postgres:\/\/redbook_api:[0-9a-f]{64}@db\.example\/redbook\?sslmode=require\n$/,
    );
    rmSync(folder, { recursive: true });
  });

  it('starts services after their dependencies, without cycles', () => {
    const visit = (name: string, path: readonly string[]): void => {
      expect(path).to.not.include(name);
      for (const next of Object.keys(compose.services[name]!.depends_on ?? {})) visit(next, [...path, name]);
    };
    for (const [name] of services) visit(name, []);
    for (const [, { depends_on = {} }] of services)
      for (const [name, { condition }] of Object.entries(depends_on)) {
        const ends = ENDING.includes(name);
        expect(condition).to.equal(ends ? 'service_completed_successfully' : 'service_healthy');
      }
  });

  it('has guides that wait by name only for services that go on running', () => {
    const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
    const guides = ['README.md', ...docs.map((name) => `docs/${name}`)];
    const text = guides.map((name) => readFileSync(join(ROOT, name), 'utf8')).join('\n');
    const waits = [...text.matchAll(/docker compose [^\n`]*\bup\b[^\n`]* --wait\b[^\n`#]*/g)].map(
      ([all]) => all,
    );
    expect(waits).to.include('docker compose up -d --wait postgres');
    expect(waits.filter((command) => words(command).some((word) => ENDING.includes(word)))).to.deep.equal([]);
  });
});

describe('the balancer', () => {
  const text = readFileSync(join(ROOT, 'k8s/shared/haproxy.cfg'), 'utf8');

  it('serves the replicas of Compose on the published port, and hides internal routes', () => {
    expect(text).to.include('bind :8080').and.to.include('api:8080').and.to.include('stream:8080');
    expect(text).to.match(/deny .*\{ path \/metrics \/livez \/readyz \}/);
  });

  it('has a slot for every replica that the autoscalers may add, and the guide gives their number', () => {
    const scaled = readYaml(join(ROOT, 'k8s/components/autoscaling/autoscalers.yaml')) as {
      metadata: { name: string };
      spec: { maxReplicas: number };
    }[];
    for (const role of ['api', 'stream']) {
      const slots = Number(new RegExp(`server-template ${role} (\\d+) `).exec(text)![1]);
      const { maxReplicas } = scaled.find(({ metadata }) => metadata.name === role)!.spec;
      expect(slots, role).to.be.at.least(maxReplicas);
      expect(readFileSync(join(ROOT, 'docs/operating.md'), 'utf8')).to.include(
        `HAProxy knows ${slots} replicas`,
      );
    }
    const sizing = readFileSync(join(ROOT, 'docs/scaling.md'), 'utf8');
    const { maxReplicas } = scaled.find(({ metadata }) => metadata.name === 'api')!.spec;
    expect(sizing).to.include(`the ${maxReplicas} of the autoscaler`);
    const hours = Math.round(DEFAULT_FILTER_BYTES / BYTES_PER_ID / 100 / 3_600);
    expect(sizing).to.include(`is full after ${hours} hours of 100 orders a second`);
    const limit = /POSTGRES_MAX_CONNECTIONS:-(\d+)/.exec(
      readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'),
    )![1];
    expect(sizing).to.include(`Compose has ${limit} (\`POSTGRES_MAX_CONNECTIONS\`)`);
  });

  it('has a slot for every replica of the example of the guide, whose numbers follow from its own costs', () => {
    const sizing = readFileSync(join(ROOT, 'docs/scaling.md'), 'utf8');
    const found = (pattern: RegExp): number[] =>
      pattern
        .exec(sizing)!
        .slice(1)
        .map((one) => Number(one.replace(',', '')));
    const [orders, cancels, lists, reads, share] = found(
      /replicas = \(([\d.]+) orders \+ ([\d.]+) cancels \+ ([\d.]+) lists \+ ([\d.]+) public reads\) × h ÷ (\d+\.\d+)/,
    ) as [number, number, number, number, number];
    const [order, cancel] = found(/\*\*Engine\*\*: \(([\d.]+) orders \+ ([\d.]+) cancels\)/) as [
      number,
      number,
    ];
    const [each, screens, h] = found(/example: (\d+) orders.* ([\d,]+) screens, with an h of (\d+) µs/) as [
      number,
      number,
      number,
    ];
    const row = /\| 100x \|.*/.exec(sizing)![0];
    const calls = (each * 100 * h) / 1e6;
    const [api] = /(\d+) `api`/.exec(row)!.slice(1).map(Number) as [number];
    expect(api).to.equal(Math.ceil(((orders + cancels + lists + reads) * calls) / share));
    const [clients] = found(/clients ÷ ([\d,]+\d)/) as [number];
    expect(row).to.include(`${(screens * 100) / clients} \`stream\` replicas`);
    expect(row).to.include(`The engine needs ${((order + cancel) * calls).toFixed(2)} of its one processor`);
    for (const [, slots] of text.matchAll(/server-template \w+ (\d+) /g))
      expect(Number(slots)).to.be.at.least(Math.max(api, (screens * 100) / clients));
    const [ofApi] = found(/At most (\d+) for an `api` process/) as [number];
    const [connections] = found(new RegExp(`the ${api} of the example below (\\d+)`)) as [number];
    expect(connections).to.be.at.least(api * ofApi);
  });

  it('is sized by the guide in a table whose figures follow from its costs', () => {
    const sizing = readFileSync(join(ROOT, 'docs/scaling.md'), 'utf8');
    const section = sizing.slice(sizing.indexOf('### Three installations'));
    const numbers = (pattern: RegExp): number[] =>
      [...pattern.exec(sizing)![0].matchAll(/[\d,]*\.?\d+/g)].map(([one]) => Number(one.replaceAll(',', '')));
    const row = (start: string): string[] =>
      section
        .split('\n')
        .find((line) => line.startsWith(`| ${start}`))!
        .split('|')
        .slice(2, 5)
        .map((cell) => cell.trim());
    const [order, cancel, list, read] = numbers(/\*\*`api`\*\* replicas = .*public reads\)/);
    const [engineOrder, engineCancel] = numbers(/\*\*Engine\*\*: \(.*cancels\)/);
    const [settled] = numbers(/\*\*`settlement`\*\*: [\d.]+/);
    const [written] = numbers(/\*\*Postgres\*\*: [\d.]+/);
    const [tables, log] = numbers(/takes [\d.]+ KB of tables and indexes for good, and [\d.]+ KB/);
    const [perReplica] = numbers(/clients ÷ [\d,]+\d/);
    const [clients, megabytes] = numbers(/[\d,]+ clients take \d+ MB/);
    const [ofApi, ofSettlement, ofSnapshot, ofOperator] = numbers(
      /At most \d+ for an `api` process.*command/,
    );
    const [minutes] = numbers(/checks of a day take \d+ minutes/);
    const h = 1e-4;
    const listSeconds = 0.004;
    const day = 86_400;
    const shown = (value: number, digits = 0): string =>
      value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
    ['100', '1,000', '5,000'].forEach((title, at) => {
      const [n, screens] = [title, row('screens')[at]!].map((one) => Number(one.replace(',', ''))) as [
        number,
        number,
      ];
      const api = Math.max(2, Math.ceil((n * (order! + cancel! + list! / 10 + read! / 10) * h) / 0.65)) + 1;
      const due: Record<string, string> = {
        '`api` replicas': shown(api),
        '`stream` replicas': shown(Math.max(2, Math.ceil(screens / perReplica!))),
        'processors of the engine': shown(n * (engineOrder! + engineCancel!) * h, 2),
        'processors of `settlement`': shown(2 * n * settled! * h, 2),
        'processors of Postgres': shown(2 * n * written! * h + (n / 10) * listSeconds, 2),
        'connections to': shown((api + 1) * ofApi! + 2 * ofSettlement! + 2 * ofSnapshot! + ofOperator!),
        'MB a second': shown((screens * megabytes!) / clients!),
        'GB of tables': shown((n * tables! * day) / 1e6),
        'GB of Postgres': shown((n * log! * day) / 1e6),
        'MB of claim': shown((n * day * 2 * BYTES_PER_ID) / 1e6),
        'MB of settled': shown((2 * n * 300 * 1_200) / 1e6),
        'minutes of checks': shown((minutes! * n) / 1_000),
      };
      for (const [start, value] of Object.entries(due))
        expect(row(start)[at], `${start}, ${title}`).to.equal(value);
    });
  });

  it('trusts no forwarding header but its own, and never retries a request', () => {
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
    const checked = spawnSync(haproxy.command, ['-c', '-f', join(ROOT, 'k8s/shared/haproxy.cfg')], {
      env: serverEnvironment(haproxy.libraryPath),
    });
    expect(checked.status, String(checked.stderr)).to.equal(0);
  });
});

describe('the balancer by haproxy itself (where it can be had)', () => {
  const text = readFileSync(join(ROOT, 'k8s/shared/haproxy.cfg'), 'utf8');
  let haproxy: Program;

  before(async function () {
    try {
      haproxy = await obtainHaproxy();
    } catch (error) {
      console.log(`      ${(error as Error).message}`);
      this.skip();
    }
  });

  /** The shipped file with free ports. */
  const shipped = async (): Promise<{ config: string; port: number }> => {
    const port = await freePort();
    const monitorPort = await freePort();
    const config = text
      .replace('bind :8080', `bind 127.0.0.1:${port}`)
      .replace('bind :8404', `bind 127.0.0.1:${monitorPort}`);
    return { config, port };
  };
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;

  it('answers JSON with a code of the error table while no replica is ready', async () => {
    const { config, port } = await shipped();
    const paths = ['/v1/markets', '/v1/orders', '/ws', '/metrics'];
    const replies = await repliesUnder(haproxy, config, port, paths.map(get));
    expect(replies.map(({ status }) => status)).to.deep.equal([503, 503, 503, 404]);
    for (const { status, contentType, body } of replies) {
      expect(contentType).to.equal('application/json');
      const { code, error } = JSON.parse(body) as { code: ErrorCode; error: string };
      expect([code, typeof error]).to.deep.equal([
        status === 404 ? 'NOT_FOUND' : 'SERVICE_UNAVAILABLE',
        'string',
      ]);
    }
  });

  it('routes the page, its bundle, the API and the streams', async () => {
    const { config, port } = await shipped();
    const named = config.replace(
      /^backend (\w+)$/gm,
      `backend $1\n  http-request return status 200 content-type application/json string '{"backend":"$1"}'`,
    );
    const paths = ['/', '/trade/ETH_USDC', '/web/main.js?v=1', '/docs', '/v1/markets', '/ws', '/ws/market'];
    // No replica runs here, so the second file takes the condition of those that refuse away.
    for (const [file, backend] of [
      [named, 'refusing'],
      [named.replace('{ nbsrv(api) eq 0 }', '{ always_false }'), 'api'],
    ] as const) {
      const replies = await repliesUnder(haproxy, file, port, paths.map(get));
      expect(replies.map(({ body }) => JSON.parse(body).backend)).to.deep.equal([
        ...Array.from({ length: 5 }, () => backend),
        'stream',
        'stream',
      ]);
    }
  });

  it('writes each reply of its own as JSON, with a code of the error table', () => {
    const replies = [
      ...text.matchAll(/^ {2}http-error status (\d+) content-type application\/json .* string '(.*)'$/gm),
    ];
    expect(replies.map(([, status]) => Number(status))).to.deep.equal([400, 404, 408, 500, 502, 503, 504]);
    for (const [, , body] of replies) expect(ERRORS).to.have.property(JSON.parse(body!).code);
  });

  it('starts under any limit of open files', async () => {
    for (const files of [512, 1_024]) {
      const { config, port } = await shipped();
      const [reply] = await repliesUnder(haproxy, config, port, [get('/metrics')], `ulimit -n ${files}`);
      expect(reply!.status, String(files)).to.equal(404);
    }
  });

  it('is stopped by a signal that closes connections, and not by one that waits for streams', () => {
    expect(compose.services.balancer!.stop_signal).to.equal('SIGTERM');
  });
});
