/** Limits the handshakes of each address: as many at once as a minute allows, and then at that pace. */

const MINUTE_MS = 60_000;

export class Handshakes {
  readonly #paceMs: number;
  readonly #now: () => number;
  /** Time at which an address has used nothing of its minute. */
  readonly #freeAtMs = new Map<string, number>();

  constructor(perMinute: number, now: () => number = () => performance.now()) {
    this.#paceMs = MINUTE_MS / perMinute;
    this.#now = now;
  }

  /** Number of addresses that are remembered: those with a handshake in the last minute, once `forget` was called. */
  get addresses(): number {
    return this.#freeAtMs.size;
  }

  /** Counts a handshake. Returns false if the address has no room for it. */
  allows(address: string): boolean {
    const nowMs = this.#now();
    const freeAtMs = Math.max(nowMs, this.#freeAtMs.get(address) ?? 0) + this.#paceMs;
    if (freeAtMs > nowMs + MINUTE_MS) return false;
    this.#freeAtMs.set(address, freeAtMs);
    return true;
  }

  /** Forgets addresses that have used nothing of their minute. */
  forget(): void {
    const nowMs = this.#now();
    for (const [address, freeAtMs] of this.#freeAtMs) if (freeAtMs <= nowMs) this.#freeAtMs.delete(address);
  }
}
