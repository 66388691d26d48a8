/** Settings of the engines that tests open. */
export const LIMITS = {
  maxMakers: 1_000,
  maxLiveOrders: 10_000,
  // Redis clears the whole filter of each new engine, and many tests read it. By default it has 16 MiB.
  claimFilterBytes: 1_048_576,
  // A machine that stands still for a second refuses no order of a test. The queue's own tests have a clock of their own.
  patienceMs: 30_000,
};
