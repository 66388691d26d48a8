/** The hash tag of every key and channel: one slot, so that one script may touch them all, also in a cluster. */

export const TAG = '{redbook}';
