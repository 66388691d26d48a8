/** Limits of requests: one bucket for each row of docs/api.md 8. */

/** Requests are counted over any stretch of this length. */
export const WINDOW_MS = 60_000;

export interface BucketRule {
  /** Most requests of one client in a window. */
  readonly limit: number;
  /** Most requests of one address in a window, whatever sessions they carry. */
  readonly addressCeiling?: number;
  /**
   * Treatment of requests while the Redis that counts is away. Signing in is refused: guessing signatures and
   * making us verify them must not become free by taking that Redis down, and challenges are kept in it anyway.
   * Market data is served: it is public, and shared by all who ask for it at a time.
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
