/** The one place that names what request limits keep in Redis. */

import { TAG } from '../../redis/tag.ts';
import type { Bucket } from './buckets.ts';

/** Before the address whose requests outside the contract are counted: a number that ends with its window. */
export const OUTSIDE_PREFIX = `${TAG}:limit:outside:`;

/** Log of one client, a session or an address, in one bucket: a string of times. */
export const clientLog = (bucket: Bucket, client: string): string => `${TAG}:limit:${bucket}:${client}`;

/** Log of all requests to a bucket that came from one address, whatever sessions they carried. */
export const addressLog = (bucket: Bucket, address: string): string =>
  `${TAG}:limit:${bucket}:all:${address}`;
