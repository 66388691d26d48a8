/**
 * A TCP proxy to a server. A test can cut it, as if the server died, or stall it, as if the server hung or the network
 * was lost.
 */

import { connect, createServer, type Socket } from 'node:net';
import { Transform, type TransformCallback } from 'node:stream';
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
  /**
   * Stops the first connection whose data match, at that byte. Other connections go on. Ends with `mend`.
   * @returns a promise that resolves when the connection stands still
   */
  trap(trap: Trap): Promise<void>;
  mend(): Promise<void>;
  close(): void;
}

export interface Lameness {
  /** Milliseconds that each piece of data waits. */
  readonly delayMs: number;
  /** Bytes of both directions after which a connection breaks; infinite: never. */
  readonly cutAfterBytes: number;
}

/** A place in what a client sends, at which its connection stops. Patterns are of bytes as latin-1 text. */
export interface Trap {
  /** Found within one piece of the requests. */
  readonly request: string;
  /** True if the server receives the match and what follows it; false if it receives what precedes the match. */
  readonly isSent: boolean;
  /** The connection stands still only when the server has sent this, which the client does not receive. */
  readonly reply?: string;
}

/** @param own port to listen on; a free one unless given */
export async function openLink(target: string, own?: number): Promise<Link> {
  const { hostname, port: targetPort } = new URL(target);
  const port = own ?? (await freePort());
  const pairs = new Set<Pair>();
  let isStalled = false;
  let lameness: Lameness | undefined;
  let trap: ArmedTrap | undefined;

  const server = createServer((client) => {
    const upstream = connect(Number(targetPort), hostname);
    const pair = new Pair(client, upstream);
    pairs.add(pair);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.setNoDelay().on('error', () => undefined);
      one.once('close', () => {
        pairs.delete(pair);
        other.destroy();
      });
    }
    pair.trap = trap;
    pair.limp(lameness);
    if (isStalled) pair.stall();
    else pair.release();
  });
  const listen = (): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const breakAll = (): void => {
    for (const pair of pairs) pair.break();
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
      for (const pair of pairs) pair.stall();
    },
    mute() {
      for (const pair of pairs) pair.mute();
    },
    limp(how) {
      lameness = how;
      for (const pair of pairs) pair.limp(how);
    },
    trap(asked) {
      return new Promise((resolve) => {
        trap = { ...asked, isSprung: false, stands: resolve };
        for (const pair of pairs) pair.trap = trap;
      });
    },
    async mend() {
      [isStalled, lameness, trap] = [false, undefined, undefined];
      for (const pair of pairs) {
        pair.trap = undefined;
        if (pair.isStuck()) pair.break();
        pair.limp(undefined);
        pair.stall();
        pair.release();
      }
      if (!server.listening) await listen();
    },
    close() {
      server.close();
      breakAll();
    },
  };
}

interface ArmedTrap extends Trap {
  isSprung: boolean;
  readonly stands: () => void;
}

/** Time in which the server has done what it received. */
const DONE_MS = 50;

/**
 * One connection. All data take the same way at all times, so that no piece overtakes one that is held up: a network may
 * delay or lose what a connection carries, and never reorders it.
 */
class Pair {
  trap: ArmedTrap | undefined;
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #requests: Transform;
  readonly #replies: Transform;
  #delayMs = 0;
  #bytesLeft = Number.POSITIVE_INFINITY;
  /** The trap that this connection is in, and what the client did not receive since. */
  #stuck: { readonly trap: ArmedTrap; withheld: string } | undefined;

  constructor(client: Socket, upstream: Socket) {
    this.#client = client;
    this.#upstream = upstream;
    this.#requests = new Transform({ transform: (piece, _encoding, done) => this.#send(piece, done) });
    this.#replies = new Transform({ transform: (piece, _encoding, done) => this.#answer(piece, done) });
    this.#requests.pipe(upstream);
    this.#replies.pipe(client);
  }

  release(): void {
    this.#client.pipe(this.#requests);
    this.#upstream.pipe(this.#replies);
  }

  stall(): void {
    for (const socket of [this.#client, this.#upstream]) socket.unpipe().pause();
  }

  mute(): void {
    this.#upstream.unpipe().pause();
  }

  limp(how: Lameness | undefined): void {
    this.#delayMs = how?.delayMs ?? 0;
    this.#bytesLeft = how?.cutAfterBytes ?? Number.POSITIVE_INFINITY;
  }

  isStuck(): boolean {
    return this.#stuck !== undefined;
  }

  break(): void {
    for (const socket of [this.#client, this.#upstream]) socket.destroy();
  }

  #send(piece: Buffer, done: TransformCallback): void {
    const { trap } = this;
    const at = trap?.isSprung === false ? matchIn(piece, trap.request) : -1;
    if (trap === undefined || at < 0) {
      this.#pass(piece, done);
      return;
    }
    trap.isSprung = true;
    this.#stuck = { trap, withheld: '' };
    if (trap.isSent) {
      this.#pass(piece, done);
      return;
    }
    // The next piece waits for `done`, which is never called.
    this.#requests.push(piece.subarray(0, at));
    setTimeout(trap.stands, DONE_MS);
  }

  #answer(piece: Buffer, done: TransformCallback): void {
    if (this.#stuck === undefined) {
      this.#pass(piece, done);
      return;
    }
    const { trap } = this.#stuck;
    this.#stuck.withheld += piece.toString('latin1');
    if (trap.isSent && new RegExp(trap.reply ?? '', 's').test(this.#stuck.withheld))
      setTimeout(trap.stands, DONE_MS);
    done();
  }

  #pass(piece: Buffer, done: TransformCallback): void {
    const kept = piece.subarray(0, Math.max(0, this.#bytesLeft));
    this.#bytesLeft -= piece.length;
    const isLast = this.#bytesLeft <= 0;
    const pass = (): void => {
      done(null, kept);
      if (isLast) setImmediate(() => this.#upstream.destroy());
    };
    if (this.#delayMs === 0) pass();
    else setTimeout(pass, this.#delayMs);
  }
}

/** @returns the byte at which a pattern matches, or -1 */
const matchIn = (piece: Buffer, pattern: string): number =>
  piece.toString('latin1').search(new RegExp(pattern, 's'));
