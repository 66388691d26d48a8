/** Tests an api whose servers die or hang, one at a time: the replies, their latency, and the log. */

import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { ethersSigner } from '../../auth/signers.ts';
import { eventually } from '../../support/eventually.ts';
import { type Link, openLink } from '../../support/link.ts';
import { marketRules } from '../../support/market-spec.ts';
import { freePort } from '../../support/ports.ts';
import { freshLedgerDatabase, loneRedis } from '../../support/servers.ts';
import { type Call, isReady, operate, type Service, signIn, startService } from '../../support/service.ts';

/**
 * The service answers within three seconds. A request that were refused by the timeout of its connection would wait for
 * six. On a busy machine a request also waits for a processor, as long as one that asks no server.
 */
const SAID_WITHIN_MS = 5_000;
/** As long as a test may take: a busy machine heals late. */
const HEALED_WITHIN_MS = 240_000;
const AT_ONCE = 6;

const SERVERS = ['engine', 'queue', 'postgres'] as const;
type Server = (typeof SERVERS)[number];
type Request = readonly [method: string, path: string, body?: object];

const order = (): object => ({ market: 'ETH/USDC', side: 'buy', type: 'limit', price: 10, size: 1 });
let numbers = 0;
const named = (): object => {
  numbers += 1;
  return { ...order(), clientOrderId: `outage ${numbers}` };
};

describe('an api whose servers are away', function () {
  this.timeout(300_000);
  const alice = ethersSigner();
  const links = {} as Record<Server, Link>;
  let api: Service;
  let call: Call;

  /** Requests that depend on a server, and requests that do not. */
  const requests: Record<Server, { refused: () => Request[]; served: () => Request[] }> = {
    engine: {
      refused: () => [
        ['POST', '/v1/orders', order()],
        ['POST', '/v1/orders', named()],
        ['DELETE', '/v1/orders'],
        ['GET', '/v1/orders'],
        ['GET', '/v1/trades'],
        ['GET', `/v1/portfolio/${alice.address}`],
        ['GET', '/v1/market-data/orderbook?ticker_id=ETH_USDC'],
      ],
      served: () => [],
    },
    queue: {
      refused: () => [['POST', '/v1/auth/challenge', { address: ethersSigner().address }]],
      served: () => [
        ['POST', '/v1/orders', named()],
        ['GET', '/v1/orders'],
        ['GET', '/v1/market-data/orderbook?ticker_id=ETH_USDC'],
      ],
    },
    postgres: {
      refused: () => [
        ['GET', '/v1/orders'],
        ['GET', '/v1/trades'],
      ],
      served: () => [
        ['POST', '/v1/orders', named()],
        ['DELETE', '/v1/orders'],
        ['GET', `/v1/portfolio/${alice.address}`],
      ],
    },
  };

  before(async () => {
    const [engine, queue, postgres] = await Promise.all([loneRedis(), loneRedis(), freshLedgerDatabase()]);
    const direct = { REDIS_URL: engine, QUEUE_REDIS_URL: queue, DATABASE_URL: postgres };
    const urls = { engine, queue, postgres };
    for (const server of SERVERS) links[server] = await openLink(urls[server]);
    api = await startService('api', {
      REDIS_URL: links.engine.url,
      QUEUE_REDIS_URL: links.queue.url,
      DATABASE_URL: links.postgres.url,
      JWT_SECRET: 'a secret of the tests, 32 bytes or more',
      WEB_HOSTS: 'redbook.example',
      PORT: String(await freePort()),
    });
    await operate(direct, 'market', 'create', 'ETH/USDC', ...marketRules(), '--fee-bps', '10');
    await operate(direct, 'account', 'credit', alice.address, 'USDC', '1000000', '--reference', 'a deposit');
    call = (await signIn(api.url, alice))(api.url);
  });
  after(async () => {
    await api?.end('SIGKILL');
    for (const link of Object.values(links)) link.close();
  });

  /**
   * Sends many concurrent requests.
   * @param quickestMs gets the shortest latency of each endpoint
   * @returns the distinct statuses with their codes
   */
  const ask = async (of: () => Request[], quickestMs = new Map<string, number>()): Promise<string[]> => {
    const answers = new Set<string>();
    const all = Array.from({ length: AT_ONCE }, of).flat();
    await Promise.all(
      all.map(async ([method, path, body]) => {
        const begunMs = performance.now();
        const { status, body: reply } = await call(method, path, body);
        const endpoint = `${method} ${path}`;
        const tookMs = performance.now() - begunMs;
        quickestMs.set(endpoint, Math.min(quickestMs.get(endpoint) ?? tookMs, tookMs));
        answers.add(status === 200 ? '200' : `${status} ${reply.code}`);
      }),
    );
    return [...answers].sort();
  };

  /** Runs `work` and returns the longest latency meanwhile of a request that depends on no server. */
  const slowestWhile = async (work: () => Promise<void>): Promise<number> => {
    let slowestMs = 0;
    let isOver = false;
    const watched = (async () => {
      while (!isOver) {
        const begunMs = performance.now();
        await (await fetch(`${api.url}/livez`)).text();
        slowestMs = Math.max(slowestMs, performance.now() - begunMs);
        await sleep(100);
      }
    })();
    try {
      await work();
    } finally {
      isOver = true;
      await watched;
    }
    return slowestMs;
  };

  it('reads no file for the first request of a kind, and repeats failed reads of the documentation', async () => {
    const setLimit = (descriptors: string): void => {
      const { status } = spawnSync('prlimit', ['--pid', String(api.child.pid), `--nofile=${descriptors}:`]);
      expect(status).to.equal(0);
    };
    const max = spawnSync('prlimit', [
      '--pid',
      String(api.child.pid),
      '--nofile',
      '--output=SOFT',
      '--noheadings',
    ]);
    const page = await (await fetch(`${api.url}/docs`)).text();
    const [file] = /docs\/[\w.]+\/swagger-ui\.css/.exec(page)!;
    const styles = async (): Promise<number> => {
      const response = await fetch(`${api.url}/${file}`);
      await response.text();
      return response.status;
    };
    // Leaves a connection to the requests below.
    await call('GET', '/v1/status');
    setLimit('3');
    try {
      expect((await call('DELETE', '/v1/orders')).status).to.equal(200);
      expect(await styles(), 'a file of the documentation').to.equal(500);
    } finally {
      setLimit(String(max.stdout).trim());
    }
    expect(await styles(), 'the same file later').to.equal(200);
  });

  for (const server of SERVERS) {
    for (const manner of ['cut', 'stall'] as const) {
      it(`reports it in time and recovers: ${server}, ${manner === 'cut' ? 'gone' : 'hung'}`, async () => {
        const { refused, served } = requests[server];
        links[server][manner]();
        try {
          const quickestMs = new Map<string, number>();
          const waitedMs = await slowestWhile(async () => {
            for (let wave = 0; wave < 2; wave += 1)
              expect(await ask(refused, quickestMs)).to.deep.equal(['503 SERVICE_UNAVAILABLE']);
          });
          for (const [endpoint, ms] of quickestMs)
            expect(ms - waitedMs, `${endpoint} after ${ms} ms`).to.be.below(SAID_WITHIN_MS);
          expect(await ask(served)).to.deep.equal(served().length > 0 ? ['200'] : []);
          // Trading continues without Postgres.
          const isReadyThen = server === 'postgres';
          await eventually('its readiness shows it', async () => (await isReady(api.url)) === isReadyThen);
          // A balancer still sends requests to it, and it refuses them with a code.
          expect((await fetch(`${api.url}/readyz`)).status).to.equal(200);
        } finally {
          await links[server].mend();
        }
        await eventually('it is ready again', () => isReady(api.url), HEALED_WITHIN_MS);
        await eventually(
          'all is served',
          async () => {
            const { status } = await call(...refused()[0]!);
            return status === 200 && (await ask(served)).every((answer) => answer === '200');
          },
          HEALED_WITHIN_MS,
        );
      });
    }
  }

  it('logs each loss and each return once, and writes nothing else', () => {
    const lines = api.output().trim().split('\n');
    const messages = lines.map((line) => String(JSON.parse(line).msg));
    for (const [server, setting] of [
      ['engine', 'REDIS_URL'],
      ['queue', 'QUEUE_REDIS_URL'],
    ] as const) {
      const name = `Redis at ${new URL(links[server].url).host} (${setting})`;
      const told = messages.filter((message) => message.includes(name));
      const expected = [`waiting for ${name}`, `${name} is back`];
      // An outage of more than ten seconds is logged again.
      const changes = told
        .map((message) => message.replace(/(\)): .*/, '$1'))
        .filter((message, at, all) => message !== all[at - 1]);
      expect(changes, told.join('\n')).to.deep.equal([...expected, ...expected]);
    }
    expect(messages).to.not.include('queue');
  });
});
