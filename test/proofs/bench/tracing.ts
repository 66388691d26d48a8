/**
 * Measures what the calls of spans cost `POST /v1/orders`: without an endpoint, and with a collector that accepts all and
 * keeps nothing. The reference is a build without these calls. A second process of that build shows by how much two
 * processes of one build differ. All take turns on one Redis and one Postgres.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { plantedFor } from '../../planted/planted.ts';
import { withPlanted } from '../../planted/release.ts';
import { type Exchange, openExchange, type Running, sourcesIn } from './exchange.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { costlyLoad } from './http.ts';
import { load } from './load.ts';
import { PRESENT } from './older-release.ts';
import { orderRequests } from './order-requests.ts';

const LAUNCHES = 6;
const ROUNDS_OF_LAUNCH = 6;
const SECONDS = 0.7;
const WARMING_SECONDS = 3;
const CONNECTIONS = 64;

const BUILDS = ['without', 'withoutToo', 'off', 'on'] as const;
type Build = (typeof BUILDS)[number];
type Costs = Readonly<Record<Build, number>>;

interface Collector {
  readonly endpoint: string;
  /** Number of spans that came so far. */
  readonly spans: () => number;
  close(): void;
}

async function openCollector(): Promise<Collector> {
  let spans = 0;
  const server = createServer(async (request, response) => {
    spans += (await text(request)).split('"spanId"').length - 1;
    response.setHeader('content-type', 'application/json').end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => spans,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function takeLaunch(
  exchange: Exchange,
  { without, collector, launch }: { without: string; collector: Collector; launch: number },
): Promise<{ costs: Costs; traced: number }> {
  const apis: Record<Build, Running> = {
    without: await exchange.start('api', {}, sourcesIn(without)),
    withoutToo: await exchange.start('api', {}, sourcesIn(without)),
    off: await exchange.start('api'),
    on: await exchange.start('api', { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint }),
  };
  const nextRequest = orderRequests();
  const run = (build: Build, seconds: number) =>
    costlyLoad({ api: apis[build] }, () =>
      load(apis[build].url, { connections: CONNECTIONS, seconds, nextRequest }),
    );
  let traced = 0;
  for (const build of BUILDS) {
    const { requests } = await run(build, WARMING_SECONDS);
    if (build === 'on') traced += requests;
  }
  const micros: Record<Build, number[]> = { without: [], withoutToo: [], off: [], on: [] };
  for (let turn = 0; turn < ROUNDS_OF_LAUNCH * BUILDS.length; turn += 1) {
    // Whoever goes first changes from round to round.
    const build = BUILDS[(launch + turn + Math.floor(turn / BUILDS.length)) % BUILDS.length]!;
    const { requests, micros: spent } = await run(build, SECONDS);
    micros[build].push(spent.api);
    if (build === 'on') traced += requests;
  }
  for (const api of Object.values(apis)) await api.stop();
  const of = (build: Build): number => median(micros[build]);
  return {
    costs: { without: of('without'), withoutToo: of('withoutToo'), off: of('off'), on: of('on') },
    traced,
  };
}

/** Both processes of the build without the calls are the reference: two processes of one build differ by chance. */
function rowsOf(launches: readonly Costs[]): Measured[] {
  const referenceOf = ({ without, withoutToo }: Costs): number => (without + withoutToo) / 2;
  const reference = median(launches.map(referenceOf));
  const row = (name: string, build: Build): Measured => {
    // The speed of the machine changes between launches, so the ratios are those within a launch.
    const ratios = launches.map((costs) => costs[build] / referenceOf(costs));
    return {
      name: `api, an order, ${name}`,
      unit: 'µs',
      figure: reference * median(ratios),
      reference: { name: 'without the calls', figure: reference },
      note: `of each launch ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}`,
    };
  };
  return [
    { ...row('no endpoint', 'off'), target: { relation: '<=', bound: 1.05 } },
    row('without the calls, one of two processes', 'withoutToo'),
    row('spans to a collector', 'on'),
  ];
}

export async function benchTracing(): Promise<Table> {
  const [build] = plantedFor('tracing');
  const collector = await openCollector();
  const exchange = await openExchange(PRESENT);
  try {
    return await withPlanted(build!, async (without) => {
      const launches: Costs[] = [];
      let traced = 0;
      for (let launch = 0; launch < LAUNCHES; launch += 1) {
        const taken = await takeLaunch(exchange, { without, collector, launch });
        launches.push(taken.costs);
        traced += taken.traced;
      }
      const title = `processor time of an order, ${CONNECTIONS} connections; medians of ${LAUNCHES} launches of ${ROUNDS_OF_LAUNCH} rounds`;
      const spans = { name: 'spans that came, for each order', unit: '', figure: collector.spans() / traced };
      return tableOf('tracing', title, [...rowsOf(launches), spans]);
    });
  } finally {
    await exchange.close();
    collector.close();
  }
}
