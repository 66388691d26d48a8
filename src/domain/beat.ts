/** Time between the frames of a stream. Every beat begins at an even second of Redis' clock. */
export const BEAT_MS = 2_000;
