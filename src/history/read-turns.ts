/**
 * Orders wallets that wait for a read by the time that their reads took. A wallet with long reads waits for one with
 * short reads, so each gets the same share of the connections.
 */

/**
 * Milliseconds by which the reads of a wallet may be ahead of the others' share. Without a limit, a read that a stall of
 * the machine made long would delay the wallet's next one until it is refused: the delay is this, times the wallets that
 * wait, divided by the connections.
 */
const MOST_AHEAD_MS = 100;

/** Wallets that are looked through at once for those whose share has come. */
const LOOKED_THROUGH = 1_024;

export class ReadTurns {
  /** Milliseconds of reading that each wallet that waits has had or could have had. */
  #shareMs = 0;
  /** Share that the reads of a wallet have taken, where it may be above that of the others. */
  readonly #takenMs = new Map<string, number>();
  /** Share at which each wallet that waits has its turn. */
  readonly #turnsMs = new Map<string, number>();
  /** The same wallets by whole milliseconds, in order of arrival. */
  readonly #waiting = new Map<number, Set<string>>();
  /** No wallet has an earlier turn. */
  #earliest = 0;
  #looksAt = LOOKED_THROUGH;

  /** Adds a wallet that has not waited. A second call does nothing. */
  add(wallet: string): void {
    if (!this.#turnsMs.has(wallet))
      this.#wait(wallet, Math.max(this.#shareMs, this.#takenMs.get(wallet) ?? 0));
  }

  delete(wallet: string): void {
    const turnMs = this.#turnsMs.get(wallet);
    if (turnMs === undefined) return;
    this.#turnsMs.delete(wallet);
    const turn = Math.floor(turnMs);
    const others = this.#waiting.get(turn)!;
    others.delete(wallet);
    if (others.size === 0) this.#waiting.delete(turn);
  }

  /** Removes the wallet whose turn it is, and returns it; undefined if none waits. */
  next(): string | undefined {
    if (this.#turnsMs.size === 0) return undefined;
    while (!this.#waiting.has(this.#earliest)) this.#earliest += 1;
    const [wallet] = this.#waiting.get(this.#earliest)!;
    const turnMs = this.#turnsMs.get(wallet!)!;
    this.delete(wallet!);
    this.#takenMs.set(wallet!, turnMs);
    this.#shareMs = Math.max(this.#shareMs, turnMs);
    return wallet;
  }

  /**
   * Adds the time of a read to what its wallet has taken. The share of all others grows, so that none waits for ever.
   * @param waits true if the wallet waits for its next read already
   */
  ended(wallet: string, tookMs: number, waits: boolean): void {
    const sumMs = (this.#takenMs.get(wallet) ?? this.#shareMs) + tookMs;
    const takenMs = Math.min(sumMs, this.#shareMs + MOST_AHEAD_MS);
    this.#takenMs.set(wallet, takenMs);
    if (waits) this.#wait(wallet, takenMs);
    this.#shareMs += tookMs / Math.max(1, this.#turnsMs.size);
    if (this.#takenMs.size > this.#looksAt) this.#forget();
  }

  #wait(wallet: string, turnMs: number): void {
    this.#turnsMs.set(wallet, turnMs);
    const turn = Math.floor(turnMs);
    const others = this.#waiting.get(turn);
    if (others === undefined) this.#waiting.set(turn, new Set([wallet]));
    else others.add(wallet);
    this.#earliest = Math.min(this.#earliest, turn);
  }

  #forget(): void {
    for (const [wallet, takenMs] of this.#takenMs) if (takenMs <= this.#shareMs) this.#takenMs.delete(wallet);
    this.#looksAt = LOOKED_THROUGH + 2 * this.#takenMs.size;
  }
}
