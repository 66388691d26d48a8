/**
 * Serves the two public streams: docs/api.md 6. Frames arrive complete and go to every client unchanged.
 *
 * Uses: feed, edge, domain; types of contract.
 * Begin at `channel.ts`, then `client.ts`.
 */

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type WebSocket, WebSocketServer } from 'ws';
import { Bound } from '../domain/bound.ts';
import { type ErrorCode, Refusal } from '../domain/errors.ts';
import { type ClientAddressOf, clientAddresses } from '../edge/client-address.ts';
import { Handshakes } from '../edge/handshakes.ts';
import { requestIdOf } from '../edge/request-id.ts';
import { type FrameFollower, GENERAL, marketChannel } from '../feed/index.ts';
import { Channel, type FrameCounts } from './channel.ts';
import { Client } from './client.ts';
import { refuseUpgrade } from './refuse-upgrade.ts';
import { readRequest, type StreamRefusal, type StreamRequest, unknownMarket } from './request.ts';

/** RFC 6455 (4.4): the reply to a client with an unsupported version lists the supported ones. */
const VERSIONS = 'Sec-WebSocket-Version: 13, 8';
const HEARTBEAT_MS = 30_000;
const MAX_MESSAGE_BYTES = 1_024;
const GOING_AWAY = 1001;
/** Period over which the reconnects of dismissed clients are spread. */
const RECONNECT_WITHIN_MS = 2_000;
const CLOSED_WITHIN_MS = 1_000;
/** Time between two groups of clients that are told to reconnect. */
export const DRAIN_STEP_MS = 20;

export interface StreamSettings {
  readonly wsMaxClients: number;
  readonly wsMaxClientsPerAddress: number;
  readonly handshakesPerMinute: number;
  /** Maximum time that a client may leave frames unread. */
  readonly wsMaxLagMs: number;
  readonly trustProxyHops: number;
  readonly heartbeatMs?: number;
}

interface StreamOptions {
  readonly follower: FrameFollower;
  readonly settings: StreamSettings;
  readonly log: Pick<Logger, 'error'>;
  /** Rejects if neither the engine nor Redis can answer. */
  hasMarket(symbol: string): Promise<boolean>;
}

export interface Streams {
  /** Handles the server's `upgrade` event: a WebSocket handshake, with the bytes that followed it. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  clients(): { general: number; market: number };
  /** Returns the number of frames written to clients, and of frames that lagging clients missed. */
  frameCounts(): Readonly<FrameCounts>;
  /** Returns the milliseconds since the last frames of the general stream; undefined before the first. */
  frameAgeMs(): number | undefined;
  /**
   * Accepts no new clients and tells all clients to reconnect elsewhere, evenly over the given time. All clients are
   * disconnected afterwards.
   */
  drain(overMs: number): Promise<void>;
}

export const openStreams = (options: StreamOptions): Streams => new StreamServer(options);

/** Refuses a handshake with an error reply. */
type Refuse = (code: ErrorCode, error: string) => void;

class StreamServer implements Streams {
  readonly #options: StreamOptions;
  readonly #wss = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
  });
  readonly #connections: Bound;
  readonly #handshakes: Handshakes;
  readonly #addressOf: ClientAddressOf;
  readonly #counts: FrameCounts = { sent: 0, skipped: 0 };
  readonly #general: Channel;
  readonly #markets = new Map<string, Channel>();
  /** Every connection, including those that are about to close. */
  readonly #clients = new Set<Client>();
  readonly #heartbeat: NodeJS.Timeout;
  #framesAtMs: number | undefined;
  #draining = false;

  constructor(options: StreamOptions) {
    const { follower, settings } = options;
    this.#options = options;
    this.#connections = new Bound({
      ofHolder: settings.wsMaxClientsPerAddress,
      inAll: settings.wsMaxClients,
    });
    this.#handshakes = new Handshakes(settings.handshakesPerMinute);
    this.#addressOf = clientAddresses(settings.trustProxyHops);
    this.#general = new Channel(true, settings.wsMaxLagMs, this.#counts);
    this.#wss.on('wsClientError', ({ message: error }, socket, { headers }) => {
      const refusal = { code: 'BAD_REQUEST', error, headers: [VERSIONS] } as const;
      refuseUpgrade(socket, requestIdOf(headers['x-request-id']), refusal);
    });
    follower.follow(GENERAL, (frames) => {
      this.#framesAtMs = performance.now();
      this.#general.show(frames);
    });
    this.#heartbeat = setInterval(() => {
      for (const client of this.#clients) client.probe();
      this.#handshakes.forget();
    }, settings.heartbeatMs ?? HEARTBEAT_MS);
  }

  /** An arrow function, because servers take it as a listener. */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => socket.destroy());
    const requestId = requestIdOf(request.headers['x-request-id']);
    const refuse: Refuse = (code, error) => refuseUpgrade(socket, requestId, { code, error });
    this.#open(request, socket, head, refuse).catch((error: Error) => {
      if (!(error instanceof Refusal))
        this.#options.log.error({ err: error, requestId }, 'a stream could not be opened');
      refuse('SERVICE_UNAVAILABLE', 'the markets cannot be read at the moment');
    });
  };

  clients(): { general: number; market: number } {
    const watching = [...this.#markets.values()].map((channel) => channel.clients.size);
    return { general: this.#general.clients.size, market: watching.reduce((sum, some) => sum + some, 0) };
  }

  frameCounts(): Readonly<FrameCounts> {
    return this.#counts;
  }

  frameAgeMs(): number | undefined {
    return this.#framesAtMs === undefined ? undefined : performance.now() - this.#framesAtMs;
  }

  async drain(overMs: number): Promise<void> {
    this.#draining = true;
    await closeAll(this.#clients, overMs);
    clearInterval(this.#heartbeat);
  }

  async #open(request: IncomingMessage, socket: Duplex, head: Buffer, refuse: Refuse): Promise<void> {
    const wanted = readRequest(request.url!);
    if (wanted === undefined) return refuse('NOT_FOUND', 'no such stream');
    const address = this.#addressOf(request);
    if (!this.#handshakes.allows(address))
      return refuse('RATE_LIMITED', 'too many handshakes from this address in a minute');
    if (this.#connections.isFull(address))
      return refuse('RATE_LIMITED', 'too many connections from this address');
    const place = this.#connections.take(address, 1, { giveWay: () => socket.destroy() });
    if (place === undefined) return refuse('SERVICE_UNAVAILABLE', 'too many connections');
    socket.once('close', () => place.giveBack());
    const refusal = await this.#findRefusal(wanted);
    if (this.#draining) return refuse('SERVICE_UNAVAILABLE', 'this replica is going away');
    this.#wss.handleUpgrade(request, socket, head, (ws) => this.#welcome(ws, socket, wanted, refusal));
  }

  /**
   * Refuses an unknown market. A market with fresh frames exists. For other markets the engine is asked, because a
   * rebuilt engine may lack a market. While the engine cannot answer, a market with a channel counts as existing.
   */
  async #findRefusal(wanted: StreamRequest): Promise<StreamRefusal | undefined> {
    if (wanted.stream === 'general') return undefined;
    if ('refusal' in wanted) return wanted.refusal;
    const { view } = wanted;
    const channel = this.#markets.get(marketChannel(view));
    const ask = async (): Promise<boolean> => {
      try {
        return await this.#options.hasMarket(view.symbol);
      } catch (error) {
        if (channel === undefined) throw error;
        return true;
      }
    };
    const exists = channel?.isFresh || (await ask());
    return exists ? undefined : unknownMarket(view.symbol);
  }

  #welcome(ws: WebSocket, socket: Duplex, wanted: StreamRequest, refusal: StreamRefusal | undefined): void {
    // ws itself closes a connection that violates the protocol.
    ws.on('error', () => undefined);
    const client = new Client(ws, socket);
    this.#clients.add(client);
    ws.once('close', () => this.#clients.delete(client));
    if (refusal !== undefined) {
      const { closeCode, frame } = refusal;
      ws.send(JSON.stringify(frame));
      ws.close(closeCode, frame.code);
      return;
    }
    const channel = 'view' in wanted ? this.#marketChannelOf(marketChannel(wanted.view)) : this.#general;
    ws.once('close', () => channel.clients.delete(client));
    channel.join(client);
  }

  /**
   * Returns the channel of a market. A channel is followed from its first client on, until a beat finds no client left.
   */
  #marketChannelOf(name: string): Channel {
    const known = this.#markets.get(name);
    if (known !== undefined) return known;
    const { follower, settings } = this.#options;
    const channel = new Channel(false, settings.wsMaxLagMs, this.#counts);
    this.#markets.set(name, channel);
    follower.follow(name, (frames) => {
      if (channel.clients.size > 0) return channel.show(frames);
      this.#markets.delete(name);
      follower.leave(name);
    });
    return channel;
  }
}

async function closeAll(clients: ReadonlySet<Client>, overMs: number): Promise<void> {
  const leaving = [...clients];
  const steps = Math.max(1, Math.floor(overMs / DRAIN_STEP_MS));
  for (let step = 0; step < steps; step += 1) {
    const [from, to] = [step, step + 1].map((edge) => Math.round((leaving.length * edge) / steps));
    for (const client of leaving.slice(from, to)) {
      client.close(GOING_AWAY, `reconnect in ${Math.floor(Math.random() * RECONNECT_WITHIN_MS)} ms`);
    }
    if (step < steps - 1) await sleep(DRAIN_STEP_MS);
  }
  const endMs = performance.now() + CLOSED_WITHIN_MS;
  while (clients.size > 0 && performance.now() < endMs) await sleep(DRAIN_STEP_MS);
  for (const client of clients) client.terminate();
}
