/**
 * A TCP proxy to a server. A test can cut it, as if the server died, or stall it, as if the server hung or the network
 * was lost.
 */

import { connect, createServer, type Socket } from 'node:net';
import { freePort } from './ports.ts';

export interface Link {
  /** URL of the server through the link. */
  readonly url: string;
  /** Breaks connections and refuses new ones. */
  cut(): void;
  /** Keeps connections and accepts new ones, but forwards nothing. */
  stall(): void;
  /** Forwards requests but no replies. */
  mute(): void;
  mend(): Promise<void>;
  close(): void;
}

export async function openLink(target: string): Promise<Link> {
  const { hostname, port: targetPort } = new URL(target);
  const port = await freePort();
  const pairs = new Set<readonly [Socket, Socket]>();
  let isStalled = false;

  const server = createServer((client) => {
    const upstream = connect(Number(targetPort), hostname);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    for (const [one, other] of [pair, [upstream, client] as const]) {
      one.setNoDelay().on('error', () => undefined);
      one.once('close', () => {
        pairs.delete(pair);
        other.destroy();
      });
    }
    if (isStalled) hold(pair);
    else release(pair);
  });
  const listen = (): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const breakAll = (): void => {
    for (const [client, upstream] of pairs) for (const socket of [client, upstream]) socket.destroy();
  };
  await listen();

  const url = new URL(target);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    cut() {
      server.close();
      breakAll();
    },
    stall() {
      isStalled = true;
      for (const pair of pairs) hold(pair);
    },
    mute() {
      for (const [client, upstream] of pairs) upstream.unpipe(client).pause();
    },
    async mend() {
      isStalled = false;
      for (const pair of pairs) {
        hold(pair);
        release(pair);
      }
      if (!server.listening) await listen();
    },
    close() {
      server.close();
      breakAll();
    },
  };
}

function hold([client, upstream]: readonly [Socket, Socket]): void {
  for (const socket of [client, upstream]) socket.unpipe().pause();
}

function release([client, upstream]: readonly [Socket, Socket]): void {
  client.pipe(upstream);
  upstream.pipe(client);
}
