/** The whole service in one process, on servers of its own unless others are named. */

import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { type Config, listeningOn } from '../config.ts';
import type { MarketSpec } from '../domain/market.ts';
import { startEmbedded } from '../embedded/index.ts';
import type { Engine } from '../engine/index.ts';
import { tryPort } from './listening.ts';
import { type Outages, openOutages } from './outages.ts';
import type { RunningRole } from './running-role.ts';
import { scoutServers } from './scout.ts';
import { passwordsOf } from './server-names.ts';
import { untilDone } from './waiting.ts';

const DEMO: Omit<MarketSpec, 'symbol' | 'tickSize' | 'sizeStep' | 'minOrderSize' | 'networkId'> = {
  status: 'active',
  sellEnabled: true,
  visible: true,
  feeBps: 10,
  maxOrderSize: null,
  selfTrade: 'expire_taker',
  referencePrice: null,
};

const DEMO_MARKETS = [
  { symbol: 'ETH/USDC', tickSize: '0.01', sizeStep: '0.0001', minOrderSize: '0.001' },
  { symbol: 'BTC/USDC', tickSize: '0.1', sizeStep: '0.00001', minOrderSize: '0.0001' },
] as const;

/** Name of the all-in-one's log, beside its data. */
export const logFileOf = ({ dataDir }: Pick<Config, 'dataDir'>): string =>
  resolve(join(dataDir, 'redbook.log'));

/**
 * Starts everything and tells on `print`, in plain words, what goes on and what to try.
 * @param openLog called once the data folder is ours, where the log may be
 * @throws StartRefusal
 */
export async function startAll(
  asked: Config,
  openLog: () => Logger,
  print: (line: string) => void,
): Promise<RunningRole> {
  const { dataDir, redisUrl, databaseUrl } = asked;
  let { port } = asked;
  let opened: { logger: Logger; outages: Outages; scout: { close(): void } } | undefined;
  const embedded = await startEmbedded({
    ...{ dataDir, redisUrl, databaseUrl, onProgress: print },
    async onClaimed() {
      port = await tryPort(asked.port);
      const logger = openLog();
      const outages = openOutages(logger, passwordsOf(asked));
      opened = { logger, outages, scout: scoutServers(asked, outages) };
      print(`The log is ${logFileOf(asked)}`);
    },
  });
  const { logger, outages, scout } = opened!;
  const config = listeningOn(asked, port);
  const isOwn = redisUrl === undefined && databaseUrl === undefined;
  const served = {
    ...config,
    ...{ redisUrl: embedded.redisUrl, databaseUrl: embedded.databaseUrl },
    own: { redis: redisUrl === undefined, postgres: databaseUrl === undefined },
  };
  const { openBackends } = await import('./backends.ts');
  const backends = openBackends('all', served, logger, outages);
  scout.close();
  print('Preparing the ledger …');
  const [{ openMetricsPort }, { startApi }, { openStreamsOn }, { startSettlement }, { startSnapshot }] =
    await Promise.all([
      import('./metrics-port.ts'),
      import('./api.ts'),
      import('./stream.ts'),
      import('./settlement.ts'),
      import('./snapshot.ts'),
    ]);
  const metricsPort = await openMetricsPort(backends);
  const api = await startApi(backends, config.jwtSecret ?? embedded.jwtSecret);
  const streams = openStreamsOn(api.server, backends);
  const settlement = await startSettlement(backends);
  const snapshot = await startSnapshot(backends);
  if (isOwn) await createDemoMarkets(backends.engine, config.networkId);
  if (config.webHosts.length === 0)
    print('WEB_HOSTS is not set: nobody can sign in by EIP-4361 (SIWE) until it is.');
  const markets = await untilDone(() => backends.engine.markets());
  embedded.announce({
    url: baseUrlOn(api.port),
    webHost: config.webHosts[0] ?? `localhost:${api.port}`,
  });
  for (const line of welcome(config, markets, isOwn)) print(line);
  if (metricsPort.port !== undefined) print(`Metrics: http://localhost:${metricsPort.port}/metrics`);
  return {
    async stop(drainMs) {
      await Promise.all([streams.stop(drainMs), api.stop(drainMs)]);
      await snapshot.stop(drainMs);
      await settlement.stop(drainMs);
      await metricsPort.close();
      await backends.close();
      await embedded.stop();
    },
  };
}

/**
 * Where there is no market at all, the demo's are published. The servers may go away at any moment, so each step is
 * tried until it is done; one whose answer was lost finds its market there.
 */
async function createDemoMarkets(engine: Engine, networkId: string): Promise<void> {
  if ((await untilDone(() => engine.markets())).length > 0) return;
  await untilDone(() => engine.setAsset({ symbol: 'USDC', scale: 6 }));
  for (const rules of DEMO_MARKETS) {
    await untilDone(async () => {
      const known = await engine.markets();
      if (known.some(({ symbol }) => symbol === rules.symbol)) return;
      await engine.createMarket({ ...DEMO, ...rules, networkId });
    });
  }
}

const baseUrlOn = (port: number): string => `http://localhost:${port}`;

function welcome(config: Config, markets: readonly { symbol: string }[], isOwn: boolean): string[] {
  const base = baseUrlOn(config.port);
  const list = markets.map(({ symbol }) => symbol).join(', ');
  // A command in another terminal finds this service by its data folder.
  const where = config.dataDir === '.data' ? '' : `DATA_DIR='${config.dataDir}' `;
  const commands: [command: string, meaning: string][] = [
    [`curl -sw '\\n' ${base}/v1/markets`, 'the markets and their rules'],
    ...(isOwn ? [[`${where}npm run demo`, 'wallets sign in, trade and settle'] as [string, string]] : []),
    [`${where}npm run -s redbook -- status`, 'the operator’s commands; --help lists them'],
  ];
  return [
    '',
    `Redbook listens on ${base}`,
    list === '' ? 'No market is published yet.' : `Markets: ${list}`,
    '',
    ...aligned([
      [`${base}/docs`, 'the API, to read and to try in a browser'],
      [`${base.replace('http', 'ws')}/ws`, 'the public stream; one market: /ws/market?symbol=ETH%2FUSDC'],
    ]),
    '',
    'Try next, in another terminal:',
    ...aligned(commands),
    '“A first session” in README.md goes on from here: sign in, get funds, place an order.',
    '',
    'Ctrl-C stops it; the data stay.',
  ];
}

function aligned(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
