/** Text that `npm start` prints when the service is ready. */

import { isIPv6 } from 'node:net';
import type { Config } from '../config.ts';

const REACHED_BY_NAME: ReadonlySet<string> = new Set(['127.0.0.1', '::1', '0.0.0.0', '::']);

/** Returns the address of the service for programs on this machine. */
export function localUrl({ host, port }: Pick<Config, 'host' | 'port'>): string {
  if (host === undefined || REACHED_BY_NAME.has(host)) return `http://localhost:${port}`;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

const FAUCET_IS_ON =
  'The faucet is on: wallets that sign in on this machine can have play money. DEMO_FAUCET=off ends it.';

/**
 * Returns the lines of the text, with the address of the trading page first.
 * @param isOwn true if both servers are the service's own
 */
export function welcome(
  config: Pick<Config, 'host' | 'port' | 'dataDir' | 'demoFaucet'>,
  markets: readonly { readonly symbol: string }[],
  isOwn: boolean,
): string[] {
  const { dataDir, demoFaucet } = config;
  const base = localUrl(config);
  const list = markets.map(({ symbol }) => symbol).join(', ');
  // A command in another terminal finds this service through its data folder.
  const where = dataDir === '.data' ? '' : `DATA_DIR='${dataDir}' `;
  const ofDemo: [command: string, meaning: string][] = [
    [`${where}npm run demo`, 'wallets sign in, trade and settle'],
    [`${where}npm run demo -- --live`, 'wallets trade until Ctrl-C, so that the market moves'],
  ];
  return [
    `Open ${base}/ to trade in a browser.`,
    ...(demoFaucet ? [FAUCET_IS_ON] : []),
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
    ...aligned([
      [`curl -sw '\\n' ${base}/v1/markets`, 'the markets and their rules'],
      ...(isOwn ? ofDemo : []),
      [`${where}npm run -s redbook -- status`, 'the operator’s commands; --help lists them'],
    ]),
    'README.md continues from here with “A first session”: sign in, get funds, place an order.',
    '',
    'Press Ctrl-C to stop. Your data is kept.',
  ];
}

/** Returns the line with the port of the routes for operators, which may be another one than the setting. */
export function operatorsLine(port: number, wanted: number): string {
  const taken = wanted === 0 || wanted === port ? '' : ` (port ${wanted} is taken)`;
  return `Operators: http://localhost:${port}/operator/v1, with a key of redbook key create${taken}`;
}

function aligned(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
