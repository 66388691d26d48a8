/** A TCP proxy before the real service, with the same faults as the network of the model. */

import {
  createServer,
  request as forward,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fate } from './fates.ts';
import { proxyAnswer } from './faulty-network.ts';

interface Passing {
  readonly atMs: number;
  readonly body: string;
  /** Undefined if no complete answer was forwarded. */
  answeredStatus?: number;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface FaultyProxy {
  /** URL of the service for one case. The first segment of its path is the name of the case. */
  urlFor(name: string): string;
  /** Requests and answers of one case. */
  passings(name: string): readonly Passing[];
  /** Resolves when nothing is in flight any more. */
  quiet(): Promise<void>;
  close(): void;
}

export interface ProxyOptions {
  readonly port: number;
  readonly now: () => number;
  /** Factor by which time runs faster here than in the definitions of the faults. */
  readonly haste: number;
  fateOf(name: string): Fate;
}

export async function openFaultyProxy(options: ProxyOptions): Promise<FaultyProxy> {
  const passings = new Map<string, Passing[]>();
  const onTheWay = new Set<Promise<void>>();
  const server: Server = createServer((request, response) => {
    const [, name = '', path = ''] = /^\/([^/]+)(\/.*)$/.exec(request.url!) ?? [];
    const fate = options.fateOf(name);
    const seen = passings.get(name) ?? [];
    passings.set(name, seen);
    const carried = carry(options, { request, response, path, fate, seen }).catch(() => undefined);
    onTheWay.add(carried);
    void carried.finally(() => onTheWay.delete(carried));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    urlFor: (name) => `http://127.0.0.1:${port}/${name}`,
    passings: (name) => passings.get(name) ?? [],
    async quiet() {
      while (onTheWay.size > 0) await Promise.all(onTheWay);
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface Carrying {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly fate: Fate;
  readonly seen: Passing[];
}

async function carry(
  options: ProxyOptions,
  { request, response, path, fate, seen }: Carrying,
): Promise<void> {
  const body = await bodyOf(request);
  const passing: Passing = { atMs: options.now(), body };
  seen.push(passing);
  const arrive = (headers = request.headers): Promise<Answer> =>
    ask(options.port, request.method!, path, headers, body);
  const wait = (ms: number): Promise<void> => sleep(ms / options.haste);
  const answer = ({ status, headers, text }: Answer): void => {
    passing.answeredStatus = status;
    response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) }).end(text);
  };
  switch (fate.kind) {
    case 'pass':
      return answer(await arrive());
    case 'lose request':
      return;
    case 'refuse connection':
      return void request.socket.destroy();
    case 'delay request':
      await wait(fate.delayMs);
      return answer(await arrive());
    case 'lose answer':
      return void (await arrive());
    case 'cut answer':
      await arrive();
      return void request.socket.destroy();
    case 'half answer': {
      const { status, headers, text } = await arrive();
      response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) });
      response.write(text.slice(0, text.length / 2), () => request.socket.destroy());
      return;
    }
    case 'delay answer': {
      const late = await arrive();
      await wait(fate.delayMs);
      return answer(late);
    }
    case 'repeat request':
      await arrive();
      await wait(fate.delayMs);
      return answer(await arrive());
    case 'repeat answer': {
      const twice = await arrive();
      passing.answeredStatus = twice.status;
      const bytes = rawAnswer(twice);
      return void request.socket.write(bytes + bytes);
    }
    case 'proxy answer':
      if (fate.arrives) await arrive();
      return answer(proxyAnswer(fate.status));
    case 'end session':
      return answer(await arrive({ ...request.headers, authorization: 'Bearer of.no.session' }));
  }
}

async function bodyOf(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of message) text += chunk;
  return text;
}

function ask(
  port: number,
  method: string,
  path: string,
  headers: IncomingMessage['headers'],
  body: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { 'accept-encoding': _, ...kept } = headers;
    const sent = forward({ host: '127.0.0.1', port, method, path, headers: kept }, (reply) => {
      const status = reply.statusCode!;
      const { connection: _connection, 'transfer-encoding': _encoding, ...own } = reply.headers;
      bodyOf(reply).then((text) => resolve({ status, headers: own, text }), reject);
    });
    sent.on('error', reject).end(body);
  });
}

function rawAnswer({ status, headers, text }: Answer): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} As it is`, ...lines, '', text].join('\r\n');
}
