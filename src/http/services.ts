/** Services that a process passes to its HTTP application. The role opens and closes them. */

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Auth } from '../auth/index.ts';
import type { Engine } from '../engine/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { MarketData } from '../market-data/index.ts';
import type { Metrics } from '../process/metrics.ts';
import type { ChangeWaits } from './change-waits.ts';

/** Settings of the HTTP application. */
export interface HttpSettings {
  /** host[:port] of the web front ends. Pages on these origins may call login and protected routes. */
  readonly webHosts: readonly string[];
  /**
   * Number of reverse proxies in front of the service. With 0, no forwarded header is trusted, including the country.
   */
  readonly trustProxyHops: number;
  /** Header in which a trusted proxy sends the caller's country. When undefined, countries are not checked. */
  readonly countryHeader?: string | undefined;
  /** ISO 3166 codes in any case. */
  readonly blockedCountries: readonly string[];
  /** Asset in which portfolios are valued; default the quote asset of the first market. */
  readonly numeraire?: string | undefined;
  /** URL of the front end, without a trailing slash. */
  readonly webUrl: string;
  readonly serviceName: string;
  /** Path prefix of the deprecated market-data routes. */
  readonly legacyPrefix: string;
  /** Maximum orders of a wallet in any 60 seconds; undefined for no limit. */
  readonly ordersPerMinute?: number | undefined;
  readonly maxFillsPerOrder: number;
  /** Maximum number of fills shown in a reply, over all its orders. */
  readonly maxFillsPerReply: number;
  /** True if callers on this machine get the demo wallet and the faucet. */
  readonly demoFaucet: boolean;
}

/** Credits play money; see `src/demo/faucet.ts`. */
interface Faucet {
  /** @throws Refusal */
  credit(wallet: string, asset: string): Promise<{ readonly amount: string; readonly creditsLeft: number }>;
}

/** Readiness of the process, and the state of each server it needs: `ok`, or the fault. */
export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, string>>;
}

/** Services of the probes, which every process serves. */
export interface ProbeServices {
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** True if another port serves `/metrics`; this port then answers 404 for it. */
  readonly hasMetricsPort?: boolean;
  /** Without settings, no forwarded header is trusted. */
  readonly settings?: Pick<HttpSettings, 'trustProxyHops'>;
  /**
   * Must answer within a few seconds. A failure counts as not ready.
   * @param isDeep false to ask only what decides whether a balancer may send requests
   */
  ready(isDeep: boolean): Promise<Readiness>;
}

export interface Services extends ProbeServices {
  readonly auth: Auth;
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly marketData: MarketData;
  readonly changeWaits: ChangeWaits;
  /**
   * Redis that counts requests to limited routes. Replicas that share it share the limits. Its client should not queue
   * commands while it is unavailable.
   */
  readonly queueRedis: Redis;
  readonly settings: HttpSettings;
  /** Present if `settings.demoFaucet` is true. */
  readonly faucet?: Faucet | undefined;
  /** Tells settlement that there are new events. Coalesces calls, returns at once and never throws. */
  wakeSettlement(): void;
}
