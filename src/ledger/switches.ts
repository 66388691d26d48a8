/** Reads the switches. */

import { readMarketRecord } from '../domain/market-record.ts';
import type { Switches } from '../domain/switches.ts';
import { readTake } from '../domain/withdrawal-states.ts';
import type { Ask } from './queries.ts';

/** @param ask in a snapshot */
export async function readSwitchesIn(ask: Ask): Promise<Switches> {
  const [switched] = await ask<{ paused: boolean; terms_version: string | null }>(
    'select paused, terms_version from public.trading_switches',
  );
  const holds = await ask<{ wallet: string }>('select wallet from public.holds');
  const takes = await ask<{ reference: string; take: string }>(
    'select reference, take from public.taken_withdrawals',
  );
  const terms = await ask<{ wallet: string; version: string }>(
    'select wallet, version from public.wallet_terms',
  );
  const markets = await ask<{ number: number; version: bigint; record: string }>(
    'select number, version, record::text as record from public.markets',
  );
  return {
    paused: switched?.paused ?? false,
    termsVersion: switched?.terms_version ?? null,
    holds: holds.map(({ wallet }) => wallet),
    takes: new Map(takes.map(({ reference, take }) => [reference, readTake(take)])),
    acceptedTerms: new Map(terms.map(({ wallet, version }) => [wallet, version])),
    marketVersions: new Map(markets.map(({ number, version }) => [number, Number(version)])),
    markets: markets.map(({ record }) => readMarketRecord(record)),
  };
}
