/**
 * Encodes WebSocket text frames once for all clients. Servers do not mask frames, so the bytes are the same for all.
 */

const FINAL_TEXT = 0x81;
const SHORTEST_16_BIT = 126;
const SHORTEST_64_BIT = 65_536;

function header(length: number): Buffer {
  if (length < SHORTEST_16_BIT) return Buffer.from([FINAL_TEXT, length]);
  if (length < SHORTEST_64_BIT) {
    const bytes = Buffer.from([FINAL_TEXT, 126, 0, 0]);
    bytes.writeUInt16BE(length, 2);
    return bytes;
  }
  const bytes = Buffer.alloc(10);
  bytes[0] = FINAL_TEXT;
  bytes[1] = 127;
  bytes.writeBigUInt64BE(BigInt(length), 2);
  return bytes;
}

/** Joins several messages into one buffer for any number of sockets. */
export const textFrames = (payloads: readonly Buffer[]): Buffer =>
  Buffer.concat(payloads.flatMap((payload) => [header(payload.length), payload]));
