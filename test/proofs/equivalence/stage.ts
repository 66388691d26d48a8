/** The stage of the random runs: assets, markets with awkward rules, wallets with awkward bytes. */

import type { Rules } from './reference-rules.ts';

/** Assets with their own scale. BETA keeps the default of 8. */
export const SCALES: ReadonlyMap<string, number> = new Map([
  ['USD', 6],
  ['ALPHA', 9],
  ['GAMMA', 2],
  ['YEN', 3],
  ['WHALE', 0],
]);
export const DEFAULT_SCALE = 8;

export const rulesOf = (symbol: string, own: Partial<Rules>): Rules => ({
  symbol,
  status: 'active',
  tradingEnabled: true,
  sellEnabled: true,
  visible: true,
  feeBps: 7,
  tickSize: '0.01',
  sizeStep: '0.01',
  minOrderSize: null,
  maxOrderSize: null,
  minNotional: null,
  selfTrade: 'expire_taker',
  referencePrice: null,
  ...own,
});

/**
 * Markets with most of the trading. They cover every self-trade policy, and published and unpublished ticks and steps.
 */
export const BUSY = ['ALPHA/USD', 'BETA/USD', 'GAMMA/YEN'] as const;
/** Market with notionals so large that notional x bps exceeds 2^53. */
export const HUGE = 'WHALE/USD';
export const PRE_OPEN = 'DELTA/USD';
export const BUY_ONLY = 'EPSILON/USD';
/** Market without resting orders and trades. */
export const NEVER_TRADED = 'ZETA/USD';
export const CLOSED = 'ETA/USD';

export const MARKETS: readonly Rules[] = [
  rulesOf(BUSY[0], {
    tickSize: '0.05',
    sizeStep: '0.003',
    minOrderSize: '0.009',
    maxOrderSize: '3',
    minNotional: '0.25',
  }),
  rulesOf(BUSY[1], { tickSize: null, feeBps: 1000, selfTrade: 'expire_maker' }),
  rulesOf(BUSY[2], { tickSize: '0.05', sizeStep: null, feeBps: 0, selfTrade: 'expire_both' }),
  rulesOf(HUGE, { tickSize: '0.000001', sizeStep: '1' }),
  rulesOf(PRE_OPEN, { status: 'pre_open', sizeStep: '0.1' }),
  rulesOf(BUY_ONLY, { tickSize: '1', sizeStep: '1', sellEnabled: false }),
  rulesOf(NEVER_TRADED, { minOrderSize: '1' }),
  rulesOf(CLOSED, {}),
];

/** The price around which each market trades, in ticks. */
export const MID_TICKS: Readonly<Record<string, bigint>> = {
  [BUSY[0]]: 400n,
  [BUSY[1]]: 50_000n,
  [BUSY[2]]: 100n,
  [HUGE]: 1_234_567_891n,
  [PRE_OPEN]: 300n,
  [BUY_ONLY]: 10n,
  [NEVER_TRADED]: 100n,
  [CLOSED]: 100n,
};

/** Wallets at both ends of the byte order of books and lists, including adjacent ones. */
export const TRADERS = [
  `0x${'00'.repeat(20)}`,
  `0x${'00'.repeat(19)}01`,
  `0x${'ff'.repeat(19)}fe`,
  `0x${'ff'.repeat(20)}`,
  '0x5b2d0a5d3b5c28285b2d0a5d3b5c28285b2d0a5d',
  '0x61726d61726d61726d61726d61726d61726d6172',
] as const;
/** Wallets that can pay for `HUGE`. Their balances exceed 2^53 atoms. */
export const WHALES = [`0x${'fe'.repeat(20)}`, `0x${'0a'.repeat(20)}`] as const;
export const WALLETS: readonly string[] = [...TRADERS, ...WHALES];

/** Choices of a generator: the markets and wallets of a stage, and the texts of its ids. */
export interface Profile {
  readonly markets: readonly Rules[];
  /** Markets with most of the trading. The first has small sizes. */
  readonly busy: readonly string[];
  readonly midTicks: Readonly<Record<string, bigint>>;
  /** Ticks of one step of a price away from the middle, where it is not one. */
  readonly reachTicks: Readonly<Record<string, bigint>>;
  readonly traders: readonly string[];
  /** Wallets without orders of their own in most books, which clear them. */
  readonly sweepers: readonly string[];
  /** Assets of deposits, of withdrawals, and of announced deposits. */
  readonly credited: readonly string[];
  readonly debited: readonly string[];
  readonly announced: readonly string[];
  /** Names of those who pay withdrawals. */
  readonly payers: readonly string[];
  /** Returns an id, or a reference, that begins with the number of the operation. */
  readonly idText?: (made: number) => string;
  /** Chance that an operation is a step of custody. */
  readonly custodyChance: number;
  /** Also draws what every exchange refuses, and what only the other markets of the stage show. */
  readonly hasRefusals: boolean;
}

export const STAGE: Profile = {
  markets: MARKETS,
  busy: BUSY,
  midTicks: MID_TICKS,
  reachTicks: { [BUSY[1]]: 25n },
  traders: TRADERS,
  sweepers: WHALES,
  credited: ['USD', 'ALPHA', 'BETA', 'GAMMA', 'YEN', 'DELTA', 'EPSILON'],
  debited: ['USD', 'ALPHA', 'BETA', 'GAMMA', 'YEN'],
  announced: ['USD', 'ALPHA', 'GAMMA'],
  // One begins another.
  payers: ['ann', 'ann"', 'an'],
  custodyChance: 0.08,
  hasRefusals: true,
};
