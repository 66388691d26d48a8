/** Attacks by connections, by what they leave unread, and by requests that cost more than they should. */

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoginTypedData } from '../../../src/auth/index.ts';
import { challengeKey } from '../../../src/auth/keys.ts';
import { readWidePlace, writePlace } from '../../../src/contract/list-cursor.ts';
import { ethersSigner } from '../../auth/signers.ts';
import type { Ground } from './ground.ts';
import { makeTrades, ofToday } from './orders.ts';
import type { Attack } from './table.ts';

const IN_VAIN = { side: 'buy', price: 1, size: 0.001 };
const REST = { ...IN_VAIN, timeInForce: 'GTC' };
const IOC = { ...IN_VAIN, timeInForce: 'IOC' };

const withId = (ground: Ground, order: object): object => ({
  ...order,
  clientOrderId: `${'x'.repeat(90)}${ground.serial()}`,
});

const repeated = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

/** Gives each wallet funds and orders. */
async function fill(
  ground: Ground,
  wallets: ReturnType<Ground['wallets']>,
  { usdc, orders }: { readonly usdc: string; readonly orders: () => object[] },
): Promise<void> {
  await ground.credit(wallets, 'USDC', usdc);
  await ground.all(wallets, (wallet) => ground.place(wallet, orders()));
}

/** Lists of some wallets, asked for in pipelines that nobody reads. */
export const unreadLists: Attack = {
  name: 'lists that nobody reads',
  async begin(ground) {
    const wallets = ground.wallets(ground.pick(4, 17));
    await fill(ground, wallets, { usdc: '10', orders: () => repeated(100, () => withId(ground, IOC)) });
    for (const wallet of wallets) {
      const list = ground.text({ path: '/v1/orders', wallet }).repeat(60);
      for (let socket = 0; socket < ground.pick(4, 40); socket += 1) ground.deaf(ground.stage.api, list);
    }
    // The requests themselves are a burst, which a balancer stops. The replies that lie there are the attack.
    await ground.untilAnswered(ground.stage.api);
  },
};

/** Cancels of many orders, whose replies nobody reads. */
export const unreadCancels: Attack = {
  name: 'cancels that nobody reads',
  async begin(ground) {
    const wallet = ground.wallet(0);
    await ground.credit([wallet], 'USDC', '100');
    ground.repeat(async () => {
      await ground.place(
        wallet,
        repeated(ground.pick(500, 5_000), () => withId(ground, REST)),
      );
      ground.deaf(ground.stage.api, ground.text({ method: 'DELETE', path: '/v1/orders', wallet }), false);
    });
  },
  async end(ground) {
    await ground.ask({ method: 'DELETE', path: '/v1/orders', wallet: ground.wallet(0) });
  },
};

/** Bytes of requests that a server reads from a connection at once. */
const OF_READ = 65_536;

/** Refusals of one address that nobody reads. */
export const unreadRefusals: Attack = {
  name: 'refusals that nobody reads',
  async begin(ground) {
    const text = ground.text({ path: '/v1/orders', from: '203.0.113.78' });
    const pipeline = text.repeat(Math.floor(OF_READ / text.length));
    for (let socket = 0; socket < ground.pick(40, 400); socket += 1) ground.deaf(ground.stage.api, pipeline);
  },
};

/** Reports of finance of one key that nobody reads. Another key's must be answered. */
export const unreadReports: Attack = {
  name: 'reports of finance that nobody reads',
  async begin(ground) {
    await makeTrades(ground, ground.pick(2_000, 10_000));
    const [key, honest] = ground.stage.keys;
    const report = ground.text({ path: `/operator/v1/entries?${ofToday()}`, key });
    for (let socket = 0; socket < 3; socket += 1) ground.deaf(ground.stage.operator, report);
    ground.repeat(async () => {
      const { status, text } = await ground.ask({
        path: `/operator/v1/fees?${ofToday()}&by=day`,
        key: honest,
      });
      if (status !== 200) ground.found(`a report of another key was answered ${status}: ${text}`);
    }, 500);
  },
};

/** Requests for changes after a place inside an event that never was. */
export const madeUpPlaces: Attack = {
  name: 'made-up cursors of changes',
  async begin(ground) {
    const wallets = ground.wallets(ground.pick(2, 4));
    await fill(ground, wallets, { usdc: '100', orders: () => repeated(ground.pick(500, 4_000), () => IOC) });
    const max = 20_000;
    for (const wallet of wallets) {
      const scope = { list: 'changes', wallet };
      const { cursor } = await ground.need({ path: '/v1/orders/changes', wallet });
      const [server] = readWidePlace(scope, String(cursor), 3, 'after') as [bigint, bigint, bigint];
      let sequence = 0n;
      ground.repeat(async () => {
        sequence += 1n;
        const place = writePlace(scope, [server, (1n << 48n) | sequence, (1n << 32n) - 2n]);
        const { text } = await ground.ask({ path: `/v1/orders/changes?limit=1&after=${place}`, wallet });
        if (text.length > max) ground.found(`a page of one change has ${text.length} bytes`);
      });
    }
  },
};

const ISSUE = `
  for index = tonumber(ARGV[2]), tonumber(ARGV[3]) - 1 do
    redis.call('SET', string.format('%s0x%040x', ARGV[1], index), ARGV[4], 'PX', 60000)
  end`;
const OF_SCRIPT = 20_000;

async function signIn(ground: Ground, from: string): Promise<void> {
  const signer = ethersSigner();
  const { address } = signer;
  const challenge = await ground.ask({ method: 'POST', path: '/v1/auth/challenge', body: { address }, from });
  const signature = await signer.signTyped(JSON.parse(challenge.text).typedData as LoginTypedData);
  const body = { address, signature };
  const { status, text } = await ground.ask({ method: 'POST', path: '/v1/auth/verify', body, from });
  if (status !== 200) ground.found(`a sign-in was answered ${status}: ${text}`);
}

/** Challenges that nobody answers: many lie there, and more are asked for from many addresses. */
export const unansweredChallenges: Attack = {
  name: 'challenges that nobody answers',
  async begin(ground) {
    const redis = ground.redis(ground.stage.queueUrl);
    const record = `${'0'.repeat(32)} ${new Date().toISOString()}`;
    for (let at = 0; at < ground.pick(20_000, 1_000_000); at += OF_SCRIPT)
      await redis.eval(ISSUE, 0, challengeKey('eip712', ''), at, at + OF_SCRIPT, record);
    let asked = 0;
    const addressOf = (block: number): string => `100.${block}.${(asked >> 8) & 255}.${asked & 255}`;
    ground.flood(ground.pick(2, 8), 1, () => {
      asked += 1;
      const body = { address: ground.wallet(asked) };
      return ground.text({ method: 'POST', path: '/v1/auth/challenge', body, from: addressOf(70) });
    });
    ground.repeat(async () => {
      asked += 1;
      await signIn(ground, addressOf(71));
    }, 100);
  },
};

const GAUGES = ['redbook_waiting_requests', 'redbook_http_requests_in_flight'];
/** Requests of others that may be in flight at a look. */
const OF_OTHERS = 20;

async function gaugesOf({ stage }: Ground): Promise<Map<string, number>> {
  const text = await (await fetch(`http://127.0.0.1:${stage.api}/metrics`)).text();
  return new Map(
    GAUGES.map((name) => [name, Number(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)`, 'm').exec(text)?.[1])]),
  );
}

/** Pipelines of requests on connections that leave, also in the middle of waits. */
export const leavingConnections: Attack = {
  name: 'pipelines of connections that leave',
  async begin(ground) {
    const wallets = ground.wallets(ground.pick(5, 10));
    const pipelines: string[] = [];
    for (const wallet of wallets) {
      const { cursor } = await ground.need({ path: '/v1/orders/changes', wallet });
      const wait = ground.text({ path: `/v1/orders/changes?wait=25&after=${cursor}`, wallet });
      pipelines.push(`${ground.text({ path: '/v1/markets' }).repeat(50)}${wait.repeat(10)}`);
    }
    ground.repeat(async () => {
      const sockets = pipelines.map((text) => {
        const socket = ground.socket(ground.stage.api);
        socket.write(text);
        return socket;
      });
      await sleep(300);
      for (const socket of sockets) socket.destroy();
    }, 500);
  },
  async end(ground) {
    for (let tries = 0; tries < 100; tries += 1) {
      const gauges = [...(await gaugesOf(ground)).values()];
      if (gauges.every((value) => value <= OF_OTHERS)) return;
      await sleep(100);
    }
    ground.found(`counters did not come back: ${JSON.stringify([...(await gaugesOf(ground))])}`);
  },
};

const HANDSHAKE =
  'GET /ws HTTP/1.1\r\nHost: redbook.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n' +
  'X-Forwarded-For: 203.0.113.77\r\n\r\n';

/** Handshakes of one address, each of which leaves at the first bytes. */
export const streamHandshakes: Attack = {
  name: 'handshakes of one address',
  async begin(ground) {
    const { stream, handshakesPerMinute } = ground.stage;
    const beganMs = Date.now();
    let opened = 0;
    for (let lane = 0; lane < ground.pick(10, 80); lane += 1)
      ground.repeat(async () => {
        const socket = ground.socket(stream);
        socket.write(HANDSHAKE);
        const [chunk] = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [''])]);
        if (String(chunk).startsWith('HTTP/1.1 101')) opened += 1;
        socket.destroy();
        const minutes = 1 + (Date.now() - beganMs) / 60_000;
        if (opened > handshakesPerMinute * minutes + 1) ground.found(`${opened} handshakes were accepted`);
      });
  },
};
