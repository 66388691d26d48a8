/** The event stream: read by settlement, by lists that must see what is not settled yet, and trimmed. */

import type { Cursor, EngineEvent } from '../domain/event.ts';
import { walletBytes } from './codec.ts';
import type { EngineCore } from './core.ts';
import { readEvent, type StreamEntry } from './event-codec.ts';
import { KEYS } from './keys.ts';
import type { EngineMarkets } from './markets.ts';

/** Settled events stay this long, so that a read under way still finds them. */
const EVENTS_STAY_MS = 10_000;
/** Redis remembers a used id this long after Postgres has it; scripts trust a look into Postgres for half as long. */
const CLAIMS_STAY_MS = 600_000;

class UnknownMarket extends Error {
  override readonly name = 'UnknownMarket';
}

const epochOf = ([id]: StreamEntry): number => Number.parseInt(id.toString(), 10);

const idOf = ({ epoch, sequence }: Cursor): string => `${epoch}-${sequence}`;

export class EngineOutbox {
  readonly #core: EngineCore;
  readonly #markets: EngineMarkets;

  constructor(core: EngineCore, markets: EngineMarkets) {
    this.#core = core;
    this.#markets = markets;
  }

  /** Up to `count` events after the cursor, and before them the one at the cursor while the stream has it. */
  async readEvents(after: Cursor, count: number): Promise<EngineEvent[]> {
    const from = after.sequence === 0 ? '-' : idOf(after);
    const entries = await this.#core.call(() =>
      this.#core.redis.xrangeBuffer(KEYS.events, from, '+', 'COUNT', count + 1),
    );
    return this.#decode(entries);
  }

  /** Events that touch the wallet and may not be in Postgres yet, oldest first. */
  async unsettledOf(wallet: string): Promise<EngineEvent[]> {
    const keys = [KEYS.engine, ...KEYS.unsettled];
    const stamps = (await this.#core.run('find_unsettled', keys, [walletBytes(wallet)])) as Buffer[];
    if (stamps.length === 0) return [];
    const ids = stamps.map((stamp) =>
      idOf({ epoch: stamp.readUInt16BE(0), sequence: stamp.readUIntBE(2, 6) }),
    );
    // Not one script: each range is short, and other commands run between them.
    const found = await this.#core.call(() =>
      Promise.all([...new Set(ids)].map((id) => this.#core.redis.xrangeBuffer(KEYS.events, id, id))),
    );
    // An entry that is gone by now has been settled meanwhile: the caller reads Postgres next.
    const events = await this.#decode(found.flat());
    return events.sort((a, b) => a.sequence - b.sequence);
  }

  /** Lets go of what Postgres has. @returns the number of events taken off the stream */
  async trim(cursor: Cursor): Promise<number> {
    const keys = [KEYS.engine, KEYS.events, ...KEYS.unsettled, ...KEYS.claims];
    const args = [cursor.epoch, cursor.sequence, EVENTS_STAY_MS, CLAIMS_STAY_MS];
    return (await this.#core.run('trim_settled', keys, args)) as number;
  }

  async #decode(entries: readonly StreamEntry[]): Promise<EngineEvent[]> {
    if (entries.length === 0) return [];
    let marketAt = await this.#markets.byNumberAt(Math.max(...entries.map(epochOf)));
    const decode = (): EngineEvent[] =>
      entries.map((entry) =>
        readEvent(entry, (number) => {
          const market = marketAt(number);
          if (market === undefined) throw new UnknownMarket(`no market has the number ${number}`);
          return market;
        }),
      );
    try {
      return decode();
    } catch (error) {
      if (!(error instanceof UnknownMarket)) throw error;
      // One was published since the records were read.
      const { byNumber } = await this.#markets.refresh();
      marketAt = (number) => byNumber.get(number);
      return decode();
    }
  }
}
