/**
 * A model of the engine's copies: three servers with logs, Postgres with its row, keepers that act late, settlement that
 * commits late, and an adversary who names, crashes, cuts links and makes servers copy everything. `explore` visits
 * every interleaving, breadth first, so the first trace that it finds is a shortest one.
 *
 * A log has `e<epoch>`, `o<order>@<epoch>.<sequence>` and `c<version>:<servers that must acknowledge, as bits>`. Each
 * entry of a log is on the server's disk, except while the server has `kept` an older log there.
 */

type Log = readonly string[];

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
  readonly round: { readonly length: number; readonly list: number; readonly version: number } | null;
  /** The last orders that settlement was told. */
  readonly told: Log;
  readonly isCut: boolean;
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

interface State {
  readonly servers: readonly Server[];
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
const ordersOf = (log: Log): string[] => log.filter((entry) => entry.startsWith('o'));
const epochOf = (log: Log): number => Number(log.findLast((entry) => entry.startsWith('e'))?.slice(1) ?? 0);
const isPrefix = (one: Log, of: Log): boolean =>
  one.length <= of.length && one.every((entry, at) => entry === of[at]);

function listOf(log: Log): { version: number; list: number } {
  const found = log.findLast((entry) => entry.startsWith('c'));
  const [version = 0, list = 7] = found?.slice(1).split(':').map(Number) ?? [];
  return { version, list };
}

function firstState({ epochsAreNoted }: Rules, left: Bounds): State {
  const log = ['e1', 'c1:7'];
  const server = (at: number): Server => ({
    isUp: true,
    isPrimary: at === 0,
    follows: at === 0 ? -1 : 0,
    log,
    kept: null,
    isEmptied: false,
    noting: 0,
    ranOn: at === 0,
    open: at === 0 ? 1 : 0,
    round: null,
    told: [],
    isCut: false,
  });
  return {
    servers: SERVERS.map(server),
    postgres: {
      epoch: epochsAreNoted ? 1 : 0,
      begunOn: 0,
      server: 0,
      version: 1,
      members: 7,
      joining: 0,
      settled: [],
    },
    namings: [{ server: 0, epoch: 1, version: 1, isCarriedOut: true }],
    lists: [],
    proved: { server: 0, epoch: 1, version: 1 },
    answered: [],
    placed: [],
    promoted: 0,
    left,
  };
}

/** Returns the promise that a state breaks, or undefined. */
function broken(state: State, { epochsAreNoted, waitsFor }: Rules): string | undefined {
  const { servers, postgres, answered } = state;
  const ids = state.placed.map((order) => order.split('@')[1]);
  if (new Set(ids).size < ids.length) return 'an id was given twice';
  const newest = Math.max(...servers.map(({ open }) => open));
  const named = servers[postgres.server]!;
  const isNoted = epochOf(named.log) >= postgres.epoch && postgres.begunOn === postgres.server;
  const trading = epochsAreNoted
    ? isNoted
      ? [named]
      : []
    : servers.filter(({ open, isUp, isPrimary }) => open > 0 && open === newest && isUp && isPrimary);
  for (const { log } of trading) {
    const orders = ordersOf(log);
    if (answered.some((order) => !orders.includes(order))) return 'an answered order is gone';
    if (!isPrefix(postgres.settled, orders)) return 'the ledger has what the engine lacks';
  }
  const isSomewhere = SERVERS.some(
    (at) => has(postgres.members, at) && answered.every((order) => servers[at]!.log.includes(order)),
  );
  if (waitsFor === 'the named' && !isSomewhere) return 'no member has every answered order';
  return undefined;
}

/** Takes a step that is possible in a state. */
type Step = (name: string, change: Partial<State>) => void;

const withServer = (state: State, at: number, change: Partial<Server>): readonly Server[] =>
  state.servers.map((server, index) => (index === at ? { ...server, ...change } : server));

const spent = (state: State, what: keyof Bounds): Bounds => ({ ...state.left, [what]: state.left[what] - 1 });

const isUsed = (server: Server): boolean =>
  server.isUp &&
  server.isPrimary &&
  server.open > 0 &&
  server.open === epochOf(server.log) &&
  server.noting === 0;

/** Orders are placed, rounds begin and end, settlement reads and commits. */
function trade(state: State, at: number, rules: Rules, step: Step): void {
  const { postgres } = state;
  const server = state.servers[at]!;
  const { log, round, told } = server;
  const serverOf = (change: Partial<Server>): readonly Server[] => withServer(state, at, change);
  if (isUsed(server) && state.left.orders > 0) {
    const order = `o${state.left.orders}@${epochOf(log)}.${ordersOf(log).length + 1}`;
    step(`${order} is placed on ${at}`, {
      servers: serverOf({ log: [...log, order] }),
      placed: [...state.placed, order],
      left: spent(state, 'orders'),
      ...(rules.waitsFor === 'nobody' && { answered: [...state.answered, order] }),
    });
  }
  if (isUsed(server) && rules.waitsFor !== 'nobody' && round?.length !== log.length)
    step(`a round begins on ${at}`, { servers: serverOf({ round: { length: log.length, ...listOf(log) } }) });
  if (round !== null && isUsed(server) && isAcknowledged(state, at, rules)) {
    const covered = ordersOf(log.slice(0, round.length));
    step(`the round on ${at} is whole`, {
      servers: serverOf({ round: null, ...(rules.settlementWaits && { told: covered }) }),
      answered: [...new Set([...state.answered, ...covered])].sort(),
      proved: { server: at, epoch: epochOf(log), version: round.version },
    });
  }
  if (!rules.settlementWaits && isUsed(server) && told.length < ordersOf(log).length)
    step(`settlement reads ${at}`, { servers: serverOf({ told: ordersOf(log) }) });
  // The batch may be committed when its server is gone.
  const next = told[postgres.settled.length];
  if (next !== undefined && isPrefix(postgres.settled, told))
    step(`settlement commits ${next}`, { postgres: { ...postgres, settled: [...postgres.settled, next] } });
}

function isAcknowledged({ servers }: State, at: number, rules: Rules): boolean {
  const { log, round } = servers[at]!;
  const needed = log.slice(0, round!.length);
  const others = SERVERS.filter((other) => other !== at);
  const acknowledges = (other: number): boolean => {
    const { isUp, isPrimary, follows, isCut, kept, log: its } = servers[other]!;
    const isOnDisk = kept === null || !rules.copiesAreOnDisk;
    return isUp && !isPrimary && follows === at && !isCut && isOnDisk && isPrefix(needed, its);
  };
  if (rules.waitsFor === 'the named')
    return others.every((other) => !has(round!.list, other) || acknowledges(other));
  return others.filter(acknowledges).length >= (rules.waitsFor === 'both' ? 2 : 1);
}

/** Replication goes entry by entry. A log that does not fit is dropped, and copied whole. */
function replicate(state: State, at: number, step: Step): void {
  const server = state.servers[at]!;
  const { isUp, isPrimary, follows, isCut, log, kept, isEmptied } = server;
  const serverOf = (change: Partial<Server>) => ({ servers: withServer(state, at, change) });
  if (isUp && kept !== null && !isEmptied) step(`${at} has written its file`, serverOf({ kept: null }));
  if (!isUp || isPrimary || follows < 0 || isCut || !state.servers[follows]!.isUp) return;
  const source = state.servers[follows]!;
  // A replica of nobody hands nothing out.
  if (!source.isPrimary && source.follows < 0) return;
  const from = source.log;
  const emptied = { log: [], isEmptied: true, kept: kept ?? log };
  if (isEmptied) step(`${at} is copied whole from ${follows}`, serverOf({ log: from, isEmptied: false }));
  else if (!isPrefix(log, from)) step(`${at} drops its data to follow ${follows}`, serverOf(emptied));
  else if (log.length < from.length)
    step(`${at} receives ${from[log.length]}`, serverOf({ log: from.slice(0, log.length + 1) }));
  if (state.left.wholeCopies > 0 && !isEmptied)
    step(`${at} must be copied whole`, { ...serverOf(emptied), left: spent(state, 'wholeCopies') });
}

/** Servers crash and start again, links are cut and mended. */
function fail(state: State, at: number, { startsAsReplica }: Rules, step: Step): void {
  const { isUp, isPrimary, kept, isCut, log } = state.servers[at]!;
  const serverOf = (change: Partial<Server>) => ({ servers: withServer(state, at, change) });
  const crashed = { isUp: false, open: 0, round: null, noting: 0 };
  if (isUp && state.left.crashes > 0)
    step(`${at} crashes`, { ...serverOf(crashed), left: spent(state, 'crashes') });
  const role = startsAsReplica ? { isPrimary: false, follows: -1 } : {};
  const restarted = { ...role, isUp: true, ranOn: false, kept: null };
  const full = { log: kept ?? log, isEmptied: false };
  if (!isUp) step(`${at} is started again`, serverOf({ ...restarted, ...full }));
  if (!isUp && state.left.lostDisks > 0)
    step(`${at} is started again with an empty disk`, {
      ...serverOf({ ...restarted, log: [], isEmptied: true }),
      left: spent(state, 'lostDisks'),
    });
  if (!isPrimary && !isCut && state.left.cuts > 0)
    step(`the link of ${at} is cut`, { ...serverOf({ isCut: true }), left: spent(state, 'cuts') });
  if (isCut) step(`the link of ${at} is mended`, serverOf({ isCut: false }));
}

const PROMOTED = { isPrimary: true, follows: -1, ranOn: false };
const following = (server: number): Partial<Server> => ({
  isPrimary: false,
  follows: server,
  open: 0,
  noting: 0,
  round: null,
});

/** Postgres names a primary, and keepers carry out what it says or once said. */
function nameAndCarryOut(state: State, at: number, rules: Rules, step: Step): void {
  const { postgres } = state;
  const { isUp, isPrimary, follows, log, isEmptied } = state.servers[at]!;
  const { version } = listOf(log);
  const serverOf = (change: Partial<Server>) => ({ servers: withServer(state, at, change) });
  const isCandidate = has(postgres.members, at) && at !== postgres.server && isUp && log.length > 0;
  if (isCandidate && state.left.namings > 0) {
    const { oldPrimaryLeavesAtNote: staysMember } = rules;
    const members = staysMember ? postgres.members : postgres.members & ~bit(postgres.server);
    const named = { server: at, version: postgres.version + 1 };
    step(`Postgres names ${at}`, {
      postgres: { ...postgres, ...named, members, joining: 0 },
      lists: [...state.lists, { ...named, list: members }],
      namings: [...state.namings, { ...named, epoch: postgres.epoch + 1, isCarriedOut: false }],
      left: spent(state, 'namings'),
    });
  }
  for (const [index, naming] of state.namings.entries()) {
    if (naming.server === at && !naming.isCarriedOut && isUp && isPrimary && version >= naming.version)
      step(`keepers see that ${at} is the primary`, {
        namings: state.namings.map((one, place) => (place === index ? { ...one, isCarriedOut: true } : one)),
      });
    const knowsMore = epochOf(log) > naming.epoch || version > naming.version;
    if (!isUp || (rules.keepersAreFenced && knowsMore)) continue;
    if (naming.server === at) {
      if (!isPrimary && !isEmptied) step(`${at} is promoted`, serverOf(PROMOTED));
    } else if ((naming.isCarriedOut || !rules.othersFollowLast) && (isPrimary || follows !== naming.server))
      step(`${at} is told to follow ${naming.server}`, serverOf(following(naming.server)));
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
    step(`Sentinels promote ${at}`, {
      servers: withServer(state, at, PROMOTED),
      promoted: at,
      left: spent(state, 'namings'),
    });
  if (isUp && at !== state.promoted && (isPrimary || follows !== state.promoted))
    step(`${at} is told to follow ${state.promoted}`, {
      servers: withServer(state, at, following(state.promoted)),
    });
}

/** A process opens a primary: in its epoch, or in a new one that Postgres notes first. */
function open(state: State, at: number, rules: Rules, step: Step): void {
  const { postgres } = state;
  const { isUp, isPrimary, log, noting, ranOn, open: isOpen } = state.servers[at]!;
  const serverOf = (change: Partial<Server>) => ({ servers: withServer(state, at, change) });
  if (!isUp || !isPrimary || isOpen > 0 || log.length === 0) return;
  if (ordersOf(log).length < postgres.settled.length) return;
  const [epoch, isOfPostgres] = [epochOf(log), rules.promoter === 'postgres'];
  const isNoted = !rules.epochsAreNoted || (epoch === postgres.epoch && postgres.server === at);
  if (ranOn && epoch > 0 && isNoted) {
    step(`${at} opens in epoch ${epoch}`, serverOf({ open: epoch, noting: 0 }));
    return;
  }
  const namings = state.namings.filter(({ server }) => server === at);
  const lacksList = listOf(log).version < Math.max(0, ...namings.map(({ version }) => version));
  if (noting === 0) {
    if (isOfPostgres && lacksList && rules.oldPrimaryLeavesAtNote) return;
    const begun = Math.max(epoch, rules.epochsAreNoted ? postgres.epoch : 0) + 1;
    const opened = rules.epochsAreNoted ? { noting: begun } : { ranOn: true };
    step(`${at} begins epoch ${begun}`, serverOf({ log: [...log, `e${begun}`], ...opened }));
    return;
  }
  const mayBegin =
    (!rules.epochsBeginOnMembersOnly || has(postgres.members, at)) &&
    (!isOfPostgres || postgres.server === at);
  if (postgres.epoch >= noting || !mayBegin) return;
  const leaves = rules.waitsFor === 'the named' && postgres.begunOn !== at ? bit(postgres.begunOn) : 0;
  const [version, members] = [postgres.version + 1, postgres.members & ~leaves];
  step(`Postgres notes epoch ${noting} on ${at}`, {
    ...serverOf({ ranOn: true, noting: 0 }),
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
  const { postgres, lists, proved } = state;
  const { isUp, isPrimary, log } = state.servers[at]!;
  for (const { version, server, list } of lists)
    if (server === at && isUp && isPrimary && version > listOf(log).version)
      step(`${at} is given list ${version}`, {
        servers: withServer(state, at, { log: [...log, `c${version}:${list}`] }),
      });
  if (at === postgres.server) return;
  const version = postgres.version + 1;
  const listed = (list: number) => ({ lists: [...lists, { version, server: postgres.server, list }] });
  const row = (members: number, joining: number) => ({
    postgres: { ...postgres, version, members, joining },
    namings: laterRow(state, postgres.epoch, version),
    ...listed(members | joining),
  });
  const isMember = has(postgres.members, at);
  if (state.left.changes > 0 && isMember && size(postgres.members) > 2) {
    const [rest, left] = [postgres.members & ~bit(at), spent(state, 'changes')];
    const isAsked = lists.some((list) => list.version === version);
    if (rules.shrinksPostgresFirst) step(`${at} leaves`, { ...row(rest, postgres.joining), left });
    else if (state.servers[postgres.server]!.open > 0 && !isAsked)
      step(`answers do without ${at}`, { ...listed(rest), left });
  }
  if (state.left.changes > 0 && !isMember && postgres.joining === 0) {
    const left = spent(state, 'changes');
    if (rules.joinsAfterRound) step(`${at} is joining`, { ...row(postgres.members, bit(at)), left });
    else step(`${at} joins`, { ...row(postgres.members | bit(at), 0), left });
  }
  const isProved =
    proved.server === postgres.server &&
    proved.epoch === postgres.epoch &&
    proved.version >= postgres.version;
  if (has(postgres.joining, at) && isProved) step(`${at} joins`, row(postgres.members | postgres.joining, 0));
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

/** Returns a function that gives equal states the same text. Parts that a step leaves as they were are written once. */
function keysOfStates(): (state: State) => string {
  const numbers = new Map<string, number>();
  const known = new WeakMap<object, number>();
  const numberOf = (part: object): number => {
    let number = known.get(part);
    if (number === undefined) {
      const text = JSON.stringify(part);
      number = numbers.get(text) ?? numbers.size;
      numbers.set(text, number);
      known.set(part, number);
    }
    return number;
  };
  return ({ servers, promoted, ...others }) =>
    `${[...servers, ...Object.values(others)].map(numberOf).join()};${promoted}`;
}

/**
 * Visits states until a promise breaks, all were visited, or `most` were.
 * @param idle names of steps that are left out, to find a known trace sooner
 */
export function explore(rules: Rules, bounds: Bounds, most: number, idle = /^$/): Explored {
  const first = firstState(rules, bounds);
  const keyOf = keysOfStates();
  const seen = new Set([keyOf(first)]);
  const steps: { readonly from: number; readonly name: string }[] = [{ from: -1, name: '' }];
  let frontier: [id: number, state: State][] = [[0, first]];
  let found: { readonly broken: string; readonly id: number } | undefined;
  while (frontier.length > 0 && found === undefined && seen.size < most) {
    const later: typeof frontier = [];
    for (const [from, state] of frontier) {
      stepsOf(state, rules, (name, change) => {
        if (idle.test(name)) return;
        const next = { ...state, ...change };
        const key = keyOf(next);
        if (found !== undefined || seen.has(key)) return;
        seen.add(key);
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
