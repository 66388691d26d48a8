/** A way to a server that a test can cut, as when the server dies, or stall, as when it hangs or the network is lost. */

import { connect, createServer, type Socket } from 'node:net';
import { freePort } from './ports.ts';

export interface Link {
  /** Of the server, by way of the link. */
  readonly url: string;
  /** Connections break, and new ones are refused. */
  cut(): void;
  /** Connections stay, and new ones are taken, but nothing comes through. */
  stall(): void;
  /** Requests come through; replies do not. */
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
