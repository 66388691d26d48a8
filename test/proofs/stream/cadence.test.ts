/** Proves over a quarter of a minute that the streams are on time for every client when workers die or clients do not read. */

import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { BEAT_MS } from '../../../src/domain/beat.ts';
import { GENERAL } from '../../../src/feed/keys.ts';
import { readMessage } from '../../../src/feed/message.ts';
import { connectSubscriber } from '../../../src/redis/connections.ts';
import { deaf } from '../../stream/deaf.ts';
import { openStreamFixture, type StreamFixture } from '../../stream/fixture.ts';
import { market, type Seen, type Watcher, watch } from '../../stream/watcher.ts';
import { eventually } from '../../support/eventually.ts';
import { watchOverMachine } from '../../support/machine.ts';
import { freePort } from '../../support/ports.ts';
import { type Service, startService } from '../../support/service.ts';
import { sideBySide } from '../../support/side-by-side.ts';

const CROWD = 450;
const DEAF = 50;
const WATCHED_MS = 17_000;
/** Allowed deviation of a gap between two frames from two seconds. */
const LEEWAY_MS = 300;

const startRole = async (role: string, environment: Record<string, string>): Promise<Service> =>
  startService(role, { ...environment, PORT: String(await freePort()) });
const portOf = ({ url }: Service): number => Number(new URL(url).port);

/** Value of a metric of a process. */
async function metric({ url }: Service, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

/** Build time of a worker's last beat; NaN before its first beat. */
const buildSeconds = (worker: Service): Promise<number> => metric(worker, 'redbook_snapshot_build_seconds');

const gapsOf = (seen: readonly Pick<Seen, 'atMs'>[]): number[] =>
  seen.slice(1).map(({ atMs }, index) => atMs - seen[index]!.atMs);

// Thousands of frames are compared as text, which is a hundred times faster than parsing them.

/** One frame of each beat. The general stream has one per market, after an initial snapshot. */
const ofOneMarket = ({ seen }: Watcher): Seen[] =>
  seen.filter(({ text }) => /^.{8,18}","symbol":"ETH\/USDC"/.test(text));

/** Time at which a frame was built, which identifies its beat. */
const timeOf = ({ text }: Seen): number => Number(/,"time":(\d+),"sequence":\d+}$/.exec(text)![1]);

describe('the streams over time', () => {
  let exchange: StreamFixture;
  let other: StreamFixture;
  let replicas: Service[];
  /** Two workers of the first exchange, which survive, and three of the other, which are killed. */
  let workers: Service[];
  const watchers: Watcher[] = [];
  const sockets: Socket[] = [];
  let quoting: NodeJS.Timeout;

  const see = (port: number, path: string): Watcher => {
    const watcher = watch(port, path);
    watchers.push(watcher);
    return watcher;
  };

  before(async () => {
    [exchange, other] = await Promise.all([openStreamFixture(), openStreamFixture()]);
    const { environment } = exchange;
    const others = Array<Record<string, string>>(3).fill(other.environment);
    [replicas, workers] = await Promise.all([
      Promise.all([1, 2].map(() => startRole('stream', environment))),
      Promise.all([environment, environment, ...others].map((one) => startRole('snapshot', one))),
      ...Array.from({ length: 250 }, async (_none, level) => {
        await exchange.quote('buy', (1999.99 - level / 100).toFixed(2), '0.123');
        await exchange.quote('sell', (2000.04 + level / 100).toFixed(2), '1.5');
      }),
    ]);
    for (const one of workers)
      await eventually('the worker works', async () => (await buildSeconds(one)) >= 0);
    workers.at(-1)!.child.kill('SIGSTOP');
    // Constant activity, so that no two beats are equal.
    quoting = setInterval(() => exchange.take('buy', '0.001').catch(() => undefined), 500);
  });
  // Each test counts its own clients only.
  afterEach(() => {
    for (const one of watchers.splice(0)) one.close();
    for (const one of sockets.splice(0)) one.destroy();
  });
  after(async () => {
    clearInterval(quoting);
    await Promise.all([...replicas, ...workers].map((one) => one.end('SIGKILL')));
    await Promise.all([exchange.close(), other.close()]);
  });

  /** Connects 500 clients to one replica, 50 of which never read, and one client to the other replica. */
  async function watchForLong(): Promise<void> {
    const [first, second] = replicas as [Service, Service];
    const view = market('ETH/USDC', '5m');
    const begun = await metric(first, 'process_resident_memory_bytes');
    for (let client = 0; client < DEAF; client += 1) sockets.push(await deaf(portOf(first), view));
    const crowd: Watcher[] = [];
    for (let client = 0; client < CROWD; client += 1) {
      crowd.push(see(portOf(first), client % 10 === 0 ? '/ws' : view));
      if (client % 50 === 0) await sleep(20);
    }
    const elsewhere = see(portOf(second), view);
    await Promise.all(crowd.map((one) => one.until((seen) => seen.length > 0)));
    const heldUpMs = watchOverMachine();
    await sleep(WATCHED_MS);
    const leewayMs = LEEWAY_MS + heldUpMs();

    const gaps = [...crowd, elsewhere].flatMap((one) => gapsOf(ofOneMarket(one).slice(1)));
    expect(gaps.length).to.be.above((CROWD * (WATCHED_MS - 2 * BEAT_MS)) / BEAT_MS);
    expect(Math.min(...gaps)).to.be.above(BEAT_MS - leewayMs);
    expect(Math.max(...gaps)).to.be.below(BEAT_MS + leewayMs);

    const ofBeat = new Map<number, string>();
    for (const one of [...crowd.filter((_one, client) => client % 10 !== 0), elsewhere]) {
      for (const frame of one.seen) {
        const time = timeOf(frame);
        if (!ofBeat.has(time)) ofBeat.set(time, frame.text);
        if (ofBeat.get(time) !== frame.text) throw new Error('a beat looks different to two clients');
      }
      expect(one.seen).to.have.length.above(WATCHED_MS / BEAT_MS - 3);
    }
    expect(ofBeat.size).to.be.within(WATCHED_MS / BEAT_MS, WATCHED_MS / BEAT_MS + 3);
    const grown = (await metric(first, 'process_resident_memory_bytes')) - begun;
    expect(grown / (CROWD + DEAF)).to.be.below(100_000);
    expect(await metric(first, 'redbook_stream_clients{stream="general"}')).to.equal(CROWD / 10);
  }

  /** Records every message of the feed itself. */
  async function takeOver(): Promise<void> {
    const { environment } = other;
    const subscriber = connectSubscriber(environment.REDIS_URL!, 'test', () => undefined);
    const heldUpMs = watchOverMachine();
    const heard: { beat: number; atMs: number }[] = [];
    subscriber.on('messageBuffer', (_channel: Buffer, message: Buffer) => {
      heard.push({ beat: readMessage(message)!.beat, atMs: performance.now() });
    });
    try {
      await once(subscriber, 'ready');
      await subscriber.subscribe(GENERAL);
      const [dying, living, resting] = workers.slice(2) as [Service, Service, Service];
      await sleep(2 * BEAT_MS);
      expect((await buildSeconds(dying)) + (await buildSeconds(living))).to.be.above(0);
      dying.child.kill('SIGKILL');
      await sleep(3 * BEAT_MS);
      // A suspended worker is too late for the beats it missed.
      living.child.kill('SIGSTOP');
      resting.child.kill('SIGCONT');
      await sleep(2 * BEAT_MS);
      living.child.kill('SIGCONT');
      await sleep(2 * BEAT_MS);
      const beats = heard.map(({ beat }) => beat);
      expect(beats.length).to.be.above(6);
      expect(new Set(beats).size).to.equal(beats.length);
      expect(Math.max(...gapsOf(heard))).to.be.below(2 * BEAT_MS + LEEWAY_MS + heldUpMs());
    } finally {
      heldUpMs();
      subscriber.disconnect();
    }
  }

  sideBySide({
    'are on time and the same everywhere for 500 clients of which 50 never read': watchForLong,
    'continue within two beats when a worker is killed or stalled, and repeat no beat': takeOver,
  });
});
