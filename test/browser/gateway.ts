/**
 * The ingress of the browser tests: routes streams to one process and everything else to the api. It can lose requests
 * and replies.
 */

import { Agent, createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { connect, type Socket } from 'node:net';
import { freePort } from '../support/ports.ts';

export interface Ports {
  readonly api: number;
  readonly stream: number;
}

export interface Gateway {
  readonly url: string;
  /**
   * Loses the reply to the next matching request: the service answers it, and the client's connection breaks.
   * @param meanwhile runs after the service's answer and before the connection breaks
   * @returns a promise that resolves when the connection is broken
   */
  loseNextReply(method: string, path: string, meanwhile?: () => Promise<void>): Promise<void>;
  /** Loses every matching request from now on: none reaches the service. Chromium sends some of them twice. */
  loseRequests(method: string, path: string): LostRequests;
  /** Method and path of each request so far, the oldest first. */
  readonly requests: readonly string[];
  close(): void;
}

interface LostRequests {
  /** Resolves when the first request is lost. */
  readonly first: Promise<void>;
  /** Lets requests through again. */
  stop(): void;
}

/** A reply to lose. */
interface Loss {
  readonly line: string;
  readonly meanwhile: (() => Promise<void>) | undefined;
  readonly done: () => void;
}

const lineOf = ({ method, url }: IncomingMessage): string => `${method} ${url?.split('?')[0]}`;

/** Forwards a reply, or 502 if the service does not answer. */
function forward(
  request: IncomingMessage,
  response: ServerResponse,
  port: number,
  agent: Agent,
  loss?: Loss,
): void {
  const { method, url, headers } = request;
  const upstream = send({ host: '127.0.0.1', port, method, path: url, headers, agent }, async (reply) => {
    if (loss !== undefined) {
      reply.resume();
      await loss.meanwhile?.();
      request.socket.destroy();
      loss.done();
      return;
    }
    response.writeHead(reply.statusCode!, reply.headers);
    reply.on('error', () => response.destroy());
    reply.pipe(response);
  });
  upstream.on('error', () => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { 'content-type': 'text/plain' }).end('Bad Gateway');
  });
  response.on('close', () => upstream.destroy());
  request.pipe(upstream);
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

export async function openGateway(ports: Ports): Promise<Gateway> {
  const port = await freePort();
  const agent = new Agent({ keepAlive: true });
  const requests: string[] = [];
  const losses: Loss[] = [];
  const swallowing = new Map<string, () => void>();
  const server = createServer((request, response) => {
    const line = lineOf(request);
    requests.push(line);
    const swallowed = swallowing.get(line);
    if (swallowed !== undefined) {
      request.socket.destroy();
      swallowed();
      return;
    }
    const index = losses.findIndex((loss) => loss.line === line);
    const loss = index < 0 ? undefined : losses.splice(index, 1)[0];
    forward(request, response, ports.api, agent, loss);
  });
  const clients = new Set<Socket>();
  server.on('upgrade', (request, socket: Socket, head) => {
    clients.add(socket);
    socket.once('close', () => clients.delete(socket));
    forwardUpgrade(request, socket, head, ports.stream);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    loseNextReply: (method, path, meanwhile) =>
      new Promise((done) => {
        losses.push({ line: `${method} ${path}`, meanwhile, done });
      }),
    loseRequests(method, path) {
      const line = `${method} ${path}`;
      const first = new Promise<void>((resolve) => swallowing.set(line, resolve));
      return { first, stop: () => swallowing.delete(line) };
    },
    close() {
      agent.destroy();
      server.close();
      server.closeAllConnections();
      for (const client of clients) client.destroy();
    },
  };
}
