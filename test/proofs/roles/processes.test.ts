/** Tests the service in one process and in many, stopped and killed in every way. */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ethersSigner } from '../../auth/signers.ts';
import { eventually } from '../../support/eventually.ts';
import { marketRules } from '../../support/market-spec.ts';
import { freePort } from '../../support/ports.ts';
import { program } from '../../support/program.ts';
import { freshDatabase, freshRedis } from '../../support/servers.ts';
import {
  type Call,
  launchService,
  operate,
  type Service,
  signIn,
  startService,
} from '../../support/service.ts';
import { type ReceivedSpan, receiveSpans } from '../../support/trace-receiver.ts';

type Json = Record<string, unknown>;

const order = (side: string, price: number, size: number, clientOrderId: string): object => ({
  market: 'ETH/USDC',
  side,
  type: 'limit',
  price,
  size,
  clientOrderId,
});

const statusesOf = async (call: Call): Promise<unknown[]> =>
  ((await call('GET', '/v1/orders')).body.orders as Json[]).map(({ status }) => status);

/** Places until the service answers. Requests with an unknown outcome are repeated under the same id. */
async function placeInTheEnd(call: Call, body: object): Promise<Json> {
  let placed: Json = {};
  await eventually('the order is placed', async () => {
    const reply = await call('POST', '/v1/orders', body).catch((error: Error) => {
      // fetch throws a TypeError if the connection breaks. An undocumented reply fails the test.
      if (error instanceof TypeError) return undefined;
      throw error;
    });
    placed = reply?.body ?? {};
    return reply?.status === 200;
  });
  return placed;
}

/** Finds processes of the embedded servers in a data folder, by their command lines or working folders. */
function serversOf(dataDir: string): number[] {
  const { redis, postgres } = JSON.parse(readFileSync(join(dataDir, 'servers.json'), 'utf8'));
  return [redis.process.pid, postgres.process.pid];
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

describe('the all-in-one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-all-'));
  const settings: Record<string, string> = { DATA_DIR: join(folder, 'data') };
  const alice = ethersSigner();
  let service: Service;
  let call: Call;

  before(async () => {
    settings.PORT = String(await freePort());
    service = await startService('all', settings);
    call = (await signIn(service.url, alice))(service.url);
    await operate(settings, 'account', 'credit', alice.address, 'USDC', '10000', '--reference', 'first');
    await operate(settings, 'account', 'credit', alice.address, 'ETH', '10', '--reference', 'second');
  });
  after(async () => {
    await service?.end('SIGKILL');
    if (isRunning(serversOf(settings.DATA_DIR!)[0]!))
      await eventually('it ends', async () => !serversOf(settings.DATA_DIR!).some(isRunning));
    rmSync(folder, { recursive: true, force: true });
  });

  it('publishes the demo markets, and prints where it listens and what to try', async () => {
    const { markets } = (await call('GET', '/v1/markets')).body as { markets: Json[] };
    expect(markets.map(({ symbol }) => symbol)).to.deep.equal(['ETH/USDC', 'BTC/USDC']);
    expect(service.output()).to.include(`http://localhost:${settings.PORT}`).and.to.include('npm run demo');
  });

  it('listens on 127.0.0.1 only', async () => {
    const port = Number(settings.PORT);
    for (const host of ['127.0.0.2', '::1']) {
      const socket = connect({ port, host });
      const [error] = await once(socket, 'error');
      expect((error as NodeJS.ErrnoException).code, host).to.be.oneOf(['ECONNREFUSED', 'EADDRNOTAVAIL']);
    }
  });

  it('keeps all data over a stop and a start', async () => {
    await call('POST', '/v1/orders', order('buy', 2000, 1, 'kept'));
    const before = await call('GET', '/v1/orders');
    const pids = serversOf(settings.DATA_DIR!);
    expect(await service.end('SIGINT')).to.equal(0);
    expect(pids.filter(isRunning)).to.deep.equal([]);

    service = await startService('all', settings);
    expect((await call('GET', '/v1/orders')).body).to.deep.equal(before.body);
    const { body } = await call('POST', '/v1/orders', order('buy', 1, 1, 'kept'));
    expect([body.status, body.price]).to.deep.equal(['resting', 2000]);
    const portfolio = (await call('GET', `/v1/portfolio/${alice.address}`)).body as { balances: Json[] };
    expect(portfolio.balances.find(({ asset }) => asset === 'USDC')).to.include({
      total: 10_000,
      reserved: 2000,
    });
  });

  it('recovers without loss when its Redis and its Postgres are killed', async () => {
    for (const [round, pid] of serversOf(settings.DATA_DIR!).entries()) {
      process.kill(pid, 'SIGKILL');
      const placed = await placeInTheEnd(call, order('buy', 1000 + round, 1, `round ${round}`));
      expect(placed.status).to.equal('resting');
      await eventually('lists answer', async () => (await call('GET', '/v1/orders')).status === 200);
    }
    // Each connection to a server that was killed fails once.
    const areAllThere = async () => (await statusesOf(call)).join() === 'resting,resting,resting';
    await eventually('all orders are listed', areAllThere);
    const { holds } = (await operate(settings, 'ledger', 'reconcile')) as { holds: boolean };
    expect(holds).to.equal(true);
  });

  it('leaves no server behind when it is killed, and starts again on its data', async () => {
    const pids = serversOf(settings.DATA_DIR!);
    const { cancelAt } = (await call('POST', '/v1/orders/cancel-after', { timeoutMs: 5_000 })).body;
    await service.end('SIGKILL');
    await eventually('its servers end', async () => !pids.some(isRunning));
    service = await startService('all', settings);
    expect(await statusesOf(call)).to.have.length(3);
    await eventually('the dead-man switch fires', async () => {
      return (await statusesOf(call)).every((status) => status === 'cancelled');
    });
    expect(Date.now(), 'by one clock of this machine').to.be.at.least(Date.parse(cancelAt as string));
    expect((await call('DELETE', '/v1/orders')).body.count).to.equal(0);
  });

  /** The environment of another terminal that names the folder but not the port. */
  const otherTerminal = (): NodeJS.ProcessEnv => {
    const { PORT: _, ...others } = settings;
    return { PATH: process.env.PATH, HOME: process.env.HOME, ...others };
  };

  it('runs the demo to its end, whatever the port', async () => {
    const output = execFileSync(process.execPath, [...(await program()), 'demo'], {
      env: otherTerminal(),
      encoding: 'utf8',
    });
    expect(output)
      .to.include('everything holds')
      .and.to.include(service.url.replace('127.0.0.1', 'localhost'));
  });

  it('runs the first session of the README, pasted twice', async () => {
    const readme = readFileSync('README.md', 'utf8');
    const [, script = '', commands = ''] =
      /```js\n(import \{ Wallet \}.*?)```\n\n```sh\n(.*?)```/s.exec(readme) ?? [];
    const file = join(process.cwd(), `session-${process.pid}.mjs`);
    writeFileSync(file, script);
    try {
      const first = commands.replaceAll('session.mjs', file);
      // Only the first command of npm compiles the sources.
      const built = ['exec', process.execPath, ...(await program()), '"$@"'].join(' ');
      const npm = `npm() { if [ -v again ]; then shift 4; (${built}); else again=; command npm "$@"; fi; }`;
      const pasted = `set -e\n${npm}\n${first}\n${first}\n`;
      const output = execFileSync('bash', ['-c', pasted], {
        env: { ...otherTerminal(), BASE: service.url },
        encoding: 'utf8',
      });
      expect(output.match(/^\{.*"accepted":true.*\}$/gm), output).to.have.length(2);
      expect(output.match(/everything holds/g), output).to.have.length(2);
      expect(output).to.not.match(/"code"|REFERENCE_CONFLICT/);
    } finally {
      rmSync(file);
    }
  });
});

describe('roles as processes', () => {
  const running: Service[] = [];
  let shared: Record<string, string>;
  let receiver: Awaited<ReturnType<typeof receiveSpans>>;

  const start = async (role: string): Promise<Service> => {
    const service = await startService(role, { ...shared, PORT: String(await freePort()) });
    running.push(service);
    return service;
  };

  before(async () => {
    receiver = await receiveSpans();
    shared = {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
      REDIS_URL: await freshRedis(),
      DATABASE_URL: await freshDatabase(),
      JWT_SECRET: 'a secret of the tests, 32 bytes or more',
      WEB_HOSTS: 'redbook.example',
      DRAIN_MS: '300',
      LOG_LEVEL: 'warn',
    };
  });
  after(async () => {
    await Promise.all(running.map((service) => service.end('SIGKILL')));
    receiver.close();
  });

  it('share sessions, orders and ids, and stop one by one without losing a request', async () => {
    const [first, second] = await Promise.all([start('api'), start('api')]);
    const [worker] = await Promise.all([start('settlement'), start('settlement')]);
    await operate(shared, 'asset', 'set', 'USDC', '--scale', '6');
    const rules = marketRules();
    await operate(shared, 'market', 'create', 'ETH/USDC', ...rules, '--fee-bps', '10');
    const signer = ethersSigner();
    await operate(shared, 'account', 'credit', signer.address, 'USDC', '100000', '--reference', 'a deposit');
    const at = await signIn(first.url, signer);

    const replies = await Promise.all(
      Array.from({ length: 100 }, (_none, index) =>
        at(index % 2 === 0 ? first.url : second.url)('POST', '/v1/orders', order('buy', 10, 1, 'the same')),
      ),
    );
    expect(new Set(replies.map(({ status, body }) => `${status} ${body.id}`)).size).to.equal(1);

    // While one replica drains and exits, its requests in flight and those to the other replica are answered.
    let isOver = false;
    const load = async (url: string, name: string): Promise<number> => {
      let placed = 0;
      while (!isOver) {
        const { status } = await at(url)('POST', '/v1/orders', order('buy', 11, 0.001, `${name} ${placed}`));
        expect(status).to.equal(200);
        placed += 1;
      }
      return placed;
    };
    const loads = [load(second.url, 'a'), load(second.url, 'b')];
    await worker.end('SIGKILL');
    expect(await first.end('SIGTERM')).to.equal(0);
    isOver = true;
    const placed = (await Promise.all(loads)).reduce((sum, count) => sum + count);
    expect(placed).to.be.greaterThan(0);

    const { holds } = (await operate(shared, 'ledger', 'reconcile')) as { holds: boolean };
    expect(holds).to.equal(true);
    await eventually('a request, its script and its settlement are one trace', async () => {
      const of = (name: string): ReceivedSpan[] => receiver.spans.filter((span) => span.name === name);
      const requests = new Map(of('POST /v1/orders').map((span) => [span.spanId, span]));
      return of('settle').some(({ traceId, parentSpanId, service }) => {
        const script = of('place_orders').find((span) => span.traceId === traceId);
        const request = requests.get(script?.parentSpanId ?? '');
        return (
          service === 'redbook-settlement' && request?.traceId === traceId && request.spanId === parentSpanId
        );
      });
    });
    const status = (await operate(shared, 'status')) as { replicas: Json };
    expect(status.replicas).to.deep.equal({ api: 1, settlement: 1 });
  });

  it('stop on a signal although they still wait for their servers', async () => {
    const away = `127.0.0.1:${await freePort()}`;
    const settings = { ...shared, REDIS_URL: `redis://${away}`, DATABASE_URL: `postgres://nobody@${away}/x` };
    for (const role of ['api', 'settlement', 'migrate']) {
      const service = await launchService(role, { ...settings, PORT: String(await freePort()) });
      running.push(service);
      await eventually('it waits', async () => service.output().includes('waiting for Postgres at '));
      expect(await service.end('SIGTERM'), role).to.equal(role === 'migrate' ? null : 0);
      for (const line of service.output().trim().split('\n')) JSON.parse(line);
    }
  });
});
