/** The whole service in one process, on servers of its own unless others are named. */

import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { MarketSpec } from '../domain/market.ts';
import { startEmbedded } from '../embedded/index.ts';
import type { Engine } from '../engine/index.ts';
import { startApi } from './api.ts';
import { openBackends } from './backends.ts';
import { openMetricsPort } from './metrics-port.ts';
import type { RunningRole } from './running-role.ts';
import { startSettlement } from './settlement.ts';
import { startSnapshot } from './snapshot.ts';
import { openStreamsOn } from './stream.ts';
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

/** Starts everything and tells on `print`, in plain words, what goes on and what to try. */
export async function startAll(
  config: Config,
  logger: Logger,
  print: (line: string) => void,
): Promise<RunningRole> {
  const { redisUrl, databaseUrl } = config;
  const embedded = await startEmbedded({ dataDir: config.dataDir, redisUrl, databaseUrl, onProgress: print });
  const isOwn = redisUrl === undefined && databaseUrl === undefined;
  const served = { ...config, redisUrl: embedded.redisUrl, databaseUrl: embedded.databaseUrl };
  const backends = openBackends('all', served, logger);
  const metricsPort = await openMetricsPort(backends);
  print('Preparing the ledger …');
  const api = await startApi(backends, config.jwtSecret ?? embedded.jwtSecret);
  const streams = openStreamsOn(api.server, backends);
  const settlement = await startSettlement(backends);
  const snapshot = await startSnapshot(backends);
  const again = <T>(attempt: () => Promise<T>): Promise<T> =>
    untilDone('the matching engine', logger, attempt);
  if (isOwn) await createDemoMarkets(backends.engine, config.networkId, again);
  if (config.webHosts.length === 0)
    print('WEB_HOSTS is not set: nobody can sign in by EIP-4361 (SIWE) until it is.');
  for (const line of welcome(api.port, await again(() => backends.engine.markets()), isOwn)) print(line);
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
async function createDemoMarkets(
  engine: Engine,
  networkId: string,
  again: <T>(attempt: () => Promise<T>) => Promise<T>,
): Promise<void> {
  if ((await again(() => engine.markets())).length > 0) return;
  await again(() => engine.setAsset({ symbol: 'USDC', scale: 6 }));
  for (const rules of DEMO_MARKETS) {
    await again(async () => {
      const known = await engine.markets();
      if (known.some(({ symbol }) => symbol === rules.symbol)) return;
      await engine.createMarket({ ...DEMO, ...rules, networkId });
    });
  }
}

function welcome(port: number, markets: readonly { symbol: string }[], isOwn: boolean): string[] {
  const base = `http://localhost:${port}`;
  const list = markets.map(({ symbol }) => symbol).join(', ');
  return [
    '',
    `Redbook listens on ${base}`,
    list === '' ? 'No market is published yet.' : `Markets: ${list}`,
    '',
    'Try next, in another terminal:',
    `  curl -s ${base}/v1/markets`,
    ...(isOwn
      ? ['  npm run demo                        # wallets sign in, trade and settle before your eyes']
      : []),
    '  npm run -s redbook -- status        # the operator’s commands; --help lists them',
    '',
    'Ctrl-C stops it; the data stay.',
  ];
}
