/**
 * Encodes messages of a channel: the beat number, then one frame per line. Our JSON contains no line feed, so a reader
 * can split a message into frames without parsing them.
 */

const LINE_FEED = 0x0a;

export const writeMessage = (beat: number, frames: readonly string[]): string => [beat, ...frames].join('\n');

interface Message {
  readonly beat: number;
  /** Slices of the message, not copies. */
  readonly frames: readonly Buffer[];
}

/** Returns undefined for bytes that no snapshot worker sends: without a beat number, a follower cannot tell their age. */
export function readMessage(message: Buffer): Message | undefined {
  const lines: Buffer[] = [];
  for (let from = 0; from <= message.length; ) {
    const end = message.indexOf(LINE_FEED, from);
    const to = end === -1 ? message.length : end;
    lines.push(message.subarray(from, to));
    from = to + 1;
  }
  const [first, ...frames] = lines;
  const beat = Number(first);
  return Number.isSafeInteger(beat) && beat > 0 ? { beat, frames } : undefined;
}
