/**
 * An HTTP proxy before the service, which streams can pass as well. Each request and its answer can meet a fault; what
 * connections of other protocols meet is in link.ts.
 */

import { Agent, createServer, type IncomingMessage, request as send } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { carry, type Fate, PROXY_TEXT, proxyHeaders } from './fates.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** The fate of one request. */
interface Carriage {
  readonly port: number;
  readonly path: string;
  readonly fate: Fate;
  /** Called with the body of the request when the proxy has all of it. */
  onRequest?(body: string): void;
  /** Called when the service has answered, and the answer is not forwarded yet. */
  onArrived?(): Promise<void>;
  /** Called when a whole answer is forwarded, or when the connection is cut. */
  onEnd?(status: number | undefined): void;
}

export interface HttpProxy {
  readonly url: string;
  /** Resolves when nothing is under way any more. */
  quiet(): Promise<void>;
  /** Breaks the streams that pass here. */
  cutStreams(): void;
  close(): void;
}

export interface HttpProxyOptions {
  carriageOf(request: IncomingMessage): Carriage;
  /** Port of the process that takes upgrades. */
  readonly streamPort?: number;
  /** Factor by which time runs faster here than in the definitions of the faults. */
  readonly haste?: number;
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function openHttpProxy({
  carriageOf,
  streamPort,
  haste = 1,
}: HttpProxyOptions): Promise<HttpProxy> {
  const agent = new Agent({ keepAlive: true });
  const underWay = new Set<Promise<void>>();
  const upgraded = new Set<Socket>();
  const server = createServer((request, response) => {
    const { port, path, fate, ...told } = carriageOf(request);
    const body = bodyOf(request);
    const arrive = async (hasSession: boolean): Promise<Answer> => {
      const headers = hasSession ? {} : { authorization: 'Bearer of.no.session' };
      const options = { method: request.method, headers: { ...request.headers, ...headers } };
      const answer = await ask({ host: '127.0.0.1', port, path, agent, ...options }, await body);
      await told.onArrived?.();
      return answer;
    };
    const work = async (): Promise<void> => {
      told.onRequest?.((await body).toString());
      await carry<Answer>(fate, {
        arrive,
        answer(answer) {
          told.onEnd?.(answer.status);
          response.writeHead(answer.status, answer.headers).end(answer.body);
        },
        half({ status, headers, body: whole }) {
          response.writeHead(status, headers);
          response.write(whole.subarray(0, whole.length / 2), () => request.socket.destroy());
        },
        twice(answer) {
          told.onEnd?.(answer.status);
          const bytes = Buffer.concat([Buffer.from(headOf(answer)), answer.body]);
          request.socket.write(Buffer.concat([bytes, bytes]));
        },
        cut() {
          request.socket.destroy();
          told.onEnd?.(undefined);
        },
        wait: (ms) => sleep(ms / haste),
        proxied: (status) => ({ status, headers: proxyHeaders(status), body: Buffer.from(PROXY_TEXT) }),
      });
    };
    const carried = work().catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502, { 'content-type': 'text/plain' }).end('Bad Gateway');
    });
    underWay.add(carried);
    void carried.finally(() => underWay.delete(carried));
  }).listen(0, '127.0.0.1');
  server.on('upgrade', (request, socket: Socket, head) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    forwardUpgrade(request, socket, head, streamPort!);
  });
  const cutStreams = (): void => {
    for (const socket of upgraded) socket.destroy();
  };
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async quiet() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
    cutStreams,
    close() {
      agent.destroy();
      server.close();
      server.closeAllConnections();
      cutStreams();
    },
  };
}

/** @returns the whole answer, with its length in place of chunks */
function ask(options: object, body: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = send(options, (reply) => {
      const { connection: _connection, 'transfer-encoding': chunks, ...headers } = reply.headers;
      bodyOf(reply).then((text) => {
        const length = chunks === undefined ? {} : { 'content-length': String(text.length) };
        resolve({ status: reply.statusCode!, headers: { ...headers, ...length }, body: text });
      }, reject);
    });
    sent.on('error', reject).end(body);
  });
}

function headOf({ status, headers }: Answer): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} As it is`, ...lines, '', ''].join('\r\n');
}

function forwardUpgrade(request: IncomingMessage, client: Socket, head: Buffer, port: number): void {
  const upstream = connect(port, '127.0.0.1', () => {
    const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
    upstream.write(`${request.method} ${request.url} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
    upstream.write(head);
    client.pipe(upstream).pipe(client);
  });
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    one.on('error', () => undefined);
    one.once('close', () => other.destroy());
  }
}
