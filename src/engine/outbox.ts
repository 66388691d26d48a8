/**
 * The outbox stream of events. Settlement and lists that must include unsettled events read it; settled events are
 * trimmed.
 */

import type { Redis } from 'ioredis';
import { historyUnavailable, Refusal } from '../domain/errors.ts';
import { type Cursor, type EngineEvent, weightOf } from '../domain/event.ts';
import type { Market } from '../domain/market.ts';
import { LOOK_COUNTS_MS } from './claims.ts';
import { walletBytes } from './codec.ts';
import type { EngineCore } from './core.ts';
import { eventIdOf, placeOfEntry, readEvent, type StreamEntry } from './event-codec.ts';
import { KEYS } from './keys.ts';
import type { EngineMarkets } from './markets.ts';
import { FIND_UNSETTLED, TRIM_SETTLED } from './scripts.ts';

/** Milliseconds that the index finds settled events, and the least that these stay, so that a running read has both. */
const INDEX_STAYS_MS = 10_000;
/** Share of its memory from which the engine keeps settled events no longer than their index. */
const MAX_MEMORY_SHARE = 0.5;
/** Interval of looks at the engine's memory. */
const LOOK_AT_MEMORY_MS = 5_000;
/**
 * Least time in milliseconds that Redis remembers a used id after Postgres has it: twice as long as a lookup in Postgres
 * counts. It is also longer than any event stays: a Postgres that was restored to before an event does not know its id.
 */
const CLAIMS_STAY_MS = 2 * LOOK_COUNTS_MS;
const LONGER_THAN_EVENTS_MS = 60_000;

type StreamReply = readonly (readonly [key: Buffer, entries: readonly StreamEntry[]])[];

class UnknownMarket extends Error {
  override readonly name = 'UnknownMarket';
}

const lostMarkets = (): Refusal =>
  new Refusal('SERVICE_UNAVAILABLE', 'the matching engine has lost what was read');

/** Returns a lookup that throws `absent()` for a number that `marketAt` does not know. */
const marketIn =
  (marketAt: (number: number) => Market | undefined, absent: () => Error) =>
  (number: number): Market => {
    const market = marketAt(number);
    if (market === undefined) throw absent();
    return market;
  };

/** Maximum events of one page of the stream, and the target size of a page in bytes. */
const PAGE_EVENTS = 50;
const PAGE_BYTES = 1024 * 1024;
/** Maximum bytes of any page. */
const MAX_PAGE_BYTES = 32 * PAGE_BYTES;
/** Bytes of the largest event for each order that it meets: the record of a closed order with the longest client order id. */
const BYTES_PER_MAKER = 552;

const bytesOf = ([, fields]: StreamEntry): number => fields.reduce((sum, { length }) => sum + length, 0);

/**
 * Maximum index entries returned by the first script of a read, and by each later one. Most lists are complete with
 * the first ones: a hundred orders that were placed and cancelled are two hundred events.
 */
const STAMPS_TOGETHER = { first: 250, later: 500 };
/** Maximum events of one page of a wallet's events; each may carry the fills of thousands of orders. */
const UNSETTLED_PAGE = 50;
/**
 * Maximum unsettled events of a list. A longer list is refused until settlement has caught up: it would be slow, and
 * would slow everybody down.
 */
const MAX_UNSETTLED = 10_000;
const MAX_UNSETTLED_BYTES = 64 * 1024 * 1024;

/**
 * Number of events after which a read asks how far Postgres is, because most reads that go further back need Postgres in
 * any case. So no read costs the engine more than this while Postgres is away.
 */
const READ_BEFORE_LEDGER = 1_000;

/** Some of a wallet's unsettled events. */
interface UnsettledPage {
  /** Oldest first. All of them are older than those of the page before. */
  readonly events: readonly EngineEvent[];
  /**
   * True if the pages so far have every event of the wallet from their oldest event on, up to the moment of the first
   * page, and the engine that told them is open. False once an event was settled and trimmed before it was read.
   */
  readonly isWhole: boolean;
}

const weightAfter = (cursor: Cursor, events: readonly EngineEvent[]): number =>
  events.reduce((sum, event) => (event.sequence === cursor.sequence ? sum : sum + weightOf(event)), 0);

/** Limits of the decoding of a page of a reading. */
interface ReadingPart {
  readonly after: Cursor;
  /** Weight of the events after the cursor with which the reading ends. */
  readonly weight: number;
  /** Events of the pages before. */
  readonly read: readonly EngineEvent[];
}

/** Decodes entries up to the one that reaches the weight, or up to one that is not readable, if others are before it. */
function decodePart(
  entries: readonly StreamEntry[],
  { after, weight, read }: ReadingPart,
  marketOf: (number: number) => Market,
): EngineEvent[] {
  const events: EngineEvent[] = [];
  let left = weight;
  try {
    for (const entry of entries) {
      const event = readEvent(entry, marketOf);
      events.push(event);
      left -= weightAfter(after, [event]);
      if (left <= 0) break;
    }
  } catch (error) {
    const isOfEntry = !(error instanceof UnknownMarket || error instanceof Refusal);
    const isFresh = ({ sequence }: EngineEvent): boolean => sequence > after.sequence;
    // Somebody may have added the entry by hand. Events that the engine wrote before it must not wait for its removal.
    if (!isOfEntry || !(events.some(isFresh) || read.some(isFresh))) throw error;
  }
  return events;
}

/** Returns the sequence of the event that a stamp names: `epoch (2) | sequence (6)`. */
const sequenceOf = (stamp: Buffer): number => stamp.readUIntBE(2, 6);

const nothingKnown = async (): Promise<number> => 0;

/** A part of the stamps of a wallet's unsettled events. */
interface StampsPart {
  /** The last stamp of the part before; empty for the first part. */
  readonly after: Buffer;
  /** Maximum stamps of this part. */
  readonly count: number;
  /** Maximum stamps after the part before that the reader takes. */
  readonly max: number;
  /** Sequence up to which the reader finds the events in Postgres. */
  readonly settled: number;
}

export class EngineOutbox {
  readonly #core: EngineCore;
  readonly #markets: EngineMarkets;
  readonly #maxPerPage: number;
  /** Number of events of the next page; smaller while events are large. */
  #pageEvents: number;

  readonly #eventsStayMs: number;
  readonly #claimsStayMs: number;
  /** True while the engine's memory is too full to keep settled events for longer than their index. */
  #isShort = false;
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(
    core: EngineCore,
    markets: EngineMarkets,
    {
      maxMakers,
      eventsStayMs = INDEX_STAYS_MS,
    }: { readonly maxMakers: number; readonly eventsStayMs?: number },
  ) {
    this.#eventsStayMs = Math.max(eventsStayMs, INDEX_STAYS_MS);
    this.#claimsStayMs = Math.max(CLAIMS_STAY_MS, 2 * this.#eventsStayMs + LONGER_THAN_EVENTS_MS);
    this.#core = core;
    this.#markets = markets;
    const max = Math.floor(MAX_PAGE_BYTES / (maxMakers * BYTES_PER_MAKER));
    this.#maxPerPage = Math.max(1, Math.min(PAGE_EVENTS, max));
    this.#pageEvents = this.#maxPerPage;
  }

  /**
   * Returns the events after the cursor, preceded by the event at the cursor while the stream has it. Stops at `count`
   * events, or at the event with which the weights reach `weight`. Returns fewer only where the stream ends, or before
   * an entry that is not readable.
   * @throws Error when the first entry after the cursor is not readable
   */
  async readEvents(after: Cursor, count: number, weight = Number.POSITIVE_INFINITY): Promise<EngineEvent[]> {
    const events: EngineEvent[] = [];
    let from = after.sequence === 0 ? '-' : eventIdOf(after);
    let left = weight;
    let isEnd = false;
    while (!isEnd && left > 0 && events.length <= count) {
      const asked = Math.min(this.#pageEvents, count + 1 - events.length);
      const entries = await this.#readPage(from, asked);
      const page = await this.#decode(entries, { after, weight: left, read: events });
      isEnd = page.length < asked;
      events.push(...page);
      left -= weightAfter(after, page);
      if (page.length > 0) from = `(${eventIdOf(page.at(-1)!)}`;
    }
    return events;
  }

  async #readPage(from: string, count: number): Promise<StreamEntry[]> {
    try {
      const entries = await this.#core.scripts.call(() =>
        this.#core.redis.xrangeBuffer(KEYS.events, from, '+', 'COUNT', count),
      );
      const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
      if (bytes > 0) this.#setPage((entries.length * PAGE_BYTES) / bytes);
      return entries;
    } catch (error) {
      // A reply that takes too long is requested again in smaller pages.
      this.#setPage(count / 2);
      throw error;
    }
  }

  #setPage(events: number): void {
    this.#pageEvents = Math.max(1, Math.min(this.#maxPerPage, Math.floor(events)));
  }

  /** True if events of `awaitEvents` may be told: no copy of the engine can lack them. */
  get isTold(): boolean {
    return !this.#core.scripts.waitsForCopies;
  }

  /**
   * Waits for events after a place, and returns the first ones; none after a time. Copies of the engine may lack them: a
   * caller that tells something has to read it in another way.
   * @param blocked a connection for this alone
   */
  async awaitEvents(blocked: Redis, after: Cursor, maxMs: number): Promise<EngineEvent[]> {
    const found = await this.#core.scripts.callAnyFormat(() =>
      blocked.xreadBuffer(
        'COUNT',
        this.#maxPerPage,
        'BLOCK',
        maxMs,
        'STREAMS',
        KEYS.events,
        eventIdOf(after),
      ),
    );
    return this.#decode((found as StreamReply | null)?.[0]?.[1] ?? []);
  }

  /** Returns the place of the first event of a later epoch that the stream still has; undefined if there is none. */
  async firstAfterEpoch(epoch: number): Promise<Cursor | undefined> {
    const from = eventIdOf({ epoch: epoch + 1, sequence: 0 });
    const [entry] = await this.#core.scripts.call(() =>
      this.#core.redis.xrangeBuffer(KEYS.events, from, '+', 'COUNT', 1),
    );
    return entry && placeOfEntry(entry);
  }

  /**
   * Returns the events that touch the wallet and may not be in Postgres yet, oldest first.
   * @throws Refusal SERVICE_UNAVAILABLE when they are too many or too large because settlement is far behind
   */
  async readUnsettled(wallet: string): Promise<EngineEvent[]> {
    const pages: (readonly EngineEvent[])[] = [];
    for await (const { events } of this.unsettledPages(wallet)) pages.push(events);
    return pages.reverse().flat();
  }

  /**
   * Yields the same events in pages, the newest page first. Reads a page when the reader asks for it, so a reader that
   * stops early costs little. The pages are as of the moment of the first one: later events are left out.
   * @param settledTo returns the sequence of the last event in Postgres. The engine keeps events for a while after
   *   that: until they are on the disk of Postgres. Called at most once, by a read of many events; the pages end there.
   */
  async *unsettledPages(wallet: string, settledTo = nothingKnown): AsyncGenerator<UnsettledPage> {
    const { tenure } = this.#core.lifecycle;
    const isOpen = this.#core.lifecycle.isOpen();
    let isComplete = true;
    let bytes = 0;
    for await (const asked of this.#stampPages(wallet, settledTo)) {
      const entries = await this.#entriesAt(asked);
      bytes += entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
      if (bytes > MAX_UNSETTLED_BYTES) throw historyUnavailable();
      // A missing entry has been settled meanwhile: the caller reads Postgres next.
      isComplete &&= entries.length === asked.length;
      const events = await this.#decode(entries.reverse());
      yield { events, isWhole: isComplete && isOpen && tenure === this.#core.lifecycle.tenure };
    }
  }

  /** Yields the stamps of the events of each page, newest first. */
  async *#stampPages(wallet: string, settledTo: () => Promise<number>): AsyncGenerator<readonly Buffer[]> {
    let found = 0;
    let read = 0;
    let settled: number | undefined;
    for (let after: Buffer = Buffer.alloc(0); ; ) {
      const count = found === 0 ? STAMPS_TOGETHER.first : STAMPS_TOGETHER.later;
      const part = { after, count, max: MAX_UNSETTLED - found, settled: settled ?? 0 };
      const stamps = await this.#unsettledStamps(wallet, part);
      if (stamps === undefined || found + stamps.length > MAX_UNSETTLED) {
        if (settled !== undefined) throw historyUnavailable();
        settled = await settledTo();
        continue;
      }
      found += stamps.length;
      for (let at = 0; at < stamps.length; at += UNSETTLED_PAGE) {
        if (read >= READ_BEFORE_LEDGER) settled ??= await settledTo();
        const page = stamps
          .slice(at, at + UNSETTLED_PAGE)
          .filter((stamp) => sequenceOf(stamp) > (settled ?? 0));
        if (page.length === 0) return;
        read += page.length;
        yield page;
      }
      if (stamps.length < count) return;
      after = stamps.at(-1)!;
    }
  }

  /**
   * Returns stamps of the wallet's unsettled events, newest first: the next ones after a stamp. Returns undefined when
   * there are more than the reader takes.
   * @throws Refusal SERVICE_UNAVAILABLE also when the engine was lost or replaced since the call before
   */
  async #unsettledStamps(wallet: string, part: StampsPart): Promise<readonly Buffer[] | undefined> {
    const reply = await this.#core.whileCurrent(() =>
      this.#core.scripts.run(FIND_UNSETTLED, {
        wallet: walletBytes(wallet),
        ...part,
        minSequence: this.#core.lifecycle.minSequence,
      }),
    );
    return reply.outcome === 'too many' ? undefined : reply.stamps;
  }

  /** Several commands instead of one script: each range is short, and other commands run between them. */
  async #entriesAt(stamps: readonly Buffer[]): Promise<StreamEntry[]> {
    const ids = stamps.map((stamp) =>
      eventIdOf({ epoch: stamp.readUInt16BE(0), sequence: sequenceOf(stamp) }),
    );
    const found = await this.#core.scripts.call(() =>
      Promise.all(ids.map((id) => this.#core.redis.xrangeBuffer(KEYS.events, id, id))),
    );
    return found.flat();
  }

  /**
   * Removes what Postgres has.
   * @returns the number of events removed from the stream
   */
  async trim({ epoch, sequence }: Cursor): Promise<number> {
    if (Date.now() - this.#lookedMs >= LOOK_AT_MEMORY_MS) await this.#lookAtMemory();
    return this.#core.scripts.run(TRIM_SETTLED, {
      epoch,
      sequence,
      eventsStayMs: this.#isShort ? INDEX_STAYS_MS : this.#eventsStayMs,
      indexStayMs: INDEX_STAYS_MS,
      claimsStayMs: this.#claimsStayMs,
    });
  }

  async #lookAtMemory(): Promise<void> {
    const text = await this.#core.scripts.call(() => this.#core.redis.info('memory'));
    const figure = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1] ?? 0);
    const max = figure('maxmemory');
    this.#isShort = max > 0 && figure('used_memory') > MAX_MEMORY_SHARE * max;
    this.#lookedMs = Date.now();
  }

  /** Decodes all entries, or those of a part of a reading. */
  async #decode(entries: readonly StreamEntry[], part?: ReadingPart): Promise<EngineEvent[]> {
    if (entries.length === 0) return [];
    const decode = (marketOf: (number: number) => Market): EngineEvent[] =>
      part === undefined
        ? entries.map((entry) => readEvent(entry, marketOf))
        : decodePart(entries, part, marketOf);
    const marketAt = await this.#markets.byNumberAt(
      Math.max(...entries.map((entry) => placeOfEntry(entry).epoch)),
    );
    try {
      return decode(marketIn(marketAt, () => new UnknownMarket()));
    } catch (error) {
      if (!(error instanceof UnknownMarket)) throw error;
      // A market was published after the records were read, or the engine was emptied after the events were read.
      const { byNumber } = await this.#markets.refresh();
      return decode(marketIn((number) => byNumber.get(number), lostMarkets));
    }
  }
}
