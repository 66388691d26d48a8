/**
 * Counts the bytes that reading the body of an order makes in this process. A list of the characters of an id is a
 * hundredth of what an order makes in its api process, and a tenth of what reading it makes.
 */

import { getHeapSpaceStatistics } from 'node:v8';
import { readOrder } from '../../../src/http/endpoints/place-order.ts';
import { readJson } from '../../../src/http/json.ts';
import { walletOf } from './driver-wallets.ts';
import { bodyOfOrder } from './order-requests.ts';

/** Few enough that the collector seldom runs during a count. */
const COUNTED = 1_000;
/** V8 compiles what is read during the first counts, and the collector runs during some. */
const COUNTS = 200;

/** Between what reading makes, and what it makes with a list of characters, under each major version of Node. */
const MOST: Record<number, number> = { 20: 1_850, 22: 1_865, 24: 1_650 };

/** Most bytes that reading an order may make under this Node. */
export const MOST_OF_READING = MOST[Number(process.versions.node.split('.')[0])] ?? MOST[24]!;

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
    const before = youngBytes();
    for (const text of texts) readOrder(readJson(text), wallet);
    const made = youngBytes() - before;
    if (made > 0) least = Math.min(least, made / COUNTED);
  }
  return least;
}
