/** Services that a process hands to its HTTP application. A role opens and closes them. */

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Auth } from '../auth/index.ts';
import type { Engine } from '../engine/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { MarketData } from '../market-data/index.ts';
import type { Metrics } from './metrics.ts';

/** The part of the configuration that requests meet. */
export interface HttpSettings {
  /** host[:port] of the web front ends: their origins may call login and protected routes from a browser. */
  readonly webHosts: readonly string[];
  /** Reverse proxies in front of the service; 0 trusts no forwarded header, the country's included. */
  readonly trustProxyHops: number;
  /** Header in which a trusted proxy says the caller's country; undefined: nobody is asked. */
  readonly countryHeader?: string | undefined;
  /** ISO 3166 codes, any case. */
  readonly blockedCountries: readonly string[];
  /** Asset that portfolios are valued in; undefined: the quote asset of the first market. */
  readonly numeraire?: string | undefined;
  /** Where the front end is; without a slash at its end. */
  readonly webUrl: string;
  readonly serviceName: string;
  /** Path of the deprecated market-data routes. */
  readonly legacyPrefix: string;
  /** Most fills that a reply shows of one order. */
  readonly maxFillsPerOrder: number;
  /** Most fills that a reply shows of all its orders together. */
  readonly maxFillsPerReply: number;
  /** True: the demo wallet and the faucet are offered to callers of this machine. */
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
  /** True when another port serves `/metrics`; this one then answers 404 for it. */
  readonly hasMetricsPort?: boolean;
  /** Must answer within a few seconds; a failure counts as not ready. */
  ready(): Promise<Readiness>;
}

export interface Services extends ProbeServices {
  readonly auth: Auth;
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly marketData: MarketData;
  /** Counts requests to limited routes; replicas that share it share the limits. Should not queue while it is away. */
  readonly limitsRedis: Redis;
  readonly settings: HttpSettings;
  /** Present where `settings.demoFaucet` is. */
  readonly faucet?: Faucet | undefined;
  /** Tells settlement that there are new events; coalesces, returns at once and never throws. */
  wake(): void;
}
