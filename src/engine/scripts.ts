/**
 * Typed calls of every script: the names of its keys and arguments, and the typed form of its replies. The scripts in
 * `lua/` document their meanings. Keys that are the same in every call are `FIXED_KEYS`.
 */

import { describeScript } from '../redis/script-call.ts';
import { KEYS } from './keys.ts';
import { currentOutcomes, outcomes } from './outcomes.ts';

/** Keys that are the same in every call, by the names that the headers give them. */
export const FIXED_KEYS = {
  engine: KEYS.engine,
  copies: KEYS.copies,
  rebuilding: KEYS.rebuilding,
  events: KEYS.events,
  markets: KEYS.markets,
  assets: KEYS.assets,
  live: KEYS.live,
  switches: KEYS.cancelAfter,
  leases: KEYS.cancelAfterLeases,
  cutOffs: KEYS.cancelAfterCutOffs,
  claims0: KEYS.claims[0],
  claims1: KEYS.claims[1],
  unsettled0: KEYS.unsettled[0],
  unsettled1: KEYS.unsettled[1],
} as const;

const timeOrNull = (text: Buffer): number | null => (text.length === 0 ? null : Number(text));

/** Splits a list of alternating items into pairs. */
const pairsOf = (list: readonly Buffer[]): [Buffer, Buffer][] =>
  Array.from({ length: list.length / 2 }, (_none, at) => [list[at * 2]!, list[at * 2 + 1]!]);

const claimed = ([orderId]: [Buffer]) => ({ outcome: 'claimed', orderId: orderId.toString('hex') }) as const;

/** Arguments of a claim; `ScriptClaim` has their values. */
const CLAIM_ARGS = ['claim', 'filterOffset', 'filterLast', 'filterMask', 'filterLayout'] as const;

export const ADMIT_ORDER = describeScript({
  name: 'admit_order',
  keys: ['claimFilter'],
  args: [
    'epoch',
    'marketVersion',
    'marketNumber',
    'symbol',
    'wallet',
    'clientOrderId',
    'checkedAt',
    'restricted',
    ...CLAIM_ARGS,
  ],
  read: currentOutcomes({
    nothing_earlier: () => ({ outcome: 'nothing earlier' }) as const,
    claimed,
    unchecked: ([time]: [Buffer]) => ({ outcome: 'unchecked', timeMs: Number(time) }) as const,
  }),
});

export const CHECK_RIGHTS = describeScript({
  name: 'check_rights',
  keys: ['keys...'],
  args: ['commands...'],
  read: (reply) => (reply as Buffer[]).map(String),
});

export const BEGIN_REBUILD = describeScript({
  name: 'begin_rebuild',
  keys: ['content...'],
  args: ['format', 'token', 'epoch', 'sequence'],
  read: outcomes({
    begun: ([replaces, filter]: [Buffer, Buffer]) =>
      ({ outcome: 'begun', replaces: replaces.toString() === '1', filter: filter.toString() }) as const,
    held: () => ({ outcome: 'held' }) as const,
    unsettled: ([last]: [Buffer]) => ({ outcome: 'unsettled', last: last.toString() }) as const,
    nothing: () => ({ outcome: 'nothing' }) as const,
  }),
});

/** Keys of a market; `marketKeys` gives their values. */
const MARKET_KEYS = ['bids', 'asks', 'baseBalances', 'quoteBalances', 'bidLevels', 'askLevels'] as const;

export const CANCEL_ORDERS = describeScript({
  name: 'cancel_orders',
  keys: MARKET_KEYS,
  args: ['call', 'requests...'],
  read: (reply) => (reply as Buffer[]).slice(1),
});

export const END_REBUILD = describeScript({
  name: 'end_rebuild',
  keys: [],
  args: ['token', 'lastEvent'],
  read: outcomes({
    ended: () => 'ended' as const,
    replaced: () => 'replaced' as const,
    held: () => 'held' as const,
  }),
});

export const FILL_REBUILD = describeScript({
  name: 'fill_rebuild',
  keys: ['part'],
  args: ['token', 'command', 'arguments...'],
  read: outcomes({ filled: () => true, replaced: () => false }),
});

export const FIND_CLAIM = describeScript({
  name: 'find_claim',
  keys: ['claimFilter'],
  args: [...CLAIM_ARGS, 'sealed'],
  read: currentOutcomes({
    claimed,
    unclaimed: () => ({ outcome: 'unclaimed' }) as const,
    unchecked: () => ({ outcome: 'unchecked' }) as const,
  }),
});

export const FIND_LIVE_ORDERS = describeScript({
  name: 'find_live_orders',
  keys: [],
  args: ['epoch', 'minSequence', 'wallet', 'marketNumber', 'after', 'count'],
  read: currentOutcomes({
    found: ([stamp, references]: [Buffer, Buffer]) => ({ stamp, references }),
  }),
});

export const FIND_INDEXED = describeScript({
  name: 'find_indexed',
  keys: [],
  args: ['members...'],
  read: (reply) => {
    const [turnedAt, ...found] = (reply as Buffer[]).map(String);
    return { turnedAt: Number(turnedAt), found: found.map((one) => one === '1') };
  },
});

export const FIND_UNSETTLED = describeScript({
  name: 'find_unsettled',
  keys: [],
  args: ['wallet', 'after', 'count', 'max', 'settled', 'minSequence'],
  read: currentOutcomes({
    found: (stamps: Buffer[]) => ({ outcome: 'found', stamps }) as const,
    too_many: () => ({ outcome: 'too many' }) as const,
  }),
});

export const LEASE_DUE_CANCEL = describeScript({
  name: 'lease_due_cancel',
  keys: [],
  args: ['epoch', 'wallet', 'cutOff', 'leaseMs'],
  read: currentOutcomes({
    leased: () => ({ isOurs: true }),
    ended: () => ({ isOurs: true }),
    passed: () => ({ isOurs: false }),
  }),
});

export const MOVE_FUNDS = describeScript({
  name: 'move_funds',
  keys: ['balances', 'claimFilter', 'allBalances...'],
  args: [
    'epoch',
    'kind',
    'wallet',
    'asset',
    'amount',
    'scale',
    'maxSupply',
    'record',
    'checkedAt',
    ...CLAIM_ARGS,
    'reversal',
    'left',
    'otherStep',
    'taken',
    'taker',
    'act',
  ],
  read: currentOutcomes({
    moved: ([sequence, owed]: [Buffer, Buffer]) =>
      ({
        outcome: 'moved',
        sequence: Number(sequence),
        owed: owed.toString() === '0' ? {} : { owedAtoms: BigInt(owed.toString()) },
      }) as const,
    claimed: ([record]: [Buffer]) => ({ outcome: 'claimed', record: record.toString() }) as const,
    reversed: ([left]: [Buffer]) => ({ outcome: 'reversed', leftAtoms: BigInt(`${left}`) }) as const,
    unchecked: ([time]: [Buffer]) => ({ outcome: 'unchecked', timeMs: Number(time) }) as const,
  }),
});

export const NOTE_ACT = describeScript({
  name: 'note_act',
  keys: [],
  args: ['epoch', 'detail', 'act'],
  read: currentOutcomes({ noted: () => 'noted' as const }),
});

export const OPEN_EPOCH = describeScript({
  name: 'open_epoch',
  keys: ['ofCopies...'],
  args: ['runId', 'epoch', 'sequence', 'filterLayout', 'format', 'rewritten', 'begunEpoch', 'begunServer'],
  read: outcomes({
    open: ([epoch, filter]: [Buffer, Buffer]) =>
      ({ outcome: 'open', epoch: Number(epoch), filter: filter.toString() }) as const,
    begins: ([epoch, lacks]: [Buffer, Buffer]) =>
      ({ outcome: 'begins', epoch: Number(epoch), lacksNoted: lacks.length > 0 }) as const,
    behind: ([epoch, sequence]: [Buffer, Buffer]) =>
      ({ outcome: 'behind', lastEvent: `${epoch}-${sequence}` }) as const,
    format: ([format]: [Buffer]) => ({ outcome: 'format', format: format.toString() }) as const,
    exhausted: () => ({ outcome: 'exhausted' }) as const,
    unknown: () => ({ outcome: 'unknown' }) as const,
    rewrite: () => ({ outcome: 'rewrite' }) as const,
  }),
});

export const PLACE_ORDERS = describeScript({
  name: 'place_orders',
  keys: [...MARKET_KEYS, 'filters...'],
  args: ['call', 'orders...'],
  read: (reply) => {
    const [shared, ...results] = reply as [Buffer, ...Buffer[]];
    return { shared, results };
  },
});

export const READ_BALANCES = describeScript({
  name: 'read_balances',
  keys: ['balances...'],
  args: ['wallet'],
  read: (reply) => {
    const found = reply as (Buffer | null)[];
    return Array.from({ length: found.length / 3 }, (_none, at) => ({
      available: found[at * 3] ?? null,
      reserved: found[at * 3 + 1] ?? null,
      owed: found[at * 3 + 2] ?? null,
    }));
  },
});

export const READ_BOOK = describeScript({
  name: 'read_book',
  keys: ['bids', 'asks', 'bidLevels', 'askLevels'],
  args: ['max', 'marketNumber', 'symbol', 'marketVersion'],
  read: currentOutcomes({
    book: ([sequence, time, bids, asks]: [Buffer, Buffer, Buffer[], Buffer[]]) => ({
      sequence: Number(sequence),
      timeMs: Number(time),
      bids: pairsOf(bids),
      asks: pairsOf(asks),
    }),
  }),
});

export const READ_FIELDS = describeScript({
  name: 'read_fields',
  keys: ['hash'],
  args: ['fields...'],
  read: (reply) => {
    const [sequence, values] = reply as [Buffer, (Buffer | null)[]];
    return { sequence: Number(sequence), values };
  },
});

export const READ_HEAD = describeScript({
  name: 'read_head',
  keys: [],
  args: [],
  read: (reply) => {
    const [sequence, time, id, newestTime] = reply as [Buffer, Buffer, Buffer, Buffer];
    return {
      sequence: Number(sequence),
      timeMs: Number(time),
      newestId: id.toString(),
      newestTimeMs: Number(newestTime),
    };
  },
});

export const READ_QUOTES = describeScript({
  name: 'read_quotes',
  keys: ['books...'],
  args: ['rules...'],
  read: currentOutcomes({
    quotes: (found: (Buffer | null)[]) =>
      Array.from({ length: found.length / 3 }, (_none, at) => ({
        bid: found[at * 3] ?? null,
        ask: found[at * 3 + 1] ?? null,
        last: found[at * 3 + 2] ?? null,
      })),
  }),
});

export const SCAN_FIELDS = describeScript({
  name: 'scan_fields',
  keys: ['hash'],
  args: ['cursor', 'count'],
  read: (reply) => {
    const [sequence, next, list] = reply as [Buffer, Buffer, Buffer[]];
    return { sequence: Number(sequence), next: next.toString(), fields: pairsOf(list) };
  },
});

export const SCAN_MEMBERS = describeScript({
  name: 'scan_members',
  keys: ['set'],
  args: ['from', 'count'],
  read: (reply) => {
    const [sequence, members, misplaced] = reply as [Buffer, Buffer[], Buffer];
    return { sequence: Number(sequence), members, misplaced: misplaced.length === 0 ? null : misplaced };
  },
});

export const SCAN_SWITCHES = describeScript({
  name: 'scan_switches',
  keys: [],
  args: ['of', 'cursor', 'count'],
  read: (reply) => {
    const [sequence, next, list] = reply as [Buffer, Buffer, Buffer[]];
    const switches = Array.from({ length: list.length / 5 }, (_none, at) => {
      const [wallet, ...kept] = list.slice(at * 5, at * 5 + 5) as [Buffer, ...Buffer[]];
      const [due, noted, lease, cutOff] = kept as [Buffer, Buffer, Buffer, Buffer];
      return { wallet, due: `${due}`, noted: `${noted}`, hasLease: lease.length > 0, cutOff };
    });
    return { sequence: Number(sequence), next: next.toString(), switches };
  },
});

export const SET_ASSET = describeScript({
  name: 'set_asset',
  keys: [],
  args: ['epoch', 'symbol', 'scale', 'act'],
  read: currentOutcomes({ set: () => 'set' as const }),
});

export const SET_CANCEL_AFTER = describeScript({
  name: 'set_cancel_after',
  keys: [],
  args: ['epoch', 'wallet', 'timeoutMs'],
  read: currentOutcomes({ set: ([due]: [Buffer]) => ({ dueMs: timeOrNull(due) }) }),
});

export const SET_COPIES = describeScript({
  name: 'set_copies',
  keys: [],
  args: ['version', 'mark', 'names'],
  read: outcomes({ set: () => true, later: () => false }),
});

export const SET_FILTER = describeScript({
  name: 'set_filter',
  keys: [],
  args: ['epoch', 'presentLayout', 'newLayout'],
  read: outcomes({ set: () => true, stale: () => false }),
});

export const SET_MARKET = describeScript({
  name: 'set_market',
  keys: ['bids', 'asks'],
  args: [
    'epoch',
    'symbol',
    'number',
    'version',
    'record',
    'base',
    'baseScale',
    'quote',
    'quoteScale',
    'mustBeEmpty',
    'act',
  ],
  read: currentOutcomes({
    set: ([version]: [Buffer]) => ({ version: Number(version) }),
  }),
});

export const SET_SWITCH = describeScript({
  name: 'set_switch',
  keys: [],
  args: ['epoch', 'field', 'value', 'kind', 'detail', 'wallet', 'requiredTerms', 'act'],
  read: currentOutcomes({ set: () => 'set' as const }),
});

export const TAKE_WITHDRAWAL = describeScript({
  name: 'take_withdrawal',
  keys: ['claimFilter', 'allBalances...'],
  args: [
    'epoch',
    'field',
    'take',
    'taker',
    'untilMs',
    'wallet',
    'detail',
    'checkedAt',
    ...CLAIM_ARGS,
    'request',
    'act',
  ],
  read: currentOutcomes({
    taken: () => ({ outcome: 'changed' }) as const,
    released: () => ({ outcome: 'changed' }) as const,
    unchanged: () => ({ outcome: 'unchanged' }) as const,
    claimed: ([record]: [Buffer]) => ({ outcome: 'claimed', record: record.toString() }) as const,
    unchecked: ([time]: [Buffer]) => ({ outcome: 'unchecked', timeMs: Number(time) }) as const,
  }),
});

export const TAKE_DUE_CANCELS = describeScript({
  name: 'take_due_cancels',
  keys: [],
  args: ['epoch', 'max', 'leaseMs'],
  read: currentOutcomes({
    taken: ([time, due, lease, taken, ended]: [Buffer, Buffer, Buffer, Buffer[], number]) => ({
      timeMs: Number(time),
      nextDueMs: timeOrNull(due),
      nextLeaseMs: timeOrNull(lease),
      taken: pairsOf(taken).map(([wallet, cutOff]) => ({ wallet, cutOff })),
      ended,
    }),
  }),
});

export const TRIM_SETTLED = describeScript({
  name: 'trim_settled',
  keys: [],
  args: ['epoch', 'sequence', 'eventsStayMs', 'indexStayMs', 'claimsStayMs'],
  read: (reply) => reply as number,
});
