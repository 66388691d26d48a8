/**
 * A TCP proxy to a server. A test can cut it, as if the server died, or stall it, as if the server hung or the network
 * was lost.
 */

import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
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
  /**
   * New and present connections are slow, and break after so many more bytes, in the middle of whatever is under way.
   * Ends with `mend`.
   */
  limp(lameness: Lameness): void;
  mend(): Promise<void>;
  close(): void;
}

export interface Lameness {
  /** Milliseconds that each piece of data waits. */
  readonly delayMs: number;
  /** Bytes of both directions after which a connection breaks; infinite: never. */
  readonly cutAfterBytes: number;
}

export async function openLink(target: string): Promise<Link> {
  const { hostname, port: targetPort } = new URL(target);
  const port = await freePort();
  const pairs = new Set<readonly [Socket, Socket]>();
  let isStalled = false;
  let lameness: Lameness | undefined;
  const join = (pair: readonly [Socket, Socket]): void => {
    if (lameness === undefined) release(pair);
    else releaseLame(pair, lameness);
  };

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
    else join(pair);
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
    limp(how) {
      lameness = how;
      for (const pair of pairs) {
        hold(pair);
        join(pair);
      }
    },
    async mend() {
      [isStalled, lameness] = [false, undefined];
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

/** The pieces keep their order, because each waits for the piece before it as well. */
function releaseLame(
  [client, upstream]: readonly [Socket, Socket],
  { delayMs, cutAfterBytes }: Lameness,
): void {
  let left = cutAfterBytes;
  const slow = (): Transform =>
    new Transform({
      transform(piece: Buffer, _encoding, done) {
        const kept = piece.subarray(0, Math.max(0, left));
        left -= piece.length;
        setTimeout(() => {
          done(null, kept);
          if (left <= 0) setImmediate(() => upstream.destroy());
        }, delayMs);
      },
    });
  client.pipe(slow()).pipe(upstream);
  upstream.pipe(slow()).pipe(client);
}

function release([client, upstream]: readonly [Socket, Socket]): void {
  client.pipe(upstream);
  upstream.pipe(client);
}
