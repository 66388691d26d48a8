/** Time between the frames of a stream. Every tick begins at an even second of Redis' clock. */
export const TICK_MS = 2_000;
