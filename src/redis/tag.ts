/**
 * Hash tag of every key and channel. All keys are therefore in one slot, so one script can use them all, also in a
 * cluster.
 */

export const TAG = '{redbook}';
