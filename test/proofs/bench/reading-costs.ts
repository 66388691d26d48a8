/**
 * Counts the bytes that reading the body of an order makes in this process. A list of the characters of an id is a
 * hundredth of what an order makes in its api process, and a tenth of what reading it makes.
 */

import { GCProfiler, getHeapSpaceStatistics } from 'node:v8';
import { readOrder } from '../../../src/http/endpoints/place-order.ts';
import { readJson } from '../../../src/http/json.ts';
import { walletOf } from './driver-wallets.ts';
import { bodyOfOrder } from './order-requests.ts';

/** Few enough that the collector seldom runs during a count. */
const COUNTED = 1_000;
/** V8 compiles the code of reading during the first counts, later on a busy machine. The collector runs during some. */
const COUNTS = 1_000;

/**
 * Bounds under each major version of Node. Reading makes 1,697 to 1,857, 1,817 to 1,897, and 1,578 to 1,593 bytes, as V8
 * compiles it. With a list of characters it makes at least 2,033, 2,233 and 1,929.
 */
const MAX: Record<number, number> = { 20: 1_940, 22: 2_060, 24: 1_760 };

/** Maximum bytes that reading an order may make under this Node. */
export const MAX_OF_READING = MAX[Number(process.versions.node.split('.')[0])] ?? MAX[24]!;

function youngBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!;
  return space.space_used_size;
}

/** @returns bytes of one order: the lowest count without a collection */
export function bytesOfReading(): number {
  const wallet = walletOf(0);
  const texts = Array.from({ length: COUNTED }, () => bodyOfOrder());
  let least = Number.POSITIVE_INFINITY;
  for (let count = 0; count < COUNTS; count += 1) {
    const collector = new GCProfiler();
    collector.start();
    const before = youngBytes();
    for (const text of texts) readOrder(readJson(text), wallet);
    const made = youngBytes() - before;
    const { statistics: collections } = collector.stop()!;
    if (collections.length === 0) least = Math.min(least, made / COUNTED);
  }
  return least;
}
