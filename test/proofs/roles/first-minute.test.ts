/** Proves that starting the service with an invalid setting prints one sentence that names the setting. */

import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { identify } from '../../../src/embedded/run/process-identity.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/ports.ts';
import { ROOT } from '../../support/program.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import { freshLedgerDatabase } from '../../support/servers.ts';
import { launchService, type Service } from '../../support/service.ts';

const PASSWORD = 'hunter2';

describe('npm start in the first minute', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-minute-'));
  const running: Service[] = [];
  let taken: Server;
  let takenPort: string;
  before(async () => {
    taken = createServer().listen(0);
    await new Promise((resolve) => taken.once('listening', resolve));
    takenPort = String((taken.address() as { port: number }).port);
  });
  after(async () => {
    await Promise.all(running.map((service) => service.end('SIGKILL')));
    taken.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const pathOf = (name: string): string => join(folder, name);
  const launch = async (role: string, settings: Record<string, string>): Promise<Service> => {
    const service = await launchService(role, { PORT: String(await freePort()), ...settings });
    running.push(service);
    return service;
  };
  /** Runs a process until it exits. */
  const refusalOf = async (role: string, settings: Record<string, string>) => {
    const service = await launch(role, settings);
    const status = await new Promise((resolve) => service.child.once('close', resolve));
    return { status, text: service.output() };
  };

  it('says in one line why it does not start, and which setting to change', async () => {
    mkdirSync(pathOf('other'));
    mkdirSync(pathOf('held'));
    writeFileSync(pathOf('file'), '');
    writeFileSync(pathOf('other/thesis.txt'), 'mine');
    writeFileSync(pathOf('held/lock'), JSON.stringify(identify(process.pid)));
    const cases: [settings: Record<string, string>, status: number, text: RegExp][] = [
      [{ DATA_DIR: pathOf('file') }, 2, /file cannot be used: it is a file.*DATA_DIR/],
      [{ DATA_DIR: pathOf('file/below') }, 2, /it is a file, or lies below one.*DATA_DIR/],
      [{ DATA_DIR: pathOf('other') }, 2, /holds other things \(thesis\.txt\).*DATA_DIR/],
      [{ DATA_DIR: '/sys/redbook' }, 2, /\/sys\/redbook cannot be used: .*DATA_DIR/],
      [{ DATA_DIR: pathOf('held') }, 1, /already runs on .*held \(process \d+\).*DATA_DIR/],
      [{ DATA_DIR: pathOf('elsewhere'), HOST: '192.0.2.7' }, 2, /^HOST: no interface .* 192\.0\.2\.7\./],
      [{ DATA_DIR: pathOf('new'), PORT: takenPort }, 1, /^PORT: port \d+ is in use.*set PORT to another/],
    ];
    await Promise.all(
      cases.map(async ([settings, status, text]) => {
        const refusal = await refusalOf('all', settings);
        expect(refusal.text).to.match(text);
        expect(refusal.text.trimEnd().split('\n'), refusal.text).to.have.length(1);
        expect(refusal.status, refusal.text).to.equal(status);
      }),
    );
    expect(readFileSync(pathOf('other/thesis.txt'), 'utf8')).to.equal('mine');
    expect(readdirSync(pathOf('other'))).to.deep.equal(['thesis.txt']);
    expect(readdirSync(pathOf('new'))).to.deep.equal(['secrets.json']);
  });

  it('says in one line that an installation without embedded servers needs others', async () => {
    const image = pathOf('image');
    for (const name of ['src', 'lua', 'migrations', 'k8s/shared/users.acl', 'package.json'])
      cpSync(join(ROOT, name), join(image, name), { recursive: true });
    rmSync(join(image, 'src/embedded'), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(image, 'node_modules'));
    const cases: [command: string[], exitStatus: number, text: RegExp][] = [
      [
        ['all'],
        2,
        /^The role all runs a Redis and a Postgres of its own, .* REDIS_URL and DATABASE_URL name\.$/,
      ],
      [
        ['trading', 'pause', '--reason', 'a test'],
        1,
        /^.*No service runs on .*, or name servers by REDIS_URL and DATABASE_URL\.$/,
      ],
    ];
    for (const [[role = '', ...further], exitStatus, text] of cases) {
      const service = await launchService(role, { DATA_DIR: pathOf('none') }, image, ...further);
      running.push(service);
      const status = await new Promise((resolve) => service.child.once('close', resolve));
      expect(service.output().trimEnd()).to.match(text);
      expect(status).to.equal(exitStatus);
    }
  });

  it('says so in the log of a role as well', async () => {
    const { status, text } = await refusalOf('stream', {
      REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
      PORT: takenPort,
    });
    expect(status).to.equal(1);
    const fatal = text.split('\n').find((line) => line.includes('"level":"fatal"'))!;
    expect(JSON.parse(fatal).msg).to.match(/^PORT: port \d+ is in use/);
    expect(text).to.not.include('    at ');
  });

  it('says once which servers it waits for, without a password', async () => {
    const away = `127.0.0.1:${await freePort()}`;
    const dataDir = pathOf('waiting');
    const service = await launch('all', {
      DATA_DIR: dataDir,
      REDIS_URL: `redis://:${PASSWORD}@${away}`,
      DATABASE_URL: `postgres://u:${PASSWORD}@${away}/x`,
    });
    const sentences = [
      `Waiting for Redis at ${away} (REDIS_URL): the connection is refused.`,
      `Waiting for Postgres at ${away} (DATABASE_URL): the connection is refused.`,
    ];
    await eventually('it tells', async () => sentences.every((one) => service.output().includes(one)));
    // Long enough for several connection attempts.
    await sleep(1_500);
    const lines = service.output().trimEnd().split('\n');
    const log = readFileSync(join(dataDir, 'redbook.log'), 'utf8');
    expect(lines.filter((line) => line.startsWith('Waiting')).sort()).to.deep.equal([...sentences].sort());
    expect(lines).to.include(`The log is ${join(dataDir, 'redbook.log')}`);
    expect(log.match(/waiting for/g)).to.have.length(2);
    for (const text of [service.output(), log])
      expect(text)
        .to.not.include(PASSWORD)
        .and.not.match(/^\s+at |"stack"/m);
    // npm forwards a Ctrl-C that the terminal has already sent to the service.
    service.child.kill('SIGINT');
    await eventually('it stops', async () => service.output().includes('Stopping …'));
    expect(await service.end('SIGINT')).to.equal(0);
  });

  it('names wrong settings of Redis without a stack trace', async () => {
    const redis = await startRedisServer(pathOf('redis'), { settings: ['appendonly no'] });
    const service = await launch('all', {
      DATA_DIR: pathOf('wrong settings'),
      REDIS_URL: redis.url,
      DATABASE_URL: await freshLedgerDatabase(),
    });
    const told = /^Waiting for Redis at \S+ \(REDIS_URL\): .*appendonly is no, must be yes/m;
    await eventually('it tells', async () => told.test(service.output()));
    await redis.stop();
  });

  it('names the unavailable server to an operator command', async () => {
    const away = `127.0.0.1:${await freePort()}`;
    const settings = {
      REDIS_URL: `redis://:${PASSWORD}@${away}`,
      DATABASE_URL: `postgres://u:${PASSWORD}@${away}/x`,
    };
    const service = await launchService('trading', settings, undefined, 'pause', '--reason', 'a test');
    running.push(service);
    expect(await new Promise((resolve) => service.child.once('close', resolve))).to.equal(1);
    expect(service.output())
      .to.match(/^SERVICE_UNAVAILABLE: .*\(REDIS_URL\): the connection is refused/)
      .and.not.include(PASSWORD);
  });
});
