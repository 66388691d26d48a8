/** Builds the Redis keys of request limits. No other file builds them. */

import { TAG } from '../../redis/tag.ts';
import type { Bucket } from './buckets.ts';

/** Key prefix for an address's requests outside the contract. The value is a number that expires with its window. */
export const OUTSIDE_PREFIX = `${TAG}:limit:outside:`;

/** Log of one client (a session or an address) in one bucket: a string of times. */
export const clientLog = (bucket: Bucket, client: string): string => `${TAG}:limit:${bucket}:${client}`;

/** Log of the orders that a wallet asked for. */
export const orderLog = (wallet: string): string => `${TAG}:limit:orders:${wallet}`;

/** Log of all requests from one address to a bucket, across all sessions. */
export const addressLog = (bucket: Bucket, address: string): string =>
  `${TAG}:limit:${bucket}:all:${address}`;
