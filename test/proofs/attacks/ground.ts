/** The place of one attack: the service as any client reaches it, and what an attack needs to send and to leave again. */

import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { openSessions } from '../../../src/auth/session.ts';

/** Processes and servers behind one trusted proxy. */
export interface Stage {
  /** Ports of one process each. */
  readonly api: number;
  readonly stream: number;
  readonly operator: number;
  /** Users that may do everything. The two are different servers. */
  readonly engineUrl: string;
  readonly queueUrl: string;
  /** Signs sessions, so that no attack waits for the limit of sign-ins. */
  readonly secret: string;
  /** Keys of operator-api with the rights `read` and `credit`: one that attacks, and one that does not. */
  readonly keys: readonly [attacks: string, honest: string];
  readonly handshakesPerMinute: number;
  /** Market of the attacks, against USDC. */
  readonly market: string;
}

/** `small` for a play that lasts seconds, `full` for what the bench measures beside. */
export type Scale = 'small' | 'full';

/** A request, as far as attacks send some. */
export interface Plain {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  /** Sends a session of the wallet, or a key. */
  readonly wallet?: string;
  readonly key?: string;
  readonly body?: object;
  /** Address that the proxy appends. */
  readonly from?: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

const PATIENCE_MS = 30_000;
const AT_ONCE = 40;
/** Events of others that may be unsettled at a look. */
const SETTLED_BUT = 100;
const MOVEMENTS_AT_ONCE = 64;
const ORDERS_OF_BATCH = 50;
const REOPENS_AFTER_MS = 5_000;
/** A process makes its metrics anew once a second. */
const LOOKS_APART_MS = 1_500;
/** Between two looks. A burst is answered many times as fast. */
const ANSWERED_TO_OTHERS = 200;

/** Returns the number of requests that a process has answered, scrapes left out. */
async function answeredBy(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const counts = text.matchAll(/^redbook_http_request_seconds_count\{(.*)\} (\d+)$/gm);
  return [...counts].reduce(
    (sum, [, labels, count]) => sum + (labels!.includes('"/metrics"') ? 0 : Number(count)),
    0,
  );
}

export class Ground {
  readonly stage: Stage;
  readonly findings: string[] = [];
  isStopped = false;
  readonly #name: string;
  readonly #scale: Scale;
  readonly #sessions: ReturnType<typeof openSessions>;
  readonly #sockets = new Set<Socket>();
  readonly #loops: Promise<void>[] = [];
  readonly #servers: Redis[] = [];
  /** Ends requests that wait when the attack ends. */
  #ending = new AbortController();
  #serial = 0;

  constructor(name: string, stage: Stage, scale: Scale) {
    this.#name = name;
    this.stage = stage;
    this.#scale = scale;
    const { secret } = stage;
    this.#sessions = openSessions({ issuer: 'Redbook', secret, previousSecret: undefined, nowMs: Date.now });
  }

  pick<T>(small: T, full: T): T {
    return this.#scale === 'small' ? small : full;
  }

  found(what: string): void {
    if (!this.findings.includes(what)) this.findings.push(what);
  }

  /** A wallet of this attack. */
  wallet(index: number): string {
    return `0x${createHash('sha256').update(`${this.#name} ${index}`).digest('hex').slice(0, 40)}`;
  }

  wallets(count: number): string[] {
    return Array.from({ length: count }, (_none, index) => this.wallet(index));
  }

  /** Returns a text that no earlier call returned. */
  serial(): string {
    this.#serial += 1;
    return `${process.pid}-${Date.now()}-${this.#serial}`;
  }

  /** Writes a request as bytes of a pipeline. */
  text(plain: Plain): string {
    const { method = 'GET', path, body } = plain;
    const json = body === undefined ? '' : JSON.stringify(body);
    const headers = { ...this.#headers(plain), 'Content-Length': `${Buffer.byteLength(json)}` };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return `${method} ${path} HTTP/1.1\r\nHost: redbook.example\r\n${lines.join('')}\r\n${json}`;
  }

  #headers({ wallet, key, from }: Plain): Record<string, string> {
    const token = wallet === undefined ? key : this.#sessions.issue(wallet);
    return {
      'Content-Type': 'application/json',
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(from === undefined ? {} : { 'X-Forwarded-For': from }),
    };
  }

  async ask(plain: Plain): Promise<Answer> {
    const { method = 'GET', path, body } = plain;
    const port = path.startsWith('/operator/') ? this.stage.operator : this.stage.api;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: this.#headers(plain),
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.any([AbortSignal.timeout(PATIENCE_MS), this.#ending.signal]),
    });
    return { status: response.status, text: await response.text() };
  }

  /** Asks for something that the attack cannot do without. */
  async need(plain: Plain): Promise<Record<string, unknown>> {
    const { status, text } = await this.ask(plain);
    if (status > 201) throw new Error(`${plain.path} answered ${status}: ${text}`);
    return JSON.parse(text);
  }

  /** Runs many steps, some at a time. */
  async all<T>(items: readonly T[], step: (item: T, index: number) => Promise<unknown>): Promise<void> {
    const left = [...items.entries()];
    const lane = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined && !this.isStopped; next = left.shift())
        await step(next[1], next[0]);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
  }

  async credit(wallets: readonly string[], asset: string, amount: string): Promise<void> {
    const movements = wallets.map((wallet) => ({
      reference: `${this.#name} ${asset} ${wallet}`,
      kind: 'deposit',
      reason: 'attack',
      wallet,
      asset,
      amount,
    }));
    for (let at = 0; at < movements.length; at += MOVEMENTS_AT_ONCE) {
      const body = { movements: movements.slice(at, at + MOVEMENTS_AT_ONCE) };
      await this.need({ method: 'POST', path: '/operator/v1/movements', key: this.stage.keys[0], body });
    }
  }

  /** Completes an order of the market. */
  order(order: object): object {
    return { market: this.stage.market, type: 'limit', ...order };
  }

  get base(): string {
    return this.stage.market.split('/')[0]!;
  }

  /** Waits until Postgres has nearly all events. */
  async untilSettled(): Promise<void> {
    for (;;) {
      const { settlement } = (await this.need({ path: '/operator/v1/status', key: this.stage.keys[1] })) as {
        settlement: { lag: { events: number } };
      };
      if (settlement.lag.events < SETTLED_BUT) return;
      await sleep(100);
    }
  }

  /** Waits until the process at a port has answered what it can of a burst, and answers others alone. */
  async untilAnswered(port: number): Promise<void> {
    for (let before = Number.NEGATIVE_INFINITY; ; await sleep(LOOKS_APART_MS)) {
      const answered = await answeredBy(port);
      if (answered - before < ANSWERED_TO_OTHERS) return;
      before = answered;
    }
  }

  /** Places orders in order batches. Returns how many of them answered 200. */
  async place(wallet: string, orders: readonly object[]): Promise<number> {
    const batches: object[][] = [];
    for (let at = 0; at < orders.length; at += ORDERS_OF_BATCH)
      batches.push(orders.slice(at, at + ORDERS_OF_BATCH));
    let placed = 0;
    for (const batch of batches) {
      if (this.isStopped) break;
      const body = { orders: batch.map((order) => this.order(order)) };
      const { status, text } = await this.ask({ method: 'POST', path: '/v1/orders/batch', wallet, body });
      if (status !== 200) continue;
      const { results } = JSON.parse(text) as { results: { status: number }[] };
      placed += results.filter((result) => result.status === 200).length;
    }
    return placed;
  }

  /** Opens a connection that sends a text and reads nothing. It opens again when it ends, unless told otherwise. */
  deaf(port: number, text: string, opensAgain = true): void {
    const socket = this.socket(port, () => {
      if (opensAgain) setTimeout(() => this.deaf(port, text), REOPENS_AFTER_MS).unref();
    });
    socket.pause();
    socket.write(text);
  }

  /** @param onEnd called when the other side has ended the connection */
  socket(port: number, onEnd: () => void = () => undefined): Socket {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    if (this.isStopped) socket.destroy();
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      if (!this.isStopped) onEnd();
    });
    return socket;
  }

  /** Sends requests on connections, each as soon as an earlier one is answered. */
  flood(connections: number, pipelined: number, next: () => string): void {
    for (let index = 0; index < connections; index += 1) {
      const socket = this.socket(this.stage.api, () => this.flood(1, pipelined, next));
      const head = 'HTTP/1.1 ';
      let rest = '';
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        const text = rest + chunk;
        const answers = text.split(head).length - 1;
        rest = text.slice(-(head.length - 1));
        if (answers > 0) socket.write(Array.from({ length: answers }, next).join(''));
      });
      socket.write(Array.from({ length: pipelined }, next).join(''));
    }
  }

  /** Runs a step again and again until the attack ends. A step that fails is a finding. */
  repeat(step: () => Promise<void>, pauseMs = 0): void {
    const loop = async (): Promise<void> => {
      while (!this.isStopped) {
        try {
          await step();
        } catch (error) {
          if (!this.isStopped) this.found(`a step of the attack failed: ${error}`);
        }
        await sleep(pauseMs);
      }
    };
    this.#loops.push(loop());
  }

  redis(url: string): Redis {
    const redis = new Redis(url);
    this.#servers.push(redis);
    return redis;
  }

  /** Ends all that the attack holds. */
  async stop(): Promise<void> {
    this.isStopped = true;
    for (const socket of this.#sockets) socket.destroy();
    this.#ending.abort();
    await Promise.all(this.#loops);
    this.#ending = new AbortController();
  }

  close(): void {
    for (const redis of this.#servers) redis.disconnect();
  }
}
