/**
 * A model of the engine's copies: three servers with logs, Postgres with its row, keepers that act late, settlement that
 * commits late, and an adversary who names, crashes, cuts links and makes servers copy everything. `explore` visits
 * every interleaving, breadth first, so the first trace that it finds is a shortest one.
 *
 * Each entry of a log is on the server's disk, except while the server has `kept` an older log there.
 */

/** Entries, one character each: a begun epoch, an order, or a list of the servers that must acknowledge. */
type Log = string;

interface Server {
  readonly isUp: boolean;
  readonly isPrimary: boolean;
  /** Server that a replica follows; -1: none. */
  readonly follows: number;
  readonly log: Log;
  /** The log that a crash would bring back: it was copied whole, and its own file is not written anew. */
  readonly kept: Log | null;
  /** True while it loads what was copied to it whole, and tells nobody anything. */
  readonly isLoading: boolean;
  /** True from its start until keepers see that it has what the primary has. */
  readonly isStranger: boolean;
  /** Epoch that is noted for its present run, and has not opened; 0: none. */
  readonly noted: number;
  /** Epoch that it opened in its present run; 0: none. */
  readonly ranAs: number;
  /** Epoch in which a process uses it; 0: none. */
  readonly open: number;
  /** Its log as the round under way began; empty: none is. */
  readonly round: Log;
  /** The last orders that settlement was told. */
  readonly told: Log;
  readonly isCut: boolean;
  /** Equal servers have equal texts. */
  readonly text: string;
}

/** The row of Postgres, and what settlement has committed. */
interface Postgres {
  readonly epoch: number;
  /** Server of that epoch. */
  readonly begunOn: number;
  readonly server: number;
  /** A keeper found the present run of that server fit to lead. */
  readonly isFound: boolean;
  readonly version: number;
  readonly members: number;
  readonly joining: number;
  /** Servers that left as too few remained for an answer. */
  readonly former: number;
  readonly settled: Log;
}

/** A naming, which keepers carry out at any later time. */
interface Naming {
  readonly server: number;
  readonly epoch: number;
  readonly version: number;
  /** The named server still runs as it was found fit to lead. */
  readonly isFound: boolean;
  /** Servers that were started again after the row was read, so that its keepers give them no order. */
  readonly runAnew: number;
  /** A keeper has seen that the named server runs in its epoch, with the list of this naming. */
  readonly isCarriedOut: boolean;
  /** Its keepers read the row after Postgres was put back. */
  readonly isMadeAfter: boolean;
}

/** A list that a keeper gives to a server, at any later time. */
interface GivenList {
  readonly version: number;
  readonly server: number;
  readonly list: number;
  /** Its row was made after Postgres was put back. */
  readonly isMadeAfter: boolean;
}

/** All that is not one server's. */
interface Shared {
  readonly postgres: Postgres;
  readonly namings: readonly Naming[];
  /** Lists that keepers give to servers, at any later time. */
  readonly lists: readonly GivenList[];
  /** The last round that was whole. */
  readonly proved: { readonly server: number; readonly epoch: number; readonly version: number };
  readonly answered: Log;
  /** An answer came from a server that lacked an earlier one. */
  readonly isForgotten: boolean;
  /** The row of which Postgres has a backup. */
  readonly backup: Postgres | null;
  readonly isPutBack: boolean;
  readonly placed: Log;
  /** The server that Sentinels promoted. */
  readonly promoted: number;
  readonly left: Bounds;
}

interface State extends Shared {
  readonly servers: readonly Server[];
  /** Equal shared parts have equal texts. */
  readonly text: string;
}

/** Things that the adversary may still do. */
export interface Bounds {
  readonly orders: number;
  readonly crashes: number;
  readonly namings: number;
  /** Changes of the list. */
  readonly changes: number;
  readonly cuts: number;
  /** Servers that must be copied whole although their log fits. */
  readonly wholeCopies: number;
  /** Servers that start again with an empty disk. */
  readonly lostDisks: number;
  /** Servers that start again with an older log. */
  readonly olderDisks: number;
  /** Times that Postgres is put back to an earlier moment. */
  readonly putBacks: number;
}

export interface Rules {
  /** An answer waits for nobody, for a number of replicas, or for every named copy. */
  readonly waitsFor: 'nobody' | 'one of two' | 'both' | 'the named';
  readonly settlementWaits: boolean;
  /** Who promotes: keepers carry out what Postgres says; Sentinels take any replica, a listed one, or the longest log. */
  readonly promoter: 'postgres' | 'any' | 'a listed one' | 'the longest';
  readonly epochsBeginOnMembersOnly: boolean;
  /** A server drops an order of a keeper that knows less than the server. */
  readonly keepersAreFenced: boolean;
  /** The old primary stays a member until the next epoch is noted. */
  readonly oldPrimaryLeavesAtNote: boolean;
  /** Others follow a server only once it is a primary with the list of its naming. */
  readonly othersFollowLast: boolean;
  readonly shrinksPostgresFirst: boolean;
  readonly joinsAfterRound: boolean;
  readonly epochsAreNoted: boolean;
  /** A server that was copied whole counts once its own file has what it acknowledges. */
  readonly copiesAreOnDisk: boolean;
  /** A server starts as a replica of nobody, which hands its data to no other. */
  readonly startsAsReplica: boolean;
  /** A named server leads only if it runs on since it was in step, or has as much as others that answer. */
  readonly looksBeforeItLeads: boolean;
  /** A server that was started again leads only if as many answer as an answer needs. */
  readonly comparesWithOthers: boolean;
  /** An order goes to a run of its server that was seen before the row was read. */
  readonly ordersNameRuns: boolean;
  /** Keepers do nothing while a server knows more than Postgres. */
  readonly stopsWhenPostgresIsOlder: boolean;
  /** A list of before a restore of Postgres is told from one of the same number that is made after it. */
  readonly listsAreMarked: boolean;
}

export const SOUND: Rules = {
  waitsFor: 'the named',
  settlementWaits: true,
  promoter: 'postgres',
  epochsBeginOnMembersOnly: true,
  keepersAreFenced: true,
  oldPrimaryLeavesAtNote: true,
  othersFollowLast: true,
  shrinksPostgresFirst: true,
  joinsAfterRound: true,
  epochsAreNoted: true,
  copiesAreOnDisk: true,
  startsAsReplica: true,
  looksBeforeItLeads: true,
  comparesWithOthers: true,
  ordersNameRuns: true,
  stopsWhenPostgresIsOlder: true,
  listsAreMarked: true,
};

/** Copies that an answer needs. */
const LEAST = 2;

const SERVERS = [0, 1, 2];
const bit = (server: number): number => 1 << server;
const has = (list: number, server: number): boolean => (list & bit(server)) !== 0;
const size = (list: number): number => SERVERS.filter((server) => has(list, server)).length;

// The upper bits of an entry are its kind, so that no entry is 0 or 1.
const EPOCH = 1;
const ORDER = 2;
const LIST = 4;
const KIND_SHIFT = 12;
const entryOf = (kind: number, value: number): string => String.fromCharCode((kind << KIND_SHIFT) | value);
const begunEpoch = (epoch: number): string => entryOf(EPOCH, epoch);
const orderOf = (number: number, epoch: number, sequence: number): string =>
  entryOf(ORDER, (number << 8) | (epoch << 4) | sequence);
/** Bit of lists that are made after a restore of Postgres. */
const MADE_AFTER = 1 << 11;
const listed = (version: number, list: number, isMadeAfter = false): string =>
  entryOf(LIST, (isMadeAfter ? MADE_AFTER : 0) | (version << 3) | list);
const kindAt = (log: Log, at: number): number => log.charCodeAt(at) >> KIND_SHIFT;
const valueAt = (log: Log, at: number): number => log.charCodeAt(at) & ((1 << KIND_SHIFT) - 1);
/** The id of an order, which the engine gives it. */
const idAt = (orders: Log, at: number): number => valueAt(orders, at) & 0xff;

function showEntry(log: Log, at: number): string {
  const kind = kindAt(log, at);
  const value = valueAt(log, at);
  if (kind === EPOCH) return `e${value}`;
  if (kind === LIST) return `c${(value & ~MADE_AFTER) >> 3}:${value & 7}${value & MADE_AFTER ? "'" : ''}`;
  return `o${value >> 8}@${(value >> 4) & 15}.${value & 15}`;
}

/** Returns the value of the last entry of a kind. */
function lastOf(kind: number, log: Log): number | undefined {
  for (let at = log.length - 1; at >= 0; at -= 1) if (kindAt(log, at) === kind) return valueAt(log, at);
  return undefined;
}

function ordersOf(log: Log): Log {
  let orders = '';
  for (let at = 0; at < log.length; at += 1) if (kindAt(log, at) === ORDER) orders += log[at];
  return orders;
}

const epochOf = (log: Log): number => lastOf(EPOCH, log) ?? 0;
const versionOf = (log: Log): number => ((lastOf(LIST, log) ?? 0) & ~MADE_AFTER) >> 3;
const listOf = (log: Log): number => (lastOf(LIST, log) ?? 7) & 7;

function hasAll(log: Log, orders: Log): boolean {
  for (let at = 0; at < orders.length; at += 1) if (!log.includes(orders[at]!)) return false;
  return true;
}

type ServerFields = Omit<Server, 'text'>;

/** Writes all parts of a server as characters, 0 between logs, and 1 for none. */
function asServer(server: ServerFields): Server {
  const { isUp, isPrimary, follows, log, kept, isLoading, isStranger, open, round, told, isCut } = server;
  const flags =
    (isUp ? 1 : 0) | (isPrimary ? 2 : 0) | (isLoading ? 4 : 0) | (isStranger ? 8 : 0) | (isCut ? 16 : 0);
  const small = flags | ((follows + 1) << 5);
  const epochs = server.noted | (server.ranAs << 4) | (open << 8);
  const text = `${String.fromCharCode(small, epochs)}${log}\0${kept ?? '\u0001'}\0${round}\0${told}\0`;
  return { ...server, text };
}

function numbersOf({
  epoch,
  begunOn,
  server,
  isFound,
  version,
  members,
  joining,
  former,
}: Postgres): number[] {
  return [epoch, begunOn, server, isFound ? 1 : 0, version, members, joining, former];
}

function textOf(shared: Shared): string {
  const { postgres, namings, lists, proved, answered, placed, promoted, left, backup } = shared;
  const numbers = [...numbersOf(postgres), proved.server, proved.epoch, proved.version, promoted];
  numbers.push(...Object.values(left), shared.isForgotten ? 1 : 0, shared.isPutBack ? 1 : 0, namings.length);
  for (const one of namings)
    numbers.push(
      ...[
        one.server,
        one.epoch,
        one.version,
        one.runAnew,
        (one.isCarriedOut ? 1 : 0) | (one.isFound ? 2 : 0) | (one.isMadeAfter ? 4 : 0),
      ],
    );
  for (const list of lists)
    numbers.push(list.version, list.server, list.list | (list.isMadeAfter ? MADE_AFTER : 0));
  const saved = backup === null ? '' : String.fromCharCode(...numbersOf(backup)) + backup.settled;
  return `${String.fromCharCode(...numbers)}\0${postgres.settled}\0${answered}\0${placed}\0${saved}`;
}

function firstState({ epochsAreNoted }: Rules, left: Bounds): State {
  const log = begunEpoch(1) + listed(1, 7);
  const server = (at: number): Server =>
    asServer({
      isUp: true,
      isPrimary: at === 0,
      follows: at === 0 ? -1 : 0,
      log,
      kept: null,
      isLoading: false,
      isStranger: false,
      noted: 0,
      ranAs: at === 0 ? 1 : 0,
      open: at === 0 ? 1 : 0,
      round: '',
      told: '',
      isCut: false,
    });
  const shared: Shared = {
    postgres: {
      epoch: epochsAreNoted ? 1 : 0,
      begunOn: 0,
      server: 0,
      isFound: true,
      version: 1,
      members: 7,
      joining: 0,
      former: 0,
      settled: '',
    },
    namings: [
      { server: 0, epoch: 1, version: 1, isFound: true, runAnew: 0, isCarriedOut: true, isMadeAfter: false },
    ],
    lists: [],
    proved: { server: 0, epoch: 1, version: 1 },
    answered: '',
    isForgotten: false,
    backup: null,
    isPutBack: false,
    placed: '',
    promoted: 0,
    left,
  };
  return { ...shared, servers: SERVERS.map(server), text: textOf(shared) };
}

const isGivenTwice = (placed: Log): boolean => {
  for (let at = 1; at < placed.length; at += 1)
    for (let before = 0; before < at; before += 1) if (idAt(placed, before) === idAt(placed, at)) return true;
  return false;
};

/** Returns the servers on which clients may trade. */
function tradingOf({ servers, postgres }: State, { epochsAreNoted }: Rules): readonly Server[] {
  if (epochsAreNoted) {
    const named = servers[postgres.server]!;
    const isOn = postgres.isFound && postgres.begunOn === postgres.server;
    const isNoted = isOn && epochOf(named.log) >= postgres.epoch;
    return isNoted ? [named] : [];
  }
  const newest = Math.max(...servers.map(({ open }) => open));
  return servers.filter(({ open, isUp, isPrimary }) => open > 0 && open === newest && isUp && isPrimary);
}

/** Returns the promise that a state breaks, or undefined. */
function broken(state: State, rules: Rules): string | undefined {
  const { servers, postgres, answered } = state;
  if (isGivenTwice(state.placed)) return 'an id was given twice';
  if (state.isForgotten) return 'an answered order is gone';
  if (state.isPutBack)
    return servers.some(({ log }) => hasAll(log, answered))
      ? undefined
      : 'no server has every answered order';
  for (const { log } of tradingOf(state, rules)) {
    if (!hasAll(log, answered)) return 'an answered order is gone';
    if (!ordersOf(log).startsWith(postgres.settled)) return 'the ledger has what the engine lacks';
  }
  if (rules.waitsFor !== 'the named') return undefined;
  for (const at of SERVERS)
    if (has(postgres.members | postgres.former, at) && hasAll(servers[at]!.log, answered)) return undefined;
  return 'no member has every answered order';
}

/** Takes a step that is possible in a state. */
type Step = (name: string, servers: readonly Server[], shared?: Partial<Shared>) => void;

const changed = (state: State, at: number, change: Partial<ServerFields>): readonly Server[] => {
  const servers = [...state.servers];
  servers[at] = asServer({ ...servers[at]!, ...change });
  return servers;
};

const spent = (state: State, what: keyof Bounds): Bounds => ({ ...state.left, [what]: state.left[what] - 1 });

const isUsed = ({ isUp, isPrimary, open, log }: Server): boolean =>
  isUp && isPrimary && open > 0 && open === epochOf(log);

/** True for a primary in the epoch that it opened. */
const runsOn = ({ isUp, isPrimary, ranAs, log }: Server): boolean =>
  isUp && isPrimary && ranAs > 0 && ranAs === epochOf(log);

/** Orders are placed, rounds begin and end, settlement reads and commits. */
function trade(state: State, at: number, rules: Rules, step: Step): void {
  const { postgres, answered, servers } = state;
  const server = servers[at]!;
  const { log, round, told } = server;
  const isTrading = isUsed(server);
  if (isTrading && state.left.orders > 0) {
    const order = orderOf(state.left.orders, epochOf(log), ordersOf(log).length + 1);
    step(`${showEntry(order, 0)} is placed on ${at}`, changed(state, at, { log: log + order }), {
      placed: state.placed + order,
      left: spent(state, 'orders'),
      ...(rules.waitsFor === 'nobody' && { answered: answered + order }),
    });
  }
  if (isTrading && rules.waitsFor !== 'nobody' && round.length !== log.length)
    step(`a round begins on ${at}`, changed(state, at, { round: log }));
  if (round !== '' && isTrading && isAcknowledged(state, at, rules)) {
    const covered = ordersOf(round);
    const now = { round: '', ...(rules.settlementWaits && { told: covered }) };
    step(`the round on ${at} is whole`, changed(state, at, now), {
      answered: [...new Set(answered + covered)].sort().join(''),
      isForgotten: state.isForgotten || (rules.waitsFor === 'the named' && !hasAll(log, answered)),
      proved: { server: at, epoch: epochOf(log), version: versionOf(round) },
    });
  }
  if (!rules.settlementWaits && isTrading && told.length < ordersOf(log).length)
    step(`settlement reads ${at}`, changed(state, at, { told: ordersOf(log) }));
  // The batch may be committed when its server is gone.
  const { settled } = postgres;
  if (told.length > settled.length && told.startsWith(settled))
    step(`settlement commits ${showEntry(told, settled.length)}`, servers, {
      postgres: { ...postgres, settled: settled + told[settled.length] },
    });
}

function isAcknowledged({ servers }: State, at: number, rules: Rules): boolean {
  const { round } = servers[at]!;
  if (rules.waitsFor === 'the named' && size(listOf(round)) < LEAST) return false;
  let count = 0;
  for (const other of SERVERS) {
    if (other === at) continue;
    const { isUp, isPrimary, follows, isCut, kept, log } = servers[other]!;
    const isOnDisk = kept === null || !rules.copiesAreOnDisk;
    const acknowledges = isUp && !isPrimary && follows === at && !isCut && isOnDisk && log.startsWith(round);
    if (acknowledges) count += 1;
    else if (rules.waitsFor === 'the named' && has(listOf(round), other)) return false;
  }
  return rules.waitsFor === 'the named' || count >= (rules.waitsFor === 'both' ? 2 : 1);
}

/**
 * Replication goes entry by entry. A log that does not fit is replaced whole: what the primary had is on the disk of the
 * server before it drops its data and loads it.
 */
function replicate(state: State, at: number, step: Step): void {
  const server = state.servers[at]!;
  const { isUp, isPrimary, follows, isCut, log, kept, isLoading } = server;
  if (isUp && isLoading) step(`${at} has loaded its data`, changed(state, at, { isLoading: false }));
  else if (isUp && kept !== null) step(`${at} has written its file`, changed(state, at, { kept: null }));
  if (!isUp || isPrimary || follows < 0 || isCut || isLoading) return;
  const source = state.servers[follows]!;
  // A replica of nobody hands nothing out.
  if (!source.isUp || source.isLoading || (!source.isPrimary && source.follows < 0)) return;
  const from = source.log;
  const copied = changed(state, at, { log: from, isLoading: true, kept: kept ?? log });
  const fits = log !== '' && from.startsWith(log);
  if (!fits && (from !== '' || source.isPrimary)) step(`${at} is copied whole from ${follows}`, copied);
  if (fits && log.length < from.length) {
    const received = changed(state, at, { log: from.slice(0, log.length + 1) });
    step(`${at} receives ${showEntry(from, log.length)}`, received);
  }
  if (fits && state.left.wholeCopies > 0)
    step(`${at} must be copied whole`, copied, { left: spent(state, 'wholeCopies') });
}

/** Servers crash and start again, links are cut and mended. */
const CRASHED = { isUp: false, open: 0, round: '', noted: 0, ranAs: 0 };
const RESTARTED = { isUp: true, isStranger: true, kept: null, isLoading: false };
const AS_REPLICA = { isPrimary: false, follows: -1 };

function fail(state: State, at: number, rules: Rules, step: Step): void {
  const { startsAsReplica } = rules;
  const { isUp, isPrimary, kept, isCut, log } = state.servers[at]!;
  const { crashes, lostDisks, olderDisks, cuts } = state.left;
  if (isUp && crashes > 0)
    step(`${at} crashes`, changed(state, at, CRASHED), {
      ...forgotten(state, at, rules),
      left: spent(state, 'crashes'),
    });
  if (!isUp) {
    const restarted = startsAsReplica ? { ...RESTARTED, ...AS_REPLICA } : RESTARTED;
    const onDisk = kept ?? log;
    step(`${at} is started again`, changed(state, at, { ...restarted, log: onDisk }));
    if (lostDisks > 0)
      step(`${at} is started again with an empty disk`, changed(state, at, { ...restarted, log: '' }), {
        left: spent(state, 'lostDisks'),
      });
    for (let length = 1; olderDisks > 0 && length < onDisk.length; length += 1)
      step(
        `${at} is started again with the first ${length} entries`,
        changed(state, at, { ...restarted, log: onDisk.slice(0, length) }),
        { left: spent(state, 'olderDisks') },
      );
  }
  if (!isPrimary && !isCut && cuts > 0)
    step(`the link of ${at} is cut`, changed(state, at, { isCut: true }), { left: spent(state, 'cuts') });
  if (isCut) step(`the link of ${at} is mended`, changed(state, at, { isCut: false }));
}

/** Whatever was found of a server that ends is no longer true of its next run. */
function forgotten(state: State, at: number, { ordersNameRuns }: Rules): Partial<Shared> {
  const { postgres, backup, namings } = state;
  const without = <Found extends { readonly server: number; readonly isFound: boolean }>(
    one: Found,
  ): Found => (one.server === at && one.isFound ? { ...one, isFound: false } : one);
  const runAnew = ordersNameRuns ? bit(at) : 0;
  // Keepers read the present row at any time.
  const later = namings
    .map(without)
    .map((one) => (isPresent(state, one) ? one : { ...one, runAnew: one.runAnew | runAnew }));
  return { postgres: without(postgres), backup: backup && without(backup), namings: later };
}

const PROMOTED = { isPrimary: true, follows: -1 };
const following = (server: number): Partial<ServerFields> => ({
  isPrimary: false,
  follows: server,
  open: 0,
  round: '',
});

/** True for a server that tells what it has. One that loads what was copied to it does not. */
const isHeard = ({ isUp, isLoading }: Server): boolean => isUp && !isLoading;

/** Returns true where a keeper may find the present run of a server fit to lead, whichever others answer to it. */
function mayLead({ servers, postgres }: State, at: number, rules: Rules): boolean {
  const server = servers[at]!;
  const candidates = postgres.members | postgres.former;
  if (!has(candidates, at) || !isHeard(server)) return false;
  if (!rules.looksBeforeItLeads) return true;
  if (server.log === '') return false;
  if (!server.isStranger) return true;
  const needed = rules.comparesWithOthers ? Math.min(LEAST, size(candidates)) : 1;
  const others = SERVERS.filter(
    (other) =>
      other !== at &&
      has(candidates, other) &&
      isHeard(servers[other]!) &&
      compareHistory(servers[other]!.log, server.log) <= 0,
  );
  return others.length + 1 >= needed && (others.length > 0 || epochOf(server.log) >= postgres.epoch);
}

const compareHistory = (one: Log, other: Log): number =>
  epochOf(one) - epochOf(other) || ordersOf(one).length - ordersOf(other).length;

/** True for a list that Postgres lacks since it was put back. */
const isForeign = ({ isPutBack, backup }: State, log: Log): boolean =>
  isPutBack && versionOf(log) > backup!.version && ((lastOf(LIST, log) ?? 0) & MADE_AFTER) === 0;

/** True where a server knows a list or an epoch that Postgres lacks, and tells it. */
function isOlder(state: State, { listsAreMarked }: Rules): boolean {
  const { servers, postgres } = state;
  return servers.some((server) => {
    const { log } = server;
    const isLater = listsAreMarked ? isForeign(state, log) : versionOf(log) > postgres.version;
    return isHeard(server) && (isLater || epochOf(log) > postgres.epoch);
  });
}

/** Postgres names a primary, and keepers carry out what it says or once said. */
function nameAndCarryOut(state: State, at: number, rules: Rules, step: Step): void {
  const { isUp, isPrimary, follows, log, isLoading } = state.servers[at]!;
  const version = versionOf(log);
  const isStopped = rules.stopsWhenPostgresIsOlder && isOlder(state, rules);
  if (!isStopped) decide(state, at, rules, step);
  for (const naming of state.namings) {
    const isLeading =
      runsOn(state.servers[at]!) && epochOf(log) === naming.epoch && version >= naming.version;
    if (naming.server === at && !naming.isCarriedOut && isLeading)
      step(`keepers see that ${at} leads`, state.servers, {
        namings: state.namings.map((one) => (one === naming ? { ...one, isCarriedOut: true } : one)),
      });
    // Keepers give no order to a server whose list they have not seen, or that Postgres lacked as they read the row.
    const isOther = rules.listsAreMarked && naming.isMadeAfter && isForeign(state, log);
    const knowsMore = epochOf(log) > naming.epoch || version > naming.version || isOther;
    if (!isUp || has(naming.runAnew, at) || (rules.keepersAreFenced && knowsMore)) continue;
    if (naming.server === at) {
      if (!isPrimary && !isLoading && naming.isFound) step(`${at} is promoted`, changed(state, at, PROMOTED));
    } else if ((naming.isCarriedOut || !rules.othersFollowLast) && (isPrimary || follows !== naming.server))
      step(`${at} is told to follow ${naming.server}`, changed(state, at, following(naming.server)));
  }
}

/** A row that keepers carry out from now on. */
const namingOf = ({ server, epoch, version, isFound }: Postgres, isMadeAfter: boolean): Naming => ({
  server,
  epoch,
  version,
  isFound,
  runAnew: 0,
  isCarriedOut: false,
  isMadeAfter,
});

/** Postgres names a server, and keepers find it fit to lead. */
function decide(state: State, at: number, rules: Rules, step: Step): void {
  const { postgres } = state;
  const { server, members, former, epoch } = postgres;
  const version = postgres.version + 1;
  if (has(members | former, at) && at !== server && state.servers[at]!.isUp && state.left.namings > 0) {
    const rest = rules.oldPrimaryLeavesAtNote ? members : members & ~bit(server);
    const named = { server: at, version, isFound: false, members: rest | bit(at), former: former & ~bit(at) };
    step(`Postgres names ${at}`, state.servers, {
      postgres: { ...postgres, ...named, joining: 0 },
      lists: [...state.lists, { version, server: at, list: named.members, isMadeAfter: state.isPutBack }],
      namings: [...state.namings, namingOf({ ...postgres, ...named }, state.isPutBack)],
      left: spent(state, 'namings'),
    });
  }
  if (at === server && !postgres.isFound && mayLead(state, at, rules))
    step(`keepers find that ${at} may lead`, state.servers, {
      postgres: { ...postgres, version, isFound: true, joining: 0 },
      lists: [...state.lists, { version, server: at, list: members, isMadeAfter: state.isPutBack }],
      namings: laterRow(state, epoch, version, { isFound: true }),
    });
}

/** Sentinels promote a replica and tell the other servers to follow it. */
function promoteBySentinels(state: State, at: number, { promoter }: Rules, step: Step): void {
  const { isUp, isPrimary, follows, log, isLoading } = state.servers[at]!;
  const isLongest = state.servers.every(
    (other) => !other.isUp || other.isPrimary || other.log.length <= log.length,
  );
  const isListed = has(state.postgres.members, at) && !isLoading;
  const isTaken = promoter === 'any' || (promoter === 'a listed one' ? isListed : isLongest);
  if (isUp && !isPrimary && isTaken && state.left.namings > 0)
    step(`Sentinels promote ${at}`, changed(state, at, PROMOTED), {
      promoted: at,
      left: spent(state, 'namings'),
    });
  if (isUp && at !== state.promoted && (isPrimary || follows !== state.promoted))
    step(`${at} is told to follow ${state.promoted}`, changed(state, at, following(state.promoted)));
}

/** A process opens a primary: in its epoch, or in a new one that Postgres notes first. */
function open(state: State, at: number, rules: Rules, step: Step): void {
  const { postgres } = state;
  const { isUp, isPrimary, log, noted, open: isOpen } = state.servers[at]!;
  if (!isUp || !isPrimary || isOpen > 0 || log.length === 0) return;
  if (ordersOf(log).length < postgres.settled.length) return;
  const epoch = epochOf(log);
  const inEpoch = (begun: number) =>
    changed(state, at, {
      log: log + begunEpoch(begun),
      ranAs: begun,
      noted: 0,
      open: begun,
      isStranger: false,
    });
  if (noted > epoch) {
    step(`${at} opens in epoch ${noted}`, inEpoch(noted));
    return;
  }
  const isOn = runsOn(state.servers[at]!);
  if (isOn) step(`${at} opens again in epoch ${epoch}`, changed(state, at, { open: epoch }));
  if (rules.epochsAreNoted) note(state, at, rules, step);
  else if (!isOn) step(`${at} begins epoch ${epoch + 1}`, inEpoch(epoch + 1));
}

function note(state: State, at: number, rules: Rules, step: Step): void {
  const { postgres } = state;
  const { server, begunOn, isFound } = postgres;
  const { log } = state.servers[at]!;
  if (runsOn(state.servers[at]!) && epochOf(log) >= postgres.epoch) return;
  const isOfPostgres = rules.promoter === 'postgres';
  const isOther = rules.listsAreMarked && isForeign(state, log);
  const isFit = server === at && isFound && versionOf(log) === postgres.version && !isOther;
  const mayBegin = !rules.epochsBeginOnMembersOnly || has(postgres.members, at);
  if (!mayBegin || (isOfPostgres && !isFit)) return;
  const noted = Math.max(epochOf(log), postgres.epoch) + 1;
  const leaves = rules.waitsFor === 'the named' && begunOn !== at ? bit(begunOn) : 0;
  const version = postgres.version + 1;
  const members = postgres.members & ~leaves;
  const former = size(members) >= LEAST ? 0 : postgres.former | leaves;
  step(`Postgres notes epoch ${noted} on ${at}`, changed(state, at, { noted }), {
    postgres: { ...postgres, epoch: noted, begunOn: at, server: at, version, members, former, joining: 0 },
    namings: laterRow(state, noted, version),
    lists: [...state.lists, { version, server: at, list: members, isMadeAfter: state.isPutBack }],
  });
}

/** True for a naming as keepers read it now. */
const isPresent = ({ postgres, isPutBack }: State, { server, version, isMadeAfter }: Naming): boolean =>
  server === postgres.server && version === postgres.version && isMadeAfter === isPutBack;

/** Keepers that read the row later know more, and whatever they knew before, they may still do. */
function laterRow(
  state: State,
  epoch: number,
  version: number,
  more: Partial<Naming> = {},
): readonly Naming[] {
  return state.namings.map((naming) =>
    isPresent(state, naming) ? { ...naming, epoch, version, ...more } : naming,
  );
}

/**
 * Postgres is put back to the moment of its backup. Whatever keepers knew before, they may still do after it.
 */
function putBack(state: State, step: Step): void {
  const { postgres, backup, servers } = state;
  if (state.left.putBacks === 0) return;
  if (backup === null) {
    step('a backup of Postgres is taken', servers, { backup: postgres });
    return;
  }
  const { server, version, members, joining } = backup;
  step('Postgres is put back', servers, {
    postgres: backup,
    isPutBack: true,
    namings: [...state.namings, namingOf(backup, true)],
    lists: [...state.lists, { version, server, list: members | joining, isMadeAfter: false }],
    left: spent(state, 'putBacks'),
  });
}

/** Copies leave and join: in Postgres, and by lists that servers are given. */
function changeList(state: State, at: number, rules: Rules, step: Step): void {
  const { postgres, lists, proved, servers } = state;
  const { isUp, isPrimary, log } = servers[at]!;
  for (const { version, server, list, isMadeAfter } of lists)
    if (server === at && isUp && isPrimary && version > versionOf(log))
      step(
        `${at} is given list ${version}`,
        changed(state, at, { log: log + listed(version, list, isMadeAfter) }),
      );
  if (at === postgres.server || (rules.stopsWhenPostgresIsOlder && isOlder(state, rules))) return;
  const { members, joining } = postgres;
  const isMember = has(members, at);
  if (isSeenInStep(state, at)) becomeKnown(state, at, step);
  if (state.left.changes > 0 && isMember && size(members) >= 2) {
    const rest = members & ~bit(at);
    const left = spent(state, 'changes');
    const { version } = nextList(state, rest);
    if (rules.shrinksPostgresFirst) step(`${at} leaves`, servers, { ...nextRow(state, rest, joining), left });
    else if (servers[postgres.server]!.open > 0 && !lists.some((one) => one.version === version))
      step(`answers do without ${at}`, servers, { lists: [...lists, nextList(state, rest)], left });
  }
  if (state.left.changes > 0 && !isMember && joining === 0 && size(members) >= LEAST) {
    const left = spent(state, 'changes');
    if (rules.joinsAfterRound)
      step(`${at} is joining`, servers, { ...nextRow(state, members, bit(at)), left });
    else step(`${at} joins`, servers, { ...nextRow(state, members | bit(at), 0), left });
  }
  const isProved =
    proved.server === postgres.server &&
    proved.epoch === postgres.epoch &&
    proved.version >= postgres.version;
  if (has(joining, at) && isProved) step(`${at} joins`, servers, nextRow(state, members | joining, 0));
}

/** True for a replica of the primary in the epoch of the row that has everything. */
function isSeenInStep({ servers, postgres }: State, at: number): boolean {
  const server = servers[at]!;
  const leader = servers[postgres.server]!;
  const isLed = runsOn(leader) && epochOf(leader.log) === postgres.epoch && postgres.isFound;
  const follows = server.isUp && !server.isPrimary && server.follows === postgres.server && !server.isLoading;
  return isLed && follows && server.log === leader.log;
}

/** Keepers see a server in step: it is no stranger, and a copy where there are too few for an answer. */
function becomeKnown(state: State, at: number, step: Step): void {
  const { members, joining, version } = state.postgres;
  const { isStranger, kept, log } = state.servers[at]!;
  if (isStranger) step(`${at} is seen in step`, changed(state, at, { isStranger: false }));
  const isKnown = kept === null && versionOf(log) === version;
  if (size(members) < LEAST && !has(members, at) && joining === 0 && isKnown)
    step(`${at} is admitted`, state.servers, nextRow(state, members | bit(at), 0));
}

/** The list of the next version, for the named primary. */
const nextList = ({ postgres: { version, server }, isPutBack }: State, list: number): GivenList => ({
  version: version + 1,
  server,
  list,
  isMadeAfter: isPutBack,
});

/** Changes the row, whose list keepers give to the primary at any later time. */
function nextRow(state: State, members: number, joining: number): Partial<Shared> {
  const { postgres, lists } = state;
  const list = nextList(state, members | joining);
  const { version } = list;
  const former = size(members) < LEAST ? postgres.former | (postgres.members & ~members) : 0;
  return {
    postgres: { ...postgres, version, members, joining, former },
    namings: laterRow(state, postgres.epoch, version),
    lists: [...lists, list],
  };
}

function stepsOf(state: State, rules: Rules, step: Step): void {
  for (const at of SERVERS) {
    trade(state, at, rules, step);
    replicate(state, at, step);
    fail(state, at, rules, step);
    if (rules.promoter === 'postgres') nameAndCarryOut(state, at, rules, step);
    else promoteBySentinels(state, at, rules, step);
    open(state, at, rules, step);
    if (rules.waitsFor === 'the named') changeList(state, at, rules, step);
  }
  putBack(state, step);
}

export interface Explored {
  readonly states: number;
  /** True if no state was left out. */
  readonly isComplete: boolean;
  /** The broken promise, and the steps to it. */
  readonly broken?: string;
  readonly trace?: readonly string[];
}

/** Returns a function that gives equal states the same text: the numbers of their parts. */
function keysOfStates(): (servers: readonly Server[], shared: string) => string {
  const numbers = new Map<string, number>();
  const numberOf = (text: string): number => {
    const number = numbers.get(text) ?? numbers.size;
    if (number === numbers.size) numbers.set(text, number);
    return number;
  };
  return ([one, other, third], shared) =>
    `${numberOf(one!.text)},${numberOf(other!.text)},${numberOf(third!.text)},${numberOf(shared)}`;
}

/**
 * Visits states until a promise breaks, all were visited, or `max` were.
 * @param idle names of steps that are left out, to find a known trace sooner
 */
export function explore(rules: Rules, bounds: Bounds, max: number, idle?: RegExp): Explored {
  const first = firstState(rules, bounds);
  const keyOf = keysOfStates();
  const seen = new Set([keyOf(first.servers, first.text)]);
  const steps: { readonly from: number; readonly name: string }[] = [{ from: -1, name: '' }];
  let frontier: [id: number, state: State][] = [[0, first]];
  let found: { readonly broken: string; readonly id: number } | undefined;
  while (frontier.length > 0 && found === undefined && seen.size < max) {
    const later: typeof frontier = [];
    for (const [from, state] of frontier) {
      stepsOf(state, rules, (name, servers, change) => {
        if (idle?.test(name)) return;
        const shared = change && { ...state, ...change };
        const text = shared === undefined ? state.text : textOf(shared);
        const key = keyOf(servers, text);
        if (found !== undefined || seen.has(key)) return;
        seen.add(key);
        const next = { ...(shared ?? state), servers, text };
        const id = steps.push({ from, name }) - 1;
        later.push([id, next]);
        const promise = broken(next, rules);
        if (promise !== undefined) found = { broken: promise, id };
      });
      if (found !== undefined || seen.size >= max) break;
    }
    frontier = later;
  }
  if (found === undefined) return { states: seen.size, isComplete: seen.size < max };
  const trace: string[] = [];
  for (let { id } = found; id > 0; id = steps[id]!.from) trace.unshift(steps[id]!.name);
  return { states: seen.size, isComplete: false, broken: found.broken, trace };
}
