/**
 * Speed of the processors, by a fixed piece of work. Neighbours on the host of a virtual machine share the halves of its
 * cores, its caches and its memory. They slow its processors down by up to a half, within seconds, without taking any of
 * their time.
 */

import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 250;

/** Much like the work of a server: its speed changes with that of Redis, Postgres and the service. */
const TEXT = JSON.stringify(
  Array.from({ length: 600 }, (_, index) => ({
    id: `order ${index}`,
    price: index * 7,
    fills: [index, index + 1],
    reference: 'x'.repeat(index % 20),
  })),
);

/** Processor time of this process, in milliseconds. It leaves out the waits for a processor. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Works for half a millisecond, four times a second. @returns a function that ends it and returns the mean of its times */
export function watchProcessorSpeed(): () => number {
  const work = { timesMs: 0, count: 0, isEnded: false };
  const watch = async (): Promise<void> => {
    // The first times are those of a program that Node has not compiled yet.
    for (let warm = 0; warm < 50; warm += 1) JSON.parse(TEXT);
    for (; !work.isEnded; await sleep(PAUSE_MS)) {
      const begunMs = processorMs();
      JSON.parse(TEXT);
      work.timesMs += processorMs() - begunMs;
      work.count += 1;
    }
  };
  void watch();
  return () => {
    work.isEnded = true;
    return work.timesMs / work.count;
  };
}
