/**
 * The ingress of the browser tests: routes streams to one process and everything else to the api. It can lose requests
 * and replies.
 */

import { type HttpProxy, openHttpProxy } from '../support/http-proxy.ts';

export interface Ports {
  readonly api: number;
  readonly stream: number;
}

export interface Gateway extends Pick<HttpProxy, 'url' | 'close'> {
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

const PASS = { kind: 'pass', delayMs: 0 } as const;

export async function openGateway(ports: Ports): Promise<Gateway> {
  const requests: string[] = [];
  const losses: Loss[] = [];
  const swallowing = new Map<string, () => void>();
  const { url, close } = await openHttpProxy({
    streamPort: ports.stream,
    carriageOf(request) {
      const line = `${request.method} ${request.url?.split('?')[0]}`;
      requests.push(line);
      const way = { port: ports.api, path: request.url! };
      const swallowed = swallowing.get(line);
      if (swallowed !== undefined) return { ...way, fate: { kind: 'refuse connection' }, onEnd: swallowed };
      const index = losses.findIndex((loss) => loss.line === line);
      if (index < 0) return { ...way, fate: PASS };
      const [{ meanwhile, done }] = losses.splice(index, 1) as [Loss];
      return {
        ...way,
        fate: { kind: 'cut answer' },
        onEnd: done,
        ...(meanwhile && { onArrived: meanwhile }),
      };
    },
  });
  return {
    url,
    close,
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
  };
}
