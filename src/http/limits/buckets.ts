/** Request limits: one bucket for each row of docs/api.md 8. */

/** Length of the sliding window in which requests are counted. */
export const WINDOW_MS = 60_000;

export interface BucketRule {
  /** Maximum requests of one client in a window. */
  readonly limit: number;
  /** Maximum requests from one address in a window, across all its sessions. */
  readonly addressCeiling?: number;
  /**
   * Handling of requests while the counting Redis is unavailable. Sign-in is refused: taking that Redis down must not
   * make it free to guess signatures and to make us verify them. That Redis also holds the challenges. Market data is
   * served: it is public, and simultaneous requests share one answer.
   */
  readonly whenAway: 'refuse' | 'serve';
}

export const BUCKETS = {
  challenge: { limit: 30, addressCeiling: 120, whenAway: 'refuse' },
  verify: { limit: 30, addressCeiling: 120, whenAway: 'refuse' },
  'market-data': { limit: 300, whenAway: 'serve' },
} as const satisfies Record<string, BucketRule>;

export type Bucket = keyof typeof BUCKETS;

/** Makes a record with an entry for each bucket. */
export const mapBuckets = <Made>(make: (bucket: Bucket) => Made): Readonly<Record<Bucket, Made>> =>
  Object.fromEntries((Object.keys(BUCKETS) as Bucket[]).map((bucket) => [bucket, make(bucket)])) as Record<
    Bucket,
    Made
  >;
