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
  /** True while it has dropped its data, and has no others yet. */
  readonly isEmptied: boolean;
  /** Epoch that it began and that waits for its note; 0: none. */
  readonly noting: number;
  /** True while it runs under the run id of its last epoch. */
  readonly ranOn: boolean;
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
  readonly version: number;
  readonly members: number;
  readonly joining: number;
  readonly settled: Log;
}

/** A naming, which keepers carry out at any later time. */
interface Naming {
  readonly server: number;
  readonly epoch: number;
  readonly version: number;
  /** A keeper has seen that the named server is a primary with the list of this naming. */
  readonly isCarriedOut: boolean;
}

/** All that is not one server's. */
interface Shared {
  readonly postgres: Postgres;
  readonly namings: readonly Naming[];
  /** Lists that keepers give to servers, at any later time. */
  readonly lists: readonly { readonly version: number; readonly server: number; readonly list: number }[];
  /** The last round that was whole. */
  readonly proved: { readonly server: number; readonly epoch: number; readonly version: number };
  readonly answered: Log;
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
};

const SERVERS = [0, 1, 2];
const bit = (server: number): number => 1 << server;
const has = (list: number, server: number): boolean => (list & bit(server)) !== 0;
const size = (list: number): number => SERVERS.filter((server) => has(list, server)).length;

// The upper bits of an entry are its kind, so that no entry is 0 or 1.
const [EPOCH, ORDER, LIST] = [1, 2, 4];
const KIND_SHIFT = 12;
const entryOf = (kind: number, value: number): string => String.fromCharCode((kind << KIND_SHIFT) | value);
const begunEpoch = (epoch: number): string => entryOf(EPOCH, epoch);
const orderOf = (number: number, epoch: number, sequence: number): string =>
  entryOf(ORDER, (number << 8) | (epoch << 4) | sequence);
const listed = (version: number, list: number): string => entryOf(LIST, (version << 3) | list);
const kindAt = (log: Log, at: number): number => log.charCodeAt(at) >> KIND_SHIFT;
const valueAt = (log: Log, at: number): number => log.charCodeAt(at) & ((1 << KIND_SHIFT) - 1);
/** The id of an order, which the engine gives it. */
const idAt = (orders: Log, at: number): number => valueAt(orders, at) & 0xff;

function showEntry(log: Log, at: number): string {
  const [kind, value] = [kindAt(log, at), valueAt(log, at)];
  if (kind === EPOCH) return `e${value}`;
  if (kind === LIST) return `c${value >> 3}:${value & 7}`;
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
const versionOf = (log: Log): number => (lastOf(LIST, log) ?? 0) >> 3;
const listOf = (log: Log): number => (lastOf(LIST, log) ?? 7) & 7;

function hasAll(log: Log, orders: Log): boolean {
  for (let at = 0; at < orders.length; at += 1) if (!log.includes(orders[at]!)) return false;
  return true;
}

type ServerFields = Omit<Server, 'text'>;

/** Writes all parts of a server as characters, 0 between logs, and 1 for none. */
function asServer(server: ServerFields): Server {
  const { isUp, isPrimary, follows, log, kept, isEmptied, noting, ranOn, open, round, told, isCut } = server;
  const flags =
    (isUp ? 1 : 0) | (isPrimary ? 2 : 0) | (isEmptied ? 4 : 0) | (ranOn ? 8 : 0) | (isCut ? 16 : 0);
  const small = flags | ((follows + 1) << 5) | (noting << 7) | (open << 11);
  const text = `${String.fromCharCode(small)}${log}\0${kept ?? '\u0001'}\0${round}\0${told}\0`;
  return { ...server, text };
}

function textOf({ postgres, namings, lists, proved, answered, placed, promoted, left }: Shared): string {
  const { epoch, begunOn, server, version, members, joining, settled } = postgres;
  const numbers = [epoch, begunOn, server, version, members, joining, proved.server, proved.epoch];
  numbers.push(proved.version, promoted, left.orders, left.crashes, left.namings, left.changes, left.cuts);
  numbers.push(left.wholeCopies, left.lostDisks, namings.length);
  for (const one of namings) numbers.push(one.server, one.epoch, one.version, one.isCarriedOut ? 1 : 0);
  for (const list of lists) numbers.push(list.version, list.server, list.list);
  return `${String.fromCharCode(...numbers)}\0${settled}\0${answered}\0${placed}`;
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
      isEmptied: false,
      noting: 0,
      ranOn: at === 0,
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
      version: 1,
      members: 7,
      joining: 0,
      settled: '',
    },
    namings: [{ server: 0, epoch: 1, version: 1, isCarriedOut: true }],
    lists: [],
    proved: { server: 0, epoch: 1, version: 1 },
    answered: '',
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
    const isNoted = epochOf(named.log) >= postgres.epoch && postgres.begunOn === postgres.server;
    return isNoted ? [named] : [];
  }
  const newest = Math.max(...servers.map(({ open }) => open));
  return servers.filter(({ open, isUp, isPrimary }) => open > 0 && open === newest && isUp && isPrimary);
}

/** Returns the promise that a state breaks, or undefined. */
function broken(state: State, rules: Rules): string | undefined {
  const { servers, postgres, answered } = state;
  if (isGivenTwice(state.placed)) return 'an id was given twice';
  for (const { log } of tradingOf(state, rules)) {
    if (!hasAll(log, answered)) return 'an answered order is gone';
    if (!ordersOf(log).startsWith(postgres.settled)) return 'the ledger has what the engine lacks';
  }
  if (rules.waitsFor !== 'the named') return undefined;
  for (const at of SERVERS)
    if (has(postgres.members, at) && hasAll(servers[at]!.log, answered)) return undefined;
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

const isUsed = (server: Server): boolean =>
  server.isUp &&
  server.isPrimary &&
  server.open > 0 &&
  server.open === epochOf(server.log) &&
  server.noting === 0;

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

/** Replication goes entry by entry. A log that does not fit is dropped, and copied whole. */
function replicate(state: State, at: number, step: Step): void {
  const server = state.servers[at]!;
  const { isUp, isPrimary, follows, isCut, log, kept, isEmptied } = server;
  if (isUp && kept !== null && !isEmptied)
    step(`${at} has written its file`, changed(state, at, { kept: null }));
  if (!isUp || isPrimary || follows < 0 || isCut || !state.servers[follows]!.isUp) return;
  const source = state.servers[follows]!;
  // A replica of nobody hands nothing out.
  if (!source.isPrimary && source.follows < 0) return;
  const from = source.log;
  const emptied = { log: '', isEmptied: true, kept: kept ?? log };
  if (isEmptied)
    step(`${at} is copied whole from ${follows}`, changed(state, at, { log: from, isEmptied: false }));
  else if (!from.startsWith(log))
    step(`${at} drops its data to follow ${follows}`, changed(state, at, emptied));
  else if (log.length < from.length) {
    const received = changed(state, at, { log: from.slice(0, log.length + 1) });
    step(`${at} receives ${showEntry(from, log.length)}`, received);
  }
  if (state.left.wholeCopies > 0 && !isEmptied)
    step(`${at} must be copied whole`, changed(state, at, emptied), { left: spent(state, 'wholeCopies') });
}

/** Servers crash and start again, links are cut and mended. */
const CRASHED = { isUp: false, open: 0, round: '', noting: 0 };
const RESTARTED = { isUp: true, ranOn: false, kept: null };
const AS_REPLICA = { isPrimary: false, follows: -1 };

function fail(state: State, at: number, { startsAsReplica }: Rules, step: Step): void {
  const { isUp, isPrimary, kept, isCut, log } = state.servers[at]!;
  const { crashes, lostDisks, cuts } = state.left;
  if (isUp && crashes > 0)
    step(`${at} crashes`, changed(state, at, CRASHED), { left: spent(state, 'crashes') });
  if (!isUp) {
    const restarted = startsAsReplica ? { ...RESTARTED, ...AS_REPLICA } : RESTARTED;
    const full = { ...restarted, log: kept ?? log, isEmptied: false };
    step(`${at} is started again`, changed(state, at, full));
    if (lostDisks > 0) {
      const empty = { ...restarted, log: '', isEmptied: true };
      const left = spent(state, 'lostDisks');
      step(`${at} is started again with an empty disk`, changed(state, at, empty), { left });
    }
  }
  if (!isPrimary && !isCut && cuts > 0)
    step(`the link of ${at} is cut`, changed(state, at, { isCut: true }), { left: spent(state, 'cuts') });
  if (isCut) step(`the link of ${at} is mended`, changed(state, at, { isCut: false }));
}

const PROMOTED = { isPrimary: true, follows: -1, ranOn: false };
const following = (server: number): Partial<ServerFields> => ({
  isPrimary: false,
  follows: server,
  open: 0,
  noting: 0,
  round: '',
});

/** Postgres names a primary, and keepers carry out what it says or once said. */
function nameAndCarryOut(state: State, at: number, rules: Rules, step: Step): void {
  const { postgres } = state;
  const { isUp, isPrimary, follows, log, isEmptied } = state.servers[at]!;
  const version = versionOf(log);
  const isCandidate = has(postgres.members, at) && at !== postgres.server && isUp && log.length > 0;
  if (isCandidate && state.left.namings > 0) {
    const { oldPrimaryLeavesAtNote: staysMember } = rules;
    const members = staysMember ? postgres.members : postgres.members & ~bit(postgres.server);
    const named = { server: at, version: postgres.version + 1 };
    step(`Postgres names ${at}`, state.servers, {
      postgres: { ...postgres, ...named, members, joining: 0 },
      lists: [...state.lists, { ...named, list: members }],
      namings: [...state.namings, { ...named, epoch: postgres.epoch + 1, isCarriedOut: false }],
      left: spent(state, 'namings'),
    });
  }
  for (const naming of state.namings) {
    if (naming.server === at && !naming.isCarriedOut && isUp && isPrimary && version >= naming.version)
      step(`keepers see that ${at} is the primary`, state.servers, {
        namings: state.namings.map((one) => (one === naming ? { ...one, isCarriedOut: true } : one)),
      });
    const knowsMore = epochOf(log) > naming.epoch || version > naming.version;
    if (!isUp || (rules.keepersAreFenced && knowsMore)) continue;
    if (naming.server === at) {
      if (!isPrimary && !isEmptied) step(`${at} is promoted`, changed(state, at, PROMOTED));
    } else if ((naming.isCarriedOut || !rules.othersFollowLast) && (isPrimary || follows !== naming.server))
      step(`${at} is told to follow ${naming.server}`, changed(state, at, following(naming.server)));
  }
}

/** Sentinels promote a replica and tell the other servers to follow it. */
function promoteBySentinels(state: State, at: number, { promoter }: Rules, step: Step): void {
  const { isUp, isPrimary, follows, log, isEmptied } = state.servers[at]!;
  const isLongest = state.servers.every(
    (other) => !other.isUp || other.isPrimary || other.log.length <= log.length,
  );
  const isListed = has(state.postgres.members, at) && !isEmptied;
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
  const { isUp, isPrimary, log, noting, ranOn, open: isOpen } = state.servers[at]!;
  if (!isUp || !isPrimary || isOpen > 0 || log.length === 0) return;
  if (ordersOf(log).length < postgres.settled.length) return;
  const [epoch, isOfPostgres] = [epochOf(log), rules.promoter === 'postgres'];
  const isNoted = !rules.epochsAreNoted || (epoch === postgres.epoch && postgres.server === at);
  if (ranOn && epoch > 0 && isNoted) {
    step(`${at} opens in epoch ${epoch}`, changed(state, at, { open: epoch, noting: 0 }));
    return;
  }
  const lacksList = state.namings.some(({ server, version }) => server === at && versionOf(log) < version);
  if (noting === 0) {
    if (isOfPostgres && lacksList && rules.oldPrimaryLeavesAtNote) return;
    const begun = Math.max(epoch, rules.epochsAreNoted ? postgres.epoch : 0) + 1;
    const opened = rules.epochsAreNoted ? { noting: begun } : { ranOn: true };
    step(`${at} begins epoch ${begun}`, changed(state, at, { log: log + begunEpoch(begun), ...opened }));
    return;
  }
  const mayBegin =
    (!rules.epochsBeginOnMembersOnly || has(postgres.members, at)) &&
    (!isOfPostgres || postgres.server === at);
  if (postgres.epoch >= noting || !mayBegin) return;
  const leaves = rules.waitsFor === 'the named' && postgres.begunOn !== at ? bit(postgres.begunOn) : 0;
  const [version, members] = [postgres.version + 1, postgres.members & ~leaves];
  step(`Postgres notes epoch ${noting} on ${at}`, changed(state, at, { ranOn: true, noting: 0 }), {
    postgres: { ...postgres, epoch: noting, begunOn: at, server: at, version, members, joining: 0 },
    namings: laterRow(state, noting, version),
    lists: [...state.lists, { version, server: at, list: members }],
  });
}

/** Keepers that read the row later know more, and whatever they knew before, they may still do. */
function laterRow({ namings, postgres }: State, epoch: number, version: number): readonly Naming[] {
  const isLast = (naming: Naming): boolean =>
    naming.server === postgres.server && naming.version === Math.max(...namings.map((one) => one.version));
  return namings.map((naming) => (isLast(naming) ? { ...naming, epoch: epoch + 1, version } : naming));
}

/** Copies leave and join: in Postgres, and by lists that servers are given. */
function changeList(state: State, at: number, rules: Rules, step: Step): void {
  const { postgres, lists, proved, servers } = state;
  const { isUp, isPrimary, log } = servers[at]!;
  for (const { version, server, list } of lists)
    if (server === at && isUp && isPrimary && version > versionOf(log))
      step(`${at} is given list ${version}`, changed(state, at, { log: log + listed(version, list) }));
  if (at === postgres.server) return;
  const { members, joining } = postgres;
  const isMember = has(members, at);
  if (state.left.changes > 0 && isMember && size(members) > 2) {
    const [rest, left] = [members & ~bit(at), spent(state, 'changes')];
    const { version } = nextList(state, rest);
    if (rules.shrinksPostgresFirst) step(`${at} leaves`, servers, { ...nextRow(state, rest, joining), left });
    else if (servers[postgres.server]!.open > 0 && !lists.some((list) => list.version === version))
      step(`answers do without ${at}`, servers, { lists: [...lists, nextList(state, rest)], left });
  }
  if (state.left.changes > 0 && !isMember && joining === 0) {
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

/** The list of the next version, for the named primary. */
const nextList = ({ postgres: { version, server } }: State, list: number) => ({
  ...{ version: version + 1, server, list },
});

/** Changes the row, whose list keepers give to the primary at any later time. */
function nextRow(state: State, members: number, joining: number): Partial<Shared> {
  const { postgres, lists } = state;
  const list = nextList(state, members | joining);
  const { version } = list;
  return {
    postgres: { ...postgres, version, members, joining },
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
 * Visits states until a promise breaks, all were visited, or `most` were.
 * @param idle names of steps that are left out, to find a known trace sooner
 */
export function explore(rules: Rules, bounds: Bounds, most: number, idle?: RegExp): Explored {
  const first = firstState(rules, bounds);
  const keyOf = keysOfStates();
  const seen = new Set([keyOf(first.servers, first.text)]);
  const steps: { readonly from: number; readonly name: string }[] = [{ from: -1, name: '' }];
  let frontier: [id: number, state: State][] = [[0, first]];
  let found: { readonly broken: string; readonly id: number } | undefined;
  while (frontier.length > 0 && found === undefined && seen.size < most) {
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
      if (found !== undefined || seen.size >= most) break;
    }
    frontier = later;
  }
  if (found === undefined) return { states: seen.size, isComplete: seen.size < most };
  const trace: string[] = [];
  for (let { id } = found; id > 0; id = steps[id]!.from) trace.unshift(steps[id]!.name);
  return { states: seen.size, isComplete: false, broken: found.broken, trace };
}
